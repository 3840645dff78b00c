/* SPDX-License-Identifier: GPL-2.0-only */
/* Probed functions of the capture by number. */
#ifndef CW_PROBES_H
#define CW_PROBES_H

#include "passes.h"

struct cw_probe_info {
	struct cw_hnode by_id;         /* when the number is great */
	struct cw_probe_info *next;    /* in the order of first mention */
	uint32_t id, module_id, flags; /* enum cw_probe_flags */
	bool known;                    /* a probe record described it */
	uint64_t offset, placed;
	char *name;
	void *roles;        /* the stitch pass's: in which hops it is source or target */
	signed char target; /* of cw_probe_is_target: 0 not worked out yet, 1 it is, -1 not */
};

/* The probe of this number; one that no record described has a made-up name. */
struct cw_probe_info *cw_probe_of(struct cw_trace *t, uint32_t id);

/* Is the probe what a plan calls name, in module (basename or path) when that is given? */
bool cw_probe_is(const struct cw_trace *t, const struct cw_probe_info *p, const char *name,
		 const char *module);

/*
 * Is it a function whose calls are reported, rather than one that only hops name? The plan must be
 * complete: ask when the first event has come.
 */
bool cw_probe_is_target(const struct cw_trace *t, struct cw_probe_info *p);

/*
 * Arguments whose registers the function overwrites, without looking at them, before the
 * breakpoint: bit 0 the first. What a record says of those means nothing.
 */
uint64_t cw_probe_lost_args(const struct cw_probe_info *p);

/* The probe that was mentioned first, or NULL; go on with ->next. */
struct cw_probe_info *cw_probe_first(const struct cw_trace *t);

#endif
