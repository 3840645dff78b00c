/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs that know their own stacks share: every function notes its name and its return
 * address when it is entered, and what is noted is written as truth, beside what libgcc's unwinder
 * finds. For C, C++ and, by its C names, other languages. Knows nothing of tracing.
 *
 * Addresses are written as name of the mapped file + 0xoffset in it.
 */
#ifndef KNOWN_H
#define KNOWN_H

#include <stdint.h>

/* A function whose calls are all real ones, and which keeps its name. */
#if defined(__GNUC__) && !defined(__clang__)
#define KNOWN __attribute__((noipa))
#else
#define KNOWN __attribute__((noinline))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* function: as a demangler writes it, constant text. ret: NULL, to find it by unwinding. */
void known_enter(const char *function, void *ret);
void known_leave(void);

/*
 * The calling thread's stack as it is right now, innermost first. The function that asks stands
 * first and has no address yet. kind: "entry" or "block"; in between the two times (ns of
 * CLOCK_MONOTONIC) the one call or sleep happened.
 */
void known_write(const char *path, const char *kind, uint64_t begin, uint64_t end);

/* Options and start, and truth and end, of a program without more options than --recursion. */
void known_begin(int argc, char **argv, uint64_t *recursion);
int known_end(void);
uint64_t known_now(void);

#ifdef __cplusplus
}
#endif

/* For C. LEAVE keeps the call before it from being the last thing that the function does. */
#define ENTER() known_enter(__func__, __builtin_return_address(0))
#define LEAVE() known_leave()

#endif
