/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder's command line. */
#ifndef CW_RECORD_OPTIONS_H
#define CW_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "modtab.h"
#include "plan.h"

struct cw_options {
	/* What to trace: -p, --exec or --cgroup, or else every process of binary. */
	pid_t *pids; /* -p, each once; malloc'ed */
	size_t npids;
	const char *exec_prog; /* --exec; NULL when not given */
	char **exec_argv; /* arguments of the program, its name first; NULL-terminated, malloc'ed */
	const char *cgroup; /* --cgroup: a directory; NULL when not given */
	const char *binary; /* the ELF file that functions are in; NULL when not given */
	bool follow;        /* children, too, and on until the last of them has ended */
	struct cw_plan *plan;
	bool force_return; /* return probes even where they break the target */

	/* What to do instead of recording; NULL when not asked for. */
	const char *find_symbol;
	const char *module; /* --module; the plan's functions have it in their own module */
	const char *check_config;
	bool check; /* say what can be recorded here */

	const char *output;
	uint64_t ring_bytes; /* of all rings, a power of two of pages; 0: as suits them */
	uint32_t rings;      /* 0: as many as suit the CPUs */
	uint64_t max_bytes;  /* of a capture file; 0: no limit */
	uint64_t flight_ns;  /* keep this much of the end in memory; 0: write all */
	char *flight_when; /* name of a function whose slow calls have it written, malloc'ed; NULL:
			      none */
	char *flight_module;      /* where that is, malloc'ed; NULL: anywhere */
	uint64_t flight_limit_ns; /* what is slow */
	uint64_t max_rate;        /* hits a second from which on a probe is detached; 0: never */
	uint32_t segments;    /* files to go on in, each of max_bytes; 0: one file, output itself */
	uint32_t stack_bytes; /* of each distinct user stack to save; 0: frame pointers do */
	enum cw_embed embed;  /* what of modules' files goes into the capture */
	uint64_t embed_max;   /* bytes of that, uncompressed, in each file */
	bool quiet;
	bool verbose;
};

/*
 * Parse argv into o. Prints usage errors and help itself and exits with 2 or 0 then, as argp does,
 * and with 1 when --config cannot be used. The strings in o point into argv.
 */
void cw_options_parse(struct cw_options *o, int argc, char **argv);
void cw_options_free(struct cw_options *o);

#endif
