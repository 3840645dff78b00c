/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of options: how they are written and what is no such value. Must not know what for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "optvalues.h"

#define MAX_RING (1ull << 30)

uint64_t cw_parse_size(const char *text)
{
	static const char units[] = "kKmMgG";
	const char *unit;
	int shift = 0;
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *text == '-')
		return 0;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return 0;
		shift = 10 * (int)((unit - units) / 2 + 1);
	}
	return n > UINT64_MAX >> shift ? 0 : n << shift;
}

uint64_t cw_value_scaled(const struct argp_state *st, const char *name, const char *text,
			 double scale)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || v * scale > 9e18 || v * scale < 1)
		argp_error(st, "%s takes a positive number, not '%s'", name, text);
	return (uint64_t)(v * scale);
}

uint64_t cw_value_count(const struct argp_state *st, const char *name, const char *text,
			uint64_t max)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!errno && !*end && v > max)
		argp_error(st, "%s takes a whole number from 1 to %llu, not '%s'", name,
			   (unsigned long long)max, text);
	if (errno || end == text || *end || !v || v > max || *text == '-')
		argp_error(st, "%s takes a positive whole number, not '%s'", name, text);
	return v;
}

uint64_t cw_value_size(const struct argp_state *st, const char *name, const char *text,
		       uint64_t min)
{
	uint64_t n = cw_parse_size(text);

	if (n < min)
		argp_error(st, "%s takes a number of bytes from %lluK on, such as 64M, not '%s'",
			   name, (unsigned long long)(min >> 10), text);
	return n;
}

uint64_t cw_value_ring(const struct argp_state *st, const char *name, const char *text)
{
	uint64_t n = cw_parse_size(text), page = sysconf(_SC_PAGESIZE);

	if (n < page || n > MAX_RING || (n & (n - 1)))
		argp_error(st, "%s takes a power of two from %luK to 1024M, not '%s'", name,
			   (unsigned long)(page >> 10), text);
	return n;
}

uint32_t cw_value_arg(const struct argp_state *st, const char *name, const char *text,
		      bool may_auto)
{
	if (may_auto && !strcmp(text, "auto"))
		return 0;
	if (text[0] < '1' || text[0] > '8' || text[1])
		argp_error(st, "%s takes an argument position, 1-8%s, not '%s'", name,
			   may_auto ? " or auto" : "", text);
	return text[0] - '0';
}

void cw_value_offset(const struct argp_state *st, const char *name, const char *text)
{
	char *end;

	errno = 0;
	strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		argp_error(st, "%s takes a file offset such as 0x11c9, not '%s'", name, text);
}

#define DEFAULT_STACK 16384u
#define MIN_STACK     512u
#define MAX_STACK     32768u /* as much as one record holds, and BPF copies */

uint32_t cw_value_stack(const struct argp_state *st, const char *name, const char *text)
{
	uint64_t n = DEFAULT_STACK;

	if (!strcmp(text, "fp") || !strcmp(text, "none"))
		return 0;
	if (strncmp(text, "dwarf", 5) != 0 || (text[5] && text[5] != '='))
		argp_error(st, "%s takes fp, dwarf[=BYTES] or none, not '%s'", name, text);
	if (text[5])
		n = cw_parse_size(text + 6);
	if (n < MIN_STACK || n > MAX_STACK)
		argp_error(st, "%s=dwarf takes %u to %u bytes, not '%s'", name, MIN_STACK,
			   MAX_STACK, text + 6);
	return (uint32_t)(n + 7) & ~7u;
}

enum cw_embed cw_value_embed(const struct argp_state *st, const char *name, const char *text)
{
	if (!strcmp(text, "symbols"))
		return CW_EMBED_SYMBOLS;
	if (!strcmp(text, "none"))
		return CW_EMBED_NONE;
	if (strcmp(text, "all") != 0)
		argp_error(st, "%s takes symbols, none or all, not '%s'", name, text);
	return CW_EMBED_ALL;
}
