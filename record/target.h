/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is traced: processes, every process of an ELF file or of a cgroup, or a program started for
 * it.
 */
#ifndef CW_TARGET_H
#define CW_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "options.h"

struct cw_child;

/* An open ELF file. */
struct cw_target_file {
	int fd;
	char *path;   /* to show */
	uint32_t dev; /* kernel's dev_t: major << 20 | minor */
	uint64_t ino;
	uint32_t pid; /* of a process in which path is meant, as the recorder sees it; 0 none */
};

struct cw_target_files {
	struct cw_target_file *at;
	size_t n;
};

struct cw_target {
	/* Those of -p, or the child of --exec, or what lives in the cgroup at the start. */
	struct cw_target_proc {
		pid_t pid; /* as the recorder sees it */
		int fd;    /* readable once the process is gone; -1 in a cgroup */
	} * procs;
	size_t nprocs;
	struct cw_target_files own; /* BINARY, else what the processes run, once each */
	bool given;                 /* own is BINARY */
	bool by_file;               /* every process that runs it is traced */
	bool follow;                /* -f */
	int cgroup_fd;              /* -1 without --cgroup */
	struct cw_child *child;     /* of --exec, else NULL */
};

/* Open what o names; err gets one sentence. The child of --exec is started but waits. */
int cw_target_open(struct cw_target *t, const struct cw_options *o, char *err);

/* Processes, as the recorder sees them, that map the given file now: calls add(arg, pid) for each.
 */
void cw_target_scan(const struct cw_target *t, void (*add)(void *arg, uint32_t pid), void *arg);

/*
 * The files that a module's name means in the target's eyes: a path, or the base name of something
 * it has mapped or will load. More than one when the target's processes live in different mount
 * namespaces; when one process has several of that base name, err lists them. The caller's, to end
 * with cw_target_files_free.
 */
int cw_target_modules(const struct cw_target *t, const char *module, struct cw_target_files *out,
		      char *err);
void cw_target_files_free(struct cw_target_files *f);

/* Processes join while it is recorded, at an exec or when they call a probed function. */
bool cw_target_adopts(const struct cw_target *t);

void cw_target_close(struct cw_target *t);

#endif
