/* SPDX-License-Identifier: GPL-2.0-only */
/* Carrying records from the ring to the writer, until there is a reason to stop. */
#ifndef CW_DRAIN_H
#define CW_DRAIN_H

#include <stdint.h>
#include "losses.h"
#include "modules.h"
#include "points.h"
#include "probes.h"
#include "segments.h"

struct cw_drain;

struct cw_drain_setup {
	struct cw_probes *probes;
	struct cw_segments *segments;
	struct cw_modules *modules;
	struct cw_points *points;
	struct cw_losses *losses;
	const struct cw_target *target;
	const char *plan_yaml;
	uint64_t max_events;  /* 0: no limit */
	uint64_t duration_ns; /* 0: no limit */
	int signal_fd;
	int user_fd;             /* readable when what --flight keeps is wanted; -1: nobody asks */
	const char *flight_when; /* function whose slow calls want it; NULL: none */
	const char *flight_module; /* where that is; NULL: anywhere */
	uint64_t flight_limit_ns;  /* what is slow */
	void (*say)(const char *text);
	void (*warn)(const char *text);
};

struct cw_drain *cw_drain_new(const struct cw_drain_setup *s, char *err);

/*
 * Record until a signal, the end of the target or a limit. Returns enum cw_end_reason or a negative
 * errno, then with one sentence in err where the writer does not know what it was.
 */
int cw_drain_run(struct cw_drain *d, char *err);

/* Carry over what is left, once nothing is emitted any more. */
int cw_drain_rest(struct cw_drain *d, char *err);

/* Write the plan; repeated says it was done before. */
int cw_drain_write_plan(struct cw_writer *w, const char *yaml, bool repeated);

void cw_drain_free(struct cw_drain *d);

#endif
