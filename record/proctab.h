/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of the traced processes: their executable mappings, sorted, and the records that
 * describe them, kept to be written again. Knows nothing of /proc or perf.
 */
#ifndef CW_PROCTAB_H
#define CW_PROCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"

struct cw_map_entry {
	uint64_t start, end, pgoff;
	uint64_t ts; /* mapped like this from then on */
	uint32_t module_id;
	uint32_t prot;
	uint32_t flags; /* CW_MAP_* */
	uint32_t cpu;
	uint32_t generation; /* of the snapshot that last saw it */
};

struct cw_proc {
	struct cw_proc *next, *next_rec; /* in the table's chains */
	uint32_t pid;                    /* kernel-global */
	uint32_t rec_pid;                /* in the recorder's namespace */
	uint64_t start_boottime;
	uint32_t generation;
	uint64_t look_at;  /* when its mappings are looked at again; 0: not planned yet */
	uint64_t look_gap; /* since the look before that */
	bool stale;        /* a stack showed an address that is in no mapping */
	uint64_t born;     /* its life began then; 0: not known */
	uint64_t executed; /* its program began then; 0: not known */
	bool whole;        /* all that it maps is reported, from born or executed on */
	uint32_t ns_pid, uid;
	uint64_t mnt_ns;
	uint32_t jit[4]; /* modules of code made at run time that stacks show */
	uint32_t njit;
	uint64_t perf_map; /* version of the perf map that is in the capture; 0 none */
	int perf_fd;       /* its descriptor plus 1, owned; 0 none */
	struct cw_map_entry *maps;
	size_t nmaps, maps_capacity;
	struct cw_rec **recs; /* process, process_args, thread */
	size_t nrecs, recs_capacity;
};

struct cw_proctab;

struct cw_proctab *cw_proctab_new(void);
void cw_proctab_free(struct cw_proctab *t);

/* By kernel-global pid; create says what to do when it is not known. NULL: not known, no memory. */
struct cw_proc *cw_proctab_get(struct cw_proctab *t, uint32_t pid, bool create);
/* By the pid in the recorder's namespace. */
struct cw_proc *cw_proctab_by_rec_pid(struct cw_proctab *t, uint32_t rec_pid);
void cw_proctab_set_rec_pid(struct cw_proctab *t, struct cw_proc *p, uint32_t rec_pid);
void cw_proctab_drop(struct cw_proctab *t, uint32_t pid);

/* Call fn for each process until it fails; returns what it returned. fn must not add or drop any.
 */
int cw_proctab_each(struct cw_proctab *t, int (*fn)(void *arg, struct cw_proc *p), void *arg);

/*
 * Add a mapping; what it covers of others is gone, but not when that was mapped later: then it is
 * not kept. Returns 1 when it is news (also when it was mapped earlier than known), 0 when the same
 * mapping was known, or -ENOMEM.
 */
int cw_proc_add_map(struct cw_proc *p, const struct cw_map_entry *e);

/* Forget what was mapped before ts, but what the kernel gives all processes. */
void cw_proc_clear(struct cw_proc *p, uint64_t ts);

/* The mapping that holds addr, or NULL. O(log n). */
const struct cw_map_entry *cw_proc_find_map(const struct cw_proc *p, uint64_t addr);
/* The first mapping that ends above addr, or NULL. */
const struct cw_map_entry *cw_proc_next_map(const struct cw_proc *p, uint64_t addr);

/* Forget mappings that the present generation did not see. */
void cw_proc_drop_old_maps(struct cw_proc *p);

/* Keep a copy of rec in place of the one with the same type and id. Returns as cw_proc_add_map. */
int cw_proc_keep_rec(struct cw_proc *p, const struct cw_rec *rec);

#endif
