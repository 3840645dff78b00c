/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Statistics over recorded calls: which argument of which function has a value that another thread
 * passes to another function next. Only suggest*.c includes this.
 *
 * A node is one argument of one function. A crossing is a moment in which a value changes hands:
 * one thread passed it, then another does. Each crossing supports pairs of nodes: those in which
 * the first thread passed it before, with those in which the other thread does from then on.
 */
#ifndef CW_SUGGEST_PAIRS_H
#define CW_SUGGEST_PAIRS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "records.h"

#define CW_SG_CALLS   250000u /* calls looked at: the first ones */
#define CW_SG_SAMPLES 64u     /* delays and calls kept of a pair */
#define CW_SG_BITS    4096u   /* of the estimate of distinct keys */
#define CW_SG_PAIRS   50000u  /* pairs counted; later ones are left out */
#define CW_SG_SMALL   65536u  /* below, a value is a small number */

struct cw_sg_call {
	int64_t ts, end_ts; /* end_ts: of the return; 0 unknown */
	uint32_t probe;     /* index in probes */
	uint32_t utid, upid;
	uint32_t parent; /* index of the call around it + 1; 0 none */
	uint64_t args[CW_NARGS];
};

/* What is known of a function by its name. */
enum cw_sg_kind {
	CW_SG_PLAIN,
	CW_SG_SYNC, /* its first argument is a lock or the like, which is shared, not handed over */
	CW_SG_FREE, /* its first argument is no longer what it was */
};

struct cw_sg_probe {
	int64_t probe_id;
	char *function;
	char *module; /* it is in, when that is not the program itself; NULL */
	enum cw_sg_kind kind;
	bool ends; /* its name says that it frees something */
	uint64_t calls;
	uint64_t threads; /* that called it */
	unsigned nargs;   /* arguments that it may have */
	double cost_ns;   /* average time on a CPU, or else duration; negative unknown */
};

/* A waking of a traced thread by another one. */
struct cw_sg_waking {
	int64_t ts;
	uint32_t utid, waker;
};

struct cw_sg_data {
	struct cw_sg_probe *probes;
	size_t nprobes;
	struct cw_sg_call *calls; /* in the order of entries */
	int64_t *ids;             /* their numbers in the database */
	size_t ncalls;
	struct cw_sg_waking *wakings; /* in the order of time */
	size_t nwakings;
	uint32_t *fresh; /* processes whose threads all began within the capture */
	size_t nfresh;
	bool cut; /* the capture has more calls */
};

/* Nodes source and target; counts are of crossings. */
struct cw_sg_pair {
	uint32_t source, target;
	uint64_t n;
	uint64_t first;     /* target was where the other thread passed it first */
	uint64_t symmetric; /* the first thread had been the one to pass it to target, too */
	uint64_t woken;     /* the first thread woke the other one, between source and target */
	uint64_t too_late;  /* ... before source was entered */
	uint64_t small;     /* the value was a small number */
	uint64_t keys;      /* distinct values; an estimate above some hundred */
	int kept;           /* does the giver go on with it? 0: not looked at yet, 1: no, 2: yes */
	int64_t min_ns, max_ns;
	double sum_ns;
	int64_t delays[CW_SG_SAMPLES];                           /* of the first ones */
	uint32_t sources[CW_SG_SAMPLES], targets[CW_SG_SAMPLES]; /* their calls */
	uint32_t *crossings; /* numbers of the crossings, ascending */
	size_t ncrossings, room;
	uint64_t bits[CW_SG_BITS / 64];
};

struct cw_sg_stats {
	struct cw_sg_pair **pairs;
	size_t npairs;
	/* By node: calls in which it is not 0. */
	uint64_t *uses;
	/* By node: values first passed to it, before they first changed hands; of those the ones
	 * that came up late, when what was under way as the capture began is over. */
	uint64_t *born, *born_late;
	uint32_t ncrossings;
};

/* Read calls and wakings. Returns 0 or a negative errno, having said why. */
int cw_sg_load(struct cw_sg_data *d, sqlite3 *db);
void cw_sg_data_free(struct cw_sg_data *d);

/* Count. */
void cw_sg_count(struct cw_sg_stats *s, const struct cw_sg_data *d);
void cw_sg_stats_free(struct cw_sg_stats *s);

static inline uint32_t cw_sg_probe_of(uint32_t node)
{
	return node / CW_NARGS;
}

/* 1-8 */
static inline uint32_t cw_sg_arg_of(uint32_t node)
{
	return node % CW_NARGS + 1;
}

/* Is one of the calls at these indexes the other one, or inside it? */
bool cw_sg_nested(const struct cw_sg_data *d, uint32_t i, uint32_t k);

/* Is the call at index i, or one around it, a call of probe? */
bool cw_sg_within(const struct cw_sg_data *d, uint32_t i, uint32_t probe);

#endif
