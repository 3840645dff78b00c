/* SPDX-License-Identifier: GPL-2.0-only */
/* The plan's functions as places in ELF files. */
#ifndef CW_POINTS_H
#define CW_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"
#include "modules.h"
#include "placement.h"
#include "plan.h"
#include "target.h"

#define CW_MAX_POINT_FILES 64

struct cw_elf_file {
	int fd;
	char *path;
	uint32_t dev;
	uint64_t ino;
	uint32_t pid;           /* of a process that path is meant in; 0 none */
	bool leased;            /* nobody can write into it without being noticed */
	const char *no_returns; /* why its returns must not be probed, or NULL */
};

struct cw_point {
	char *name; /* as asked for */
	const struct cw_elf_file *file;
	struct cw_func fn;
	struct cw_placement at;
	uint32_t module_id; /* set by cw_points_write */
	bool ret;           /* wants a return probe */
	bool last;          /* its calls are what --max-events counts */
	bool called;        /* set while recording */
};

/* The index of a point is its probe id. A function has one in each program of the target. */
struct cw_points {
	struct cw_point *at;
	size_t n, room;
	struct cw_elf_file *files[CW_MAX_POINT_FILES];
	size_t nfiles;
};

/*
 * Resolve and place every function of the plan, whose patterns become the functions they match, and
 * module names those of the files found. What a pattern matched goes to say, a line each, warnings
 * go to warn; err gets one sentence.
 */
int cw_points_find(struct cw_points *p, struct cw_plan *plan, const struct cw_target *t,
		   bool force_return, void (*say)(const char *text), void (*warn)(const char *text),
		   char *err);
/* Write a probe record for each; repeated says it was done before. */
int cw_points_write(struct cw_points *p, struct cw_writer *w, struct cw_modules *m, bool repeated);
void cw_points_free(struct cw_points *p);

#endif
