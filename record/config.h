/* SPDX-License-Identifier: GPL-2.0-only */
/* --check-config. */
#ifndef CW_CONFIG_H
#define CW_CONFIG_H

/* Check a file and say on stdout what it asks for. Returns the program's exit status. */
int cw_config_check(const char *path);

#endif
