/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans in files: --config and --check-config. */
#ifndef CW_CONFIG_H
#define CW_CONFIG_H

#include "plan.h"

/* Read a plan; err (CW_PLAN_ERR bytes) gets one sentence. Returns 0 or a negative errno. */
int cw_config_read(struct cw_plan **out, const char *path, char *err);

/* Check a file and say on stdout what it asks for. Returns the program's exit status. */
int cw_config_check(const char *path);

#endif
