/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups, version 2. Knows nothing of targets or BPF. */
#ifndef CW_CGROUP_H
#define CW_CGROUP_H

#include <stdint.h>

/*
 * Open a cgroup's directory, given as a path or as /proc/PID/cgroup shows it. err (CW_ERR bytes)
 * gets one sentence. Returns a descriptor or a negative errno.
 */
int cw_cgroup_open(const char *path, char *err);

/* Call add for each process in it and below it, as this process sees them. */
void cw_cgroup_members(int fd, void (*add)(void *arg, uint32_t pid), void *arg);

#endif
