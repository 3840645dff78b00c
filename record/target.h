/* SPDX-License-Identifier: GPL-2.0-only */
/* What is traced: a process, every process of an ELF file, or a program started for it. */
#ifndef CW_TARGET_H
#define CW_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "options.h"

struct cw_child;

struct cw_target {
	pid_t pid;  /* as the recorder sees it; 0 for every process of the file */
	int pidfd;  /* readable once the process is gone; -1 when there is none */
	int elf_fd; /* the target's own ELF file */
	char *elf_path;
	uint32_t dev; /* identity of that file: kernel's dev_t */
	uint64_t ino;
	struct cw_child *child; /* of --exec, else NULL */
};

/* Open what o names; err gets one sentence. The child of --exec is started but waits. */
int cw_target_open(struct cw_target *t, const struct cw_options *o, char *err);

/* Processes, as the recorder sees them, that map the file now: calls add(arg, pid) for each. */
void cw_target_scan(const struct cw_target *t, void (*add)(void *arg, uint32_t pid), void *arg);

/*
 * Open an ELF file by name in the target's eyes: a path, or the base name of something it has
 * mapped. Sets *path to a malloc'ed name to show. Returns a descriptor or a negative errno.
 */
int cw_target_open_module(const struct cw_target *t, const char *module, char **path, char *err);

void cw_target_close(struct cw_target *t);

#endif
