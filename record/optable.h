/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder's options as argp takes them. */
#ifndef CW_OPTABLE_H
#define CW_OPTABLE_H

#include <argp.h>

/* Options without a letter. */
enum cw_option_key {
	OPT_EXEC = 256,
	OPT_CGROUP,
	OPT_MODULE,
	OPT_BINARY,
	OPT_OFFSET,
	OPT_FUNCTION,
	OPT_RET,
	OPT_TIME,
	OPT_ATTRIBUTION,
	OPT_DISCOVER,
	OPT_HOP,
	OPT_SOURCE,
	OPT_SOURCE_ARG,
	OPT_SOURCE_BINARY,
	OPT_TARGET_ARG,
	OPT_DURATION,
	OPT_MAX_EVENTS,
	OPT_MAX_SIZE,
	OPT_ROTATE,
	OPT_RING,
	OPT_RINGS,
	OPT_STACK,
	OPT_EMBED,
	OPT_EMBED_MAX,
	OPT_MAX_AGE,
	OPT_CONFIG,
	OPT_FORCE_RETURN,
	OPT_MIN_TOTAL,
	OPT_MIN_QUEUE,
	OPT_MIN_WORK,
	OPT_FIND_SYMBOL,
	OPT_CHECK_CONFIG,
	OPT_CHECK,
	OPT_FLIGHT,
	OPT_FLIGHT_WHEN,
	OPT_MAX_RATE
};

extern const struct argp_option cw_option_table[];
extern const char cw_option_doc[];

#endif
