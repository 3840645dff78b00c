/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan: what to trace and how it hangs together. Built from options or YAML by the recorder,
 * stored in the capture as YAML, read again, or replaced, by the analyzer.
 * Functions return 0 or a negative errno and write one sentence to err.
 */
#ifndef CW_PLAN_H
#define CW_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_ARG_AUTO 0 /* scan arguments 1-8 for the key */
#define CW_PLAN_ERR 512

/* What a source returns when it handed something over; numbers are read as int or long. */
enum cw_returns { CW_RETURNS_ANY, CW_RETURNS_NONZERO, CW_RETURNS_ZERO, CW_RETURNS_NONNEGATIVE };

enum cw_match { CW_MATCH_NEWEST, CW_MATCH_OLDEST, CW_MATCH_ALL };

/* A function to probe. */
struct cw_plan_func {
	char *name;      /* symbol, or NULL when offset is given */
	char *module;    /* basename or path of its ELF file; NULL: the target's own */
	uint64_t offset; /* file offset, when name is NULL */
	bool ret;        /* wants a return probe */
	bool target;     /* a positional function: its calls are reported */
};

/* One asynchronous handoff: source(key at source_arg) -> target(key at target_arg). */
struct cw_plan_hop {
	char *source;
	char *source_module;
	char *target;
	char *target_module;
	uint32_t source_arg;            /* 1-8 */
	uint32_t target_arg;            /* 1-8 or CW_ARG_AUTO */
	enum cw_returns source_returns; /* else the source refused, and submitted nothing */
	enum cw_match match;
	uint64_t max_age_ns; /* submissions older than this expire; 0: the plan's */
};

/* Filters and limits; 0 means unset. */
struct cw_plan_filters {
	uint64_t min_total_ns, min_queue_ns, min_work_ns;
	uint64_t max_events;
	uint64_t duration_ns;
	uint64_t diagnostic_interval_ns;
};

struct cw_plan {
	struct cw_plan_func *funcs;
	size_t nfuncs;
	struct cw_plan_hop *hops;
	size_t nhops;
	struct cw_plan_filters filters;
	uint64_t max_age_ns; /* default 30 s */
	bool ret;            /* --ret: return values are wanted */
	bool time;           /* --time: durations are wanted */
	bool attribution;    /* --attribution: scheduler facts are wanted; implies time */
	bool stacks;         /* user stacks; default true */
};

struct cw_plan *cw_plan_new(void);
void cw_plan_free(struct cw_plan *p);

/* Parse one --async-hop value: SOURCE,ARG,TARGET[,ARG|auto]; a function may be MODULE:SYMBOL. */
int cw_plan_add_hop(struct cw_plan *p, const char *text, char *err);

/* Parse one function: [MODULE:]SYMBOL or [MODULE:]+0xOFFSET. */
int cw_plan_add_func(struct cw_plan *p, const char *text, char *err);

/* Take functions, or hops, out again: others are to replace them. */
void cw_plan_clear_funcs(struct cw_plan *p);
void cw_plan_clear_hops(struct cw_plan *p);

/* Put functions of these names in the place of function i, without those that are there already. */
int cw_plan_expand_func(struct cw_plan *p, size_t i, char *const *names, size_t n);

/* Give every function that names no module this one, in hops, too. -ENOMEM. */
int cw_plan_set_module(struct cw_plan *p, const char *module);

/*
 * Complete and check: hop functions join funcs (once each), the last hop's target is the final
 * target (the only positional function may be left out), async implies time and attribution,
 * return probes where durations are wanted.
 */
int cw_plan_finish(struct cw_plan *p, char *err);

/* Index in funcs of the function called name (with its module when given), or -1. */
int cw_plan_find(const struct cw_plan *p, const char *name, const char *module);

/* As YAML, malloc'ed; and back. file is the name used in messages. Unknown keys are errors. */
char *cw_plan_to_yaml(const struct cw_plan *p);
int cw_plan_from_yaml(struct cw_plan **out, const char *yaml, size_t size, const char *file,
		      char *err);

/* The same from a file, at most 1 MiB; what is said names the path. */
int cw_plan_from_file(struct cw_plan **out, const char *path, char *err);

#endif
