/* SPDX-License-Identifier: GPL-2.0-only */
/* A sorted array of process ids: few are added, many are asked for. */
#include <stdlib.h>
#include <string.h>
#include "pidset.h"

/* Where id is, or where it belongs. */
static size_t place(const struct cw_pidset *s, uint32_t id)
{
	size_t lo = 0, hi = s->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (s->ids[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool cw_pidset_has(const struct cw_pidset *s, uint32_t id)
{
	size_t i = place(s, id);

	return i < s->n && s->ids[i] == id;
}

bool cw_pidset_add(struct cw_pidset *s, uint32_t id)
{
	size_t i = place(s, id), size;
	uint32_t *ids;

	if (i < s->n && s->ids[i] == id)
		return false;
	if (s->n == s->size) {
		size = s->size ? s->size * 2 : 16;
		ids = realloc(s->ids, size * sizeof(*ids));
		if (!ids)
			return false;
		s->ids = ids;
		s->size = size;
	}
	memmove(&s->ids[i + 1], &s->ids[i], (s->n - i) * sizeof(*s->ids));
	s->ids[i] = id;
	s->n++;
	return true;
}

void cw_pidset_remove(struct cw_pidset *s, uint32_t id)
{
	size_t i = place(s, id);

	if (i == s->n || s->ids[i] != id)
		return;
	s->n--;
	memmove(&s->ids[i], &s->ids[i + 1], (s->n - i) * sizeof(*s->ids));
}

void cw_pidset_free(struct cw_pidset *s)
{
	free(s->ids);
	memset(s, 0, sizeof(*s));
}
