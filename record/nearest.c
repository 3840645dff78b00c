/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names nearest to one that does not exist. Owns what "near" means; it must not know where
 * names come from.
 */
#include <string.h>
#include "nearest.h"

#define LONGEST 95

void cw_nearest_init(struct cw_nearest *nr, const char *wanted)
{
	memset(nr, 0, sizeof(*nr));
	nr->wanted = wanted;
	nr->wanted_len = strlen(wanted);
}

/* Levenshtein's distance, or limit + 1 as soon as it is certain to be above limit. */
static unsigned int distance(const char *a, size_t alen, const char *b, size_t blen,
			     unsigned int limit)
{
	unsigned int row[LONGEST + 1];
	size_t i, j;

	for (j = 0; j <= blen; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= alen; i++) {
		unsigned int diagonal = row[0], least = row[0] = (unsigned int)i;

		for (j = 1; j <= blen; j++) {
			unsigned int d = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (d > row[j] + 1)
				d = row[j] + 1;
			if (d > row[j - 1] + 1)
				d = row[j - 1] + 1;
			row[j] = d;
			if (d < least)
				least = d;
		}
		if (least > limit)
			return limit + 1;
	}
	return row[blen];
}

/* Beyond half of the letters it is another name. */
static unsigned int farthest(const struct cw_nearest *nr)
{
	unsigned int limit = (unsigned int)nr->wanted_len / 2;

	if (limit < 2)
		limit = 2;
	if (nr->n == CW_NEAREST && nr->best[CW_NEAREST - 1].distance <= limit)
		return nr->best[CW_NEAREST - 1].distance - 1;
	return limit;
}

static unsigned int how_far(const struct cw_nearest *nr, const char *name, size_t len,
			    unsigned int limit)
{
	size_t diff = len > nr->wanted_len ? len - nr->wanted_len : nr->wanted_len - len;

	/* A part of a longer name is a likely meaning, however many letters are missing. */
	if (nr->wanted_len >= 4 && diff && strstr(name, nr->wanted))
		return 1 + (unsigned int)(diff > 8) + (unsigned int)(diff > 24);
	if (diff > limit)
		return limit + 1;
	return distance(nr->wanted, nr->wanted_len, name, len, limit);
}

void cw_nearest_offer_at(struct cw_nearest *nr, const char *name, unsigned int d)
{
	size_t len = strlen(name), i;

	if (len > LONGEST || (nr->n == CW_NEAREST && nr->best[CW_NEAREST - 1].distance <= d))
		return;
	for (i = 0; i < nr->n; i++) {
		if (!strcmp(nr->best[i].name, name))
			return;
	}
	i = nr->n < CW_NEAREST ? nr->n++ : CW_NEAREST - 1;
	for (; i > 0 && nr->best[i - 1].distance > d; i--)
		nr->best[i] = nr->best[i - 1];
	nr->best[i].distance = d;
	memcpy(nr->best[i].name, name, len + 1);
}

void cw_nearest_offer(struct cw_nearest *nr, const char *name)
{
	size_t len = strlen(name);
	unsigned int limit, d;

	if (len > LONGEST || nr->wanted_len > LONGEST || !nr->wanted_len)
		return;
	if (nr->n == CW_NEAREST && !nr->best[CW_NEAREST - 1].distance)
		return;
	limit = farthest(nr);
	d = how_far(nr, name, len, limit);
	if (d <= limit)
		cw_nearest_offer_at(nr, name, d);
}
