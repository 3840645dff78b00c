/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the text report's sections. Must not know how they are printed. */
#include <string.h>
#include "report_sections.h"

static const struct {
	const char *name;
	bool shown;
} sections[CW_NSECTIONS] = {
#define CW_X_SECTION(NAME, name, shown, text) {name, shown},
	CW_SECTIONS(CW_X_SECTION)
#undef CW_X_SECTION
};

unsigned int cw_sections_default(void)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < CW_NSECTIONS; i++)
		if (sections[i].shown)
			bits |= 1u << i;
	return bits;
}

bool cw_sections_parse(const char *list, unsigned int *out)
{
	unsigned int bits = 0;

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
		size_t n = strcspn(at, ",");
		unsigned int i;

		if (n == 3 && !strncmp(at, "all", n)) {
			bits |= (1u << CW_NSECTIONS) - 1;
			continue;
		}
		for (i = 0; i < CW_NSECTIONS; i++)
			if (strlen(sections[i].name) == n && !strncmp(at, sections[i].name, n))
				break;
		if (i == CW_NSECTIONS)
			return false;
		bits |= 1u << i;
	}
	*out = bits;
	return true;
}
