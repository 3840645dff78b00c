/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Subcommands of callweave-analyze. Each takes its own argc and argv (argv[0] is the command's
 * name) and returns the exit status: 0, 1 for a failure already explained on stderr, 2 for usage.
 */
#ifndef CW_COMMANDS_H
#define CW_COMMANDS_H

int cw_cmd_report(int argc, char **argv);
int cw_cmd_follow(int argc, char **argv);
int cw_cmd_export(int argc, char **argv);
int cw_cmd_diff(int argc, char **argv);
int cw_cmd_import(int argc, char **argv);
int cw_cmd_diagnostics(int argc, char **argv);
int cw_cmd_blocked(int argc, char **argv);
int cw_cmd_discover(int argc, char **argv);
int cw_cmd_suggest(int argc, char **argv);
int cw_cmd_modules(int argc, char **argv);
int cw_cmd_archive(int argc, char **argv);
int cw_cmd_sql(int argc, char **argv);
int cw_cmd_dump(int argc, char **argv);

#endif
