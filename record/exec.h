/* SPDX-License-Identifier: GPL-2.0-only */
/* Starting the target of --exec, and ending it. */
#ifndef CW_EXEC_H
#define CW_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

struct cw_child;

/* Path of prog as execvp would find it, malloc'ed; NULL when there is none. */
char *cw_exec_find(const char *prog);

/*
 * Fork a child that waits for cw_child_go and then executes path, as the user who called sudo, in a
 * process group of its own. to_stderr: its standard output goes to standard error.
 */
int cw_child_start(struct cw_child **out, const char *path, char **argv, bool to_stderr, char *err);
pid_t cw_child_pid(const struct cw_child *c);
/* Let it execute; fails with the errno of execve. */
int cw_child_go(struct cw_child *c, char *err);
/* End it and its group: SIGTERM, after two seconds SIGKILL. Accepts NULL. */
void cw_child_stop(struct cw_child *c);
void cw_child_free(struct cw_child *c);

#endif
