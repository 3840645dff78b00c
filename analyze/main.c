/* SPDX-License-Identifier: GPL-2.0-only */
/* callweave-analyze: finds the subcommand. Everything else is the command's own. */
#include <argp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "stdfds.h"

#define VERSION "callweave-analyze 0.1"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} commands[] = {
	{"report", cw_cmd_report, "show chains, calls and what delayed them (the default)"},
	{"follow", cw_cmd_follow, "show the same while it is being recorded"},
	{"export", cw_cmd_export, "write chains, calls and stacks for other tools"},
	{"diff", cw_cmd_diff, "show what is slower in one capture than in another"},
	{"import", cw_cmd_import, "turn a capture into an SQLite database that you keep"},
	{"diagnostics", cw_cmd_diagnostics,
	 "show queues and thread pools, and what is wrong there"},
	{"blocked", cw_cmd_blocked, "show what functions and hops waited for"},
	{"discover", cw_cmd_discover, "find who hands work to a function"},
	{"suggest", cw_cmd_suggest, "find handoffs among the recorded functions"},
	{"modules", cw_cmd_modules, "show where names and lines come from, and what was tried"},
	{"archive", cw_cmd_archive, "add the files that give lines to a copy of a capture"},
	{"sql", cw_cmd_sql, "query a capture"},
	{"dump", cw_cmd_dump, "print or check the records of a capture"},
};

static void usage(FILE *out)
{
	fputs("Usage: callweave-analyze [COMMAND] [OPTION...] CAPTURE\n"
	      "Analyze a capture that callweave-record wrote, on any machine.\n\nCommands:\n",
	      out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].does);
	fputs("\nExamples:\n"
	      "  callweave-analyze trace.cwc                            the report\n"
	      "  callweave-analyze trace.cwc --min-total-ms 100         only chains that took that "
	      "long\n"
	      "  callweave-analyze trace.cwc --async-hop put,2,work,1   stitch again, by other "
	      "hops\n"
	      "  callweave-analyze sql trace.cwc 'SELECT * FROM chain'  ask your own question\n"
	      "  callweave-analyze import trace.cwc -o trace.db         for sqlite3 and other "
	      "tools\n"
	      "\n`callweave-analyze COMMAND --help` shows the options of a command.\n",
	      out);
}

int main(int argc, char **argv)
{
	static char name[64];

	cw_keep_std_fds();
	/* A connection is one thread's at a time, and nobody asks how much memory SQLite has. */
	sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	signal(SIGPIPE, SIG_IGN); /* writes fail with EPIPE instead, which ends quietly */
	signal(SIGXFSZ, SIG_IGN); /* and with EFBIG, which is said */
	argp_err_exit_status = 2;
	setenv("ARGP_HELP_FMT", "rmargin=100", 0);
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		puts(VERSION);
		return 0;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "callweave-analyze %s", commands[i].name);
		argv[1] = name; /* as usage messages call it */
		return commands[i].run(argc - 1, argv + 1);
	}
	argv[0] = (char *)"callweave-analyze";
	return cw_cmd_report(argc, argv);
}
