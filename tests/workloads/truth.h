/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the test programs share: their options, their start and stop, and the truth they write
 * down about themselves so that a trace can be held against it. Knows nothing of tracing.
 *
 * Times are CLOCK_MONOTONIC ns. Events are kept in memory and written as JSON lines at the end.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that a tracer is pointed at: one copy, real calls, arguments where the ABI wants them.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define TRACED __attribute__((noipa, used))
#else
#define TRACED __attribute__((noinline, used))
#endif

/* An option of one program: --NAME VALUE, or a bare --NAME that sets *value to 1 when flag is true.
 */
struct workload_option {
	const char *name;
	uint64_t *value;
	bool flag;
	const char *help;
};

struct workload {
	const char *name;
	const char *about;                     /* one sentence for --help */
	const char *trace;                     /* what to give callweave-record behind -p PID */
	uint64_t count;                        /* default of --count; 0: until SIGINT or SIGTERM */
	const struct workload_option *options; /* ends with a NULL name; may be NULL */
};

extern uint64_t workload_count; /* --count */
extern uint64_t workload_seed;  /* --seed */
extern atomic_bool
	workload_stop; /* set by SIGINT and SIGTERM: start nothing more, finish, return */

/* Parse the options, print the PID and a command to try, and wait as --wait or --start-file say. */
void workload_begin(const struct workload *w, int argc, char **argv);

/* Write the truth; the value is for main to return. */
int workload_end(void);

/* True while iteration i (from 0) is to be done. */
bool workload_goes_on(uint64_t i);

/* A reproducible pseudo-random number; state starts at any value but 0. */
uint64_t workload_random(uint64_t *state);

void workload_sleep_us(uint64_t us);

/* Burn CPU for about us microseconds of the thread's own CPU time. */
void workload_spin_us(uint64_t us);

uint64_t truth_now(void); /* CLOCK_MONOTONIC */
uint64_t truth_cpu(void); /* CLOCK_THREAD_CPUTIME_ID */
uint32_t truth_tid(void);

/*
 * One handoff. The work of a hop ends at the next handoff, or, for the last target, at its return.
 * A submission that never ran has start_ns 0.
 */
struct truth_hop {
	uint64_t request; /* number of the request, from 1 */
	uint64_t tag;     /* unique to a submission; 0 when the program has none */
	uint64_t key;
	uint64_t submit_ns; /* inside the source */
	uint64_t start_ns;  /* inside the target */
	uint64_t end_ns;
	uint64_t cpu_ns; /* CPU time of the target's thread from start_ns to end_ns */
	uint32_t hop;
	uint32_t source_tid;
	uint32_t target_tid;
	uint32_t cancelled;
	uint32_t doubled; /* the key was submitted again while it was open, or is that second one */
	const char *source;
	const char *target;
};

/* Remember a copy of h. Safe in any thread; does nothing without --truth. */
void truth_add_hop(const struct truth_hop *h);

/* Remember one JSON object, given without its braces. For rare events. */
void truth_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
