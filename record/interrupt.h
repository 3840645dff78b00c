/* SPDX-License-Identifier: GPL-2.0-only */
/* What Ctrl-C does: the first one stops the recording, a second one ends the program at once. */
#ifndef CW_INTERRUPT_H
#define CW_INTERRUPT_H

#include <sys/types.h>

/*
 * Take SIGINT and SIGTERM, and SIGHUP unless it is ignored (nohup). Returns a descriptor that is
 * readable from the first of them on, or a negative errno. A second one kills the program, in
 * whatever it is stuck.
 */
int cw_interrupt_init(void);
/* Take SIGUSR1, too. Returns an eventfd that counts them, or a negative errno. */
int cw_interrupt_user(void);
/* A process group that is killed with the program; 0: none. */
void cw_interrupt_child(pid_t group);
/* The recording is over: the next signal is a second one. */
void cw_interrupt_next_kills(void);

#endif
