/* SPDX-License-Identifier: GPL-2.0-only */
/* Command --check-config: says whether a plan is good, without looking at any program. */
#include <stdio.h>
#include "config.h"
#include "plan.h"
#include "say.h"

int cw_config_check(const char *path)
{
	char err[CW_PLAN_ERR] = "";
	struct cw_plan *plan;
	size_t i;
	int rc = cw_plan_from_file(&plan, path, err);

	if (!rc) {
		rc = cw_plan_finish(plan, err);
		if (rc)
			cw_say("%s: %s", path, err);
	} else {
		cw_say("%s", err);
	}
	if (!rc) {
		cw_put(stdout, "%s: valid; %zu function%s", path, plan->nfuncs,
		       plan->nfuncs == 1 ? "" : "s");
		for (i = 0; i < plan->nhops; i++)
			cw_put(stdout, "%s%s -> %s", i ? ", " : "; hops ", plan->hops[i].source,
			       plan->hops[i].target);
		printf("\n");
	}
	cw_plan_free(plan);
	return rc ? 1 : 0;
}
