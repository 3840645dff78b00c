/* SPDX-License-Identifier: GPL-2.0-only */
/* Any text as a plan and as options; what is read as a plan survives being written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_options(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), err[CW_PLAN_ERR];
	struct cw_plan *p = cw_plan_new();

	cw_plan_add_hop(p, text, err);
	cw_plan_add_func(p, text, err);
	cw_plan_finish(p, err);
	cw_plan_free(p);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CW_PLAN_ERR], *first, *second;
	struct cw_plan *p, *back;

	as_options(data, size);
	if (cw_plan_from_yaml(&p, (const char *)data, size, "p", err))
		return 0;
	first = cw_plan_to_yaml(p);
	if (!first || cw_plan_from_yaml(&back, first, strlen(first), "p", err))
		abort();
	second = cw_plan_to_yaml(back);
	if (!second || strcmp(first, second))
		abort();
	cw_plan_finish(p, err);
	free(first);
	free(second);
	cw_plan_free(p);
	cw_plan_free(back);
	return 0;
}
