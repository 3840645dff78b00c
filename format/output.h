/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing all of a buffer to a descriptor, whatever it is. For the writer only. */
#ifndef CW_OUTPUT_H
#define CW_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* 0 or a negative errno. The calling thread must have SIGPIPE blocked or ignored. */
int cw_write_all(int fd, const uint8_t *p, size_t n);

/* The same for any thread: a closed pipe is -EPIPE, never a signal. */
int cw_write_quietly(int fd, const uint8_t *p, size_t n);

#endif
