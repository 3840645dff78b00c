/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of what is wrong with a capture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "problems.h"

#define MAX_PROBLEMS 1000

/* The list is full: widen its last entry. */
static struct cw_problem *merge(struct cw_problems *ps, bool lost_data)
{
	struct cw_problem *p = &ps->list[ps->n - 1];
	char *text;

	ps->more++;
	if (asprintf(&text, "from byte %llu on there are %llu more problems",
		     (unsigned long long)p->offset, (unsigned long long)ps->more + 1) > 0) {
		free((void *)p->text);
		p->text = text;
	}
	p->lost_data |= lost_data;
	if (lost_data)
		p->to_ts = UINT64_MAX;
	return p;
}

struct cw_problem *cw_problems_add(struct cw_problems *ps, uint64_t offset, bool lost_data,
				   const char *text)
{
	struct cw_problem *p;
	char *copy;

	if (ps->n == MAX_PROBLEMS)
		return merge(ps, lost_data);
	if (ps->n == ps->room) {
		size_t room = ps->room ? 2 * ps->room : 8;
		struct cw_problem *bigger = realloc(ps->list, room * sizeof(*bigger));

		if (!bigger)
			return NULL;
		ps->list = bigger;
		ps->room = room;
	}
	copy = strdup(text);
	if (!copy)
		return NULL;
	p = &ps->list[ps->n++];
	memset(p, 0, sizeof(*p));
	p->offset = offset;
	p->lost_data = lost_data;
	p->text = copy;
	if (lost_data)
		p->to_ts = UINT64_MAX;
	return p;
}

void cw_problems_close(struct cw_problems *ps, uint64_t ts)
{
	for (; ps->open < ps->n; ps->open++)
		if (ps->list[ps->open].lost_data && ps->list[ps->open].to_ts == UINT64_MAX)
			ps->list[ps->open].to_ts = ts;
}

bool cw_problems_any_open(const struct cw_problems *ps)
{
	for (size_t i = ps->open; i < ps->n; i++)
		if (ps->list[i].lost_data && ps->list[i].to_ts == UINT64_MAX)
			return true;
	return false;
}

void cw_problems_absolve(struct cw_problems *ps)
{
	for (; ps->open < ps->n; ps->open++) {
		struct cw_problem *p = &ps->list[ps->open];

		if (p->lost_data && p->to_ts == UINT64_MAX) {
			p->lost_data = false;
			p->from_ts = p->to_ts = 0;
		}
	}
}

void cw_problems_free(struct cw_problems *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		free((void *)ps->list[i].text);
	free(ps->list);
}
