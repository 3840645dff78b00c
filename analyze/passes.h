/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ordered table of passes over time-ordered records, and what they share. A pass sees each
 * record of the types it asks for once, in the total order; rows it writes are final, or belong to
 * something that still lives and are written again (flush). The same passes serve import and
 * follow.
 */
#ifndef CW_PASSES_H
#define CW_PASSES_H

#include <stdbool.h>
#include <stdint.h>
#include "plan.h"
#include "records.h"
#include "rows.h"

struct cw_task;
struct cw_proc;
struct cw_call;
struct cw_identity;
struct cw_images;
struct cw_stacks;
struct cw_files;
struct cw_losses;
struct cw_probes;
struct cw_states;
struct cw_calls;
struct cw_stitch;
struct cw_source_places;

/* Counted on the way; finish writes them to capture_info. */
struct cw_totals {
	uint64_t events, by_type[64];
	uint64_t late, unknown, bad;
	uint64_t unmatched_returns;
	uint64_t mappings; /* kept now */
};

/* What happens to the queue and the workers of a hop; view queue_event has the same of a capture.
 */
enum cw_queue_what {
	CW_QUEUE_SUBMIT, /* flag: another submission of its key is open */
	CW_QUEUE_START,  /* a target took it after ns; flag: nobody did before (match all) */
	CW_QUEUE_DONE,   /* its work ended after ns; flag: ns is known */
	CW_QUEUE_FREE,   /* the thread left the target; flag: without handing off the next hop */
	CW_QUEUE_DROP,   /* nobody will take it; flag: superseded, else expired */
	CW_QUEUE_REFUSE, /* the source says by its return that it was none */
	CW_QUEUE_LONE,   /* a target without a submission */
};

struct cw_queue_event {
	enum cw_queue_what what;
	uint32_t hop;
	bool flag;
	uint64_t ts, ns;
	const struct cw_task *worker;   /* START, DONE, FREE */
	uint64_t futex_waits, futex_ns; /* in the work, for DONE */
};

/* What follow is told as it happens, beside the rows. Times are of the event that ended it. */
struct cw_watch {
	void *arg;
	/* A call's row was put; reason as in slice.no_return, NULL: it returned. */
	void (*call)(void *arg, const struct cw_call *c, const char *reason);
	/* A chain's rows were put; its last target's call is put right before or after. */
	void (*chain)(void *arg, uint64_t chain_id, uint64_t slice_id, uint64_t ts);
	void (*queue)(void *arg, const struct cw_queue_event *e);
	/* What no record can refer to any more. */
	void (*stack_gone)(void *arg, uint64_t stack_id);
	void (*file_gone)(void *arg, uint64_t file_id);
};

/* What passes share: each owns the member of its name, others use it through its header. */
struct cw_trace {
	struct cw_rows *rows;
	const struct cw_plan *plan;     /* to stitch by; NULL none */
	const struct cw_plan *recorded; /* the capture's own, when there is one */
	uint64_t max_age_ns;            /* 0: the plan's */
	bool attribution;               /* scheduler facts were recorded */
	bool restitch;                  /* plan is not the one recorded with */
	int futex_syscalls[3];          /* in which threads wait for a futex; -1 none */
	uint32_t return_sp_adjust;      /* bytes a return's stack pointer is above its entry's */
	uint64_t first_ts, last_ts;     /* of events, so far */
	bool any_event;
	const struct cw_watch
		*watch; /* NULL unless the capture is followed: then it may never end */
	uint32_t epoch; /* of the references, by the newest chunk */
	struct cw_totals totals;
	/* Where files to unwind by are looked for; NULL nowhere. */
	const struct cw_source_places *places;
	struct cw_identity *identity;
	struct cw_images *images;
	struct cw_stacks *stacks;
	struct cw_files *files;
	struct cw_probes *probes;
	struct cw_losses *losses;
	struct cw_states *states;
	struct cw_calls *calls;
	struct cw_stitch *stitch;
	char err[CW_PLAN_ERR]; /* a sentence, when a pass failed */
};

static inline void cw_watch_queue(const struct cw_trace *t, const struct cw_queue_event *e)
{
	if (t->watch)
		t->watch->queue(t->watch->arg, e);
}

#define CW_TYPE_BIT(type) (1ull << (type))

/* All callbacks but event may be NULL; they return 0 or a negative errno, having filled trace->err.
 */
struct cw_pass {
	const char *name;
	unsigned version;   /* raised when the rows it writes change; part of the cache key */
	const char *reads;  /* record types and passes it depends on */
	const char *writes; /* tables it fills */
	uint64_t types;     /* bits of record types it wants */
	int (*begin)(struct cw_trace *t);
	int (*event)(struct cw_trace *t, const struct cw_rec *rec);
	/* Derived events: a call begins (its thread runs), ends (reason NULL: it returned), a
	 * thread is gone. */
	int (*call_begin)(struct cw_trace *t, struct cw_task *task, struct cw_call *c);
	void (*call_end)(struct cw_trace *t, struct cw_task *task, struct cw_call *c,
			 const char *reason);
	void (*task_gone)(struct cw_trace *t, struct cw_task *task);
	void (*watermark)(struct cw_trace *t, uint64_t ts); /* nothing before ts comes any more */
	int (*flush)(struct cw_trace *t);                   /* write rows of what still lives */
	int (*finish)(struct cw_trace *t);                  /* the capture ended */
	void (*free)(struct cw_trace *t);
};

extern const struct cw_pass *const cw_pass_table[]; /* ends with NULL */

/* Names and versions of all passes, "loss.1 identity.1 ...": what a cached database depends on. */
const char *cw_passes_versions(void);

/* Followed captures forget what records of this and the last epoch do not mention. */
static inline bool cw_stale(const struct cw_trace *t, uint32_t epoch)
{
	return t->watch && epoch + 2 <= t->epoch;
}

/*
 * Call that callback of all passes, in their order; free in the opposite one. The first that fails
 * ends it: a negative errno, and a sentence in t->err.
 */
int cw_passes_begin(struct cw_trace *t);
int cw_passes_event(struct cw_trace *t, const struct cw_rec *rec);
int cw_passes_call_begin(struct cw_trace *t, struct cw_task *task, struct cw_call *c);
void cw_passes_call_end(struct cw_trace *t, struct cw_task *task, struct cw_call *c,
			const char *reason);
void cw_passes_task_gone(struct cw_trace *t, struct cw_task *task);
int cw_passes_flush(struct cw_trace *t);
int cw_passes_finish(struct cw_trace *t);
void cw_passes_free(struct cw_trace *t);

/* Types that say what happened; all others are references or about the file. */
#define CW_EVENT_TYPES \
	(CW_TYPE_BIT(CW_PROBE_ENTRY) | CW_TYPE_BIT(CW_PROBE_RETURN) | \
	 CW_TYPE_BIT(CW_SCHED_SWITCH) | CW_TYPE_BIT(CW_SCHED_BLOCK) | \
	 CW_TYPE_BIT(CW_SCHED_WAKING) | CW_TYPE_BIT(CW_SCHED_WAKEUP) | CW_TYPE_BIT(CW_FORK) | \
	 CW_TYPE_BIT(CW_EXEC) | CW_TYPE_BIT(CW_EXIT))
#define CW_SWITCH_TYPES (CW_TYPE_BIT(CW_SCHED_SWITCH) | CW_TYPE_BIT(CW_SCHED_BLOCK))
#define CW_SCHED_TYPES \
	(CW_SWITCH_TYPES | CW_TYPE_BIT(CW_SCHED_WAKING) | CW_TYPE_BIT(CW_SCHED_WAKEUP))
#define CW_CALL_TYPES (CW_TYPE_BIT(CW_PROBE_ENTRY) | CW_TYPE_BIT(CW_PROBE_RETURN))

#endif
