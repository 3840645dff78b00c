/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared libraries of a program that does not run yet. Knows nothing of processes. */
#ifndef CW_NEEDED_H
#define CW_NEEDED_H

/*
 * Find a library by base name as the dynamic loader would for the program (an open ELF file and its
 * path), else in the system's library folders: programs open some while they run. Returns a
 * descriptor and sets *found to its malloc'ed path, or -ENOENT.
 */
int cw_needed_open(int fd, const char *path, const char *name, char **found);

#endif
