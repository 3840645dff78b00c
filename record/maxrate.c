/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Says which functions were called too often, on the screen and in the capture. Must not know how
 * hits are counted or probes detached.
 */
#include <inttypes.h>
#include <stdio.h>
#include "maxrate.h"

int cw_maxrate_poll(struct cw_probes *pr, struct cw_losses *l, const struct cw_points *p,
		    uint64_t max_rate, void (*say)(const char *text))
{
	struct cw_hot_probe hot;
	char text[512];
	int rc = 0;

	while (!rc && cw_probes_take_hot(pr, &hot)) {
		snprintf(text, sizeof(text),
			 "%.200s is called about %.0f times a second, more than --max-rate %" PRIu64
			 ": detached it; its calls from now on are not recorded",
			 p->at[hot.probe].name, (double)hot.hits * 1e9 / (double)hot.ns, max_rate);
		say(text);
		rc = cw_losses_detached(l, hot.probe, hot.ts);
	}
	return rc;
}
