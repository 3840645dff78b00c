/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder's command line. */
#ifndef CW_RECORD_OPTIONS_H
#define CW_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "plan.h"

struct cw_options {
	pid_t pid;             /* -p; 0 when not given */
	const char *binary;    /* an ELF file whose processes are traced; NULL when not given */
	const char *exec_prog; /* --exec; NULL when not given */
	char **exec_argv; /* arguments of the program, its name first; NULL-terminated, malloc'ed */
	const char
		*module; /* ELF file of the functions given without one; NULL: the target's own */
	const char *output;
	uint64_t ring_bytes; /* a power of two times the page size */
	bool quiet;
	bool verbose;
	bool force_return; /* return probes even where they break the target */
	struct cw_plan *plan;
};

/*
 * Parse argv into o. Prints usage errors and help itself and exits with 2 or 0 then, as argp does.
 * The strings in o point into argv.
 */
void cw_options_parse(struct cw_options *o, int argc, char **argv);
void cw_options_free(struct cw_options *o);

/* Bytes in text such as 4096, 512K or 16M; 0 when it is not a size. */
uint64_t cw_parse_size(const char *text);

#endif
