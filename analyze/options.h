/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that every command over a capture shares, and values that several options parse. */
#ifndef CW_OPTIONS_H
#define CW_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include "database.h"
#include "plan.h"

/* What the shared options say. The caller sets open.capture; the rest is filled by the parser. */
struct cw_input {
	struct cw_open_opts open;
	struct cw_plan *plan;           /* made by --async-hop and --config; owned */
	const char *config;             /* --config; NULL: none */
	struct cw_plan_filters filters; /* those of --config, which replace the capture's */
	const char **debug_dirs;
	size_t ndebug_dirs;
};

/* A child parser for argp; its input is a struct cw_input. */
extern const struct argp cw_input_argp;
void cw_input_free(struct cw_input *in);

/* The filters of --config, which hold instead of the capture's; NULL when none was given. in's. */
const struct cw_plan_filters *cw_input_filters(const struct cw_input *in);

/*
 * For commands of one capture: takes it at ARGP_KEY_ARG and asks for it at ARGP_KEY_END; none is a
 * usage error, and so is another one, unless it is a segment that is opened with the first anyway.
 * ARGP_ERR_UNKNOWN for all other keys.
 */
error_t cw_input_argument(struct cw_input *in, int key, char *arg, struct argp_state *state);

/* Milliseconds, with a fraction, to ns. False when text is no such number or is negative. */
bool cw_parse_ms(const char *text, uint64_t *ns);

/* A whole number in [min, max]. */
bool cw_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* A key or address in decimal or 0x hexadecimal, to its 64-bit pattern. */
bool cw_parse_key(const char *text, int64_t *out);

/* A moment of a capture: relative to its start, or a wall-clock time of day. */
struct cw_moment {
	bool set;
	bool wall; /* ns counts from midnight, local to the recorded host */
	int64_t ns;
};

/* "12.5" and "12.5s" are seconds, "300ms" milliseconds, "HH:MM[:SS[.FRACTION]]" wall time. */
bool cw_parse_moment(const char *text, struct cw_moment *out);

#endif
