/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small drawings of the text report: how durations spread, and how many handoffs waited over time.
 * Must not know what else is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

#define BUCKETS 64 /* powers of two of ns */
#define STEPS   50 /* parts of the recording */
#define BAR     40 /* columns of the longest bar */

/* Durations of one part: of a hop, or (hop -1) of a function's calls alone. */
struct spread {
	int hop;
	char *part;
	uint64_t n, count[BUCKETS];
};

struct cw_figures {
	struct cw_report *r;
	struct cw_text *t;
	struct spread *spreads;
	size_t n;
};

static struct spread *find(const struct cw_figures *f, int hop, const char *part)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->spreads[i].hop == hop && !strcmp(f->spreads[i].part, part))
			return &f->spreads[i];
	return NULL;
}

/* The same, begun when there is none; NULL without memory. */
static struct spread *spread_of(struct cw_figures *f, int hop, const char *part)
{
	struct spread *s = find(f, hop, part);

	if (s)
		return s;
	s = realloc(f->spreads, (f->n + 1) * sizeof(*s));
	if (!s)
		return NULL;
	f->spreads = s;
	s = &f->spreads[f->n];
	memset(s, 0, sizeof(*s));
	s->hop = hop;
	s->part = strdup(part);
	if (!s->part)
		return NULL;
	f->n++;
	return s;
}

static unsigned bucket_of(int64_t ns)
{
	return ns < 2 ? 0 : 63 - (unsigned)__builtin_clzll((unsigned long long)ns);
}

static void add(struct spread *s, int64_t ns)
{
	s->count[bucket_of(ns)]++;
	s->n++;
}

int cw_figures_new(struct cw_figures **out, struct cw_report *r, struct cw_text *t)
{
	struct cw_figures *f = calloc(1, sizeof(*f));
	sqlite3_stmt *s = NULL;
	int err;

	*out = f;
	if (!f)
		return -ENOMEM;
	f->r = r;
	f->t = t;
	err = cw_prepare(r->db, &s, cw_report_samples);
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		bool of_hop = sqlite3_column_type(s, 0) != SQLITE_NULL;
		struct spread *p = spread_of(f, of_hop ? sqlite3_column_int(s, 0) : -1,
					     (const char *)sqlite3_column_text(s, 1));

		if (!p)
			err = -ENOMEM;
		else
			add(p, sqlite3_column_int64(s, 2));
	}
	sqlite3_finalize(s);
	return err;
}

void cw_figures_free(struct cw_figures *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		free(f->spreads[i].part);
	free(f->spreads);
	free(f);
}

/* Heights from 0 to max as one character each: the first field of a line. */
static void draw(struct cw_text *t, const char *name, const uint64_t *height, size_t n)
{
	static const char *const fine[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
	char text[BUCKETS * 4] = "";
	uint64_t max = 1, k;
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (height[i] > max)
			max = height[i];
	for (size_t i = 0; i < n; i++) {
		k = height[i] ? 1 + (height[i] * 7 + max - 1) / max : 0;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
					 t->utf8 ? fine[k] : plain[k]);
	}
	cw_line_begin(t, 2, CW_PLAIN, "%-14s [%s]", name, text);
}

static bool range_of(const struct spread *s, unsigned *first, unsigned *last)
{
	bool any = false;

	for (unsigned i = 0; i < BUCKETS; i++) {
		if (!s->count[i])
			continue;
		if (!any)
			*first = i;
		*last = i;
		any = true;
	}
	return any;
}

/* "from 8.192 us [.:#|.] to 262.144 ms": a column for each doubling. */
void cw_figures_spread(const struct cw_figures *f, int hop, const char *part)
{
	const struct spread *s = find(f, hop, part);
	char from[CW_DURATION_SIZE], to[CW_DURATION_SIZE];
	unsigned first = 0, last = 0;

	if (!s || s->n < 2 || !range_of(s, &first, &last))
		return;
	draw(f->t, !strcmp(part, "queue") ? "queue spread" : "work spread", s->count + first,
	     last - first + 1);
	cw_field(f->t, CW_PLAIN, "%s to %s,", cw_duration(from, 1ll << first),
		 cw_duration(to, 1ll << (last + 1)));
	cw_field(f->t, CW_DIM, "a column a doubling");
	cw_line_end(f->t);
}

/* What waited at the end of each part of the recording. */
int cw_figures_waiting(const struct cw_figures *f, int hop)
{
	static const char sql[] =
		"WITH c AS (SELECT start_ts, max(end_ts - start_ts, 1) AS span FROM report_clock),"
		" e AS (SELECT src_ts AS ts, 1 AS d FROM edge WHERE plan_hop = ?1"
		"  UNION ALL SELECT dst_ts, -1 FROM edge WHERE plan_hop = ?1"
		"  UNION ALL SELECT ts, 1 FROM unconsumed WHERE plan_hop = ?1"
		"   AND reason NOT IN ('superseded', 'expired'))"
		" SELECT max(0, min(?2 - 1, (ts - start_ts) * ?2 / span)), sum(d), span FROM e, c "
		"GROUP BY 1";
	uint64_t height[STEPS] = {0}, max = 0;
	int64_t delta[STEPS] = {0}, waiting = 0, span = 0;
	char n[CW_DURATION_SIZE], step[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;
	int steps = STEPS, err = cw_prepare(f->r->db, &s, sql);

	if (err)
		return err;
	sqlite3_bind_int(s, 1, hop);
	if (f->t->width && f->t->width < STEPS + 24)
		steps = f->t->width - 24;
	sqlite3_bind_int(s, 2, steps);
	while (sqlite3_step(s) == SQLITE_ROW) {
		delta[sqlite3_column_int(s, 0)] = sqlite3_column_int64(s, 1);
		span = sqlite3_column_int64(s, 2);
	}
	sqlite3_finalize(s);
	for (int i = 0; i < steps; i++) {
		waiting += delta[i];
		height[i] = waiting > 0 ? (uint64_t)waiting : 0;
		if (height[i] > max)
			max = height[i];
	}
	if (!max)
		return 0;
	draw(f->t, "queued", height, (size_t)steps);
	cw_field(f->t, CW_PLAIN, "up to %s;", cw_number(n, (int64_t)max));
	cw_field(f->t, CW_DIM, "a column %s", cw_duration(step, span / steps));
	cw_line_end(f->t);
	return 0;
}

static void print_bars(const struct cw_figures *f, const struct spread *s)
{
	char from[CW_DURATION_SIZE], to[CW_DURATION_SIZE], n[CW_DURATION_SIZE];
	unsigned first = 0, last = 0;
	uint64_t max = 1;

	if (!range_of(s, &first, &last))
		return;
	for (unsigned i = first; i <= last; i++)
		if (s->count[i] > max)
			max = s->count[i];
	for (unsigned i = first; i <= last; i++) {
		uint64_t columns = (s->count[i] * BAR + max - 1) / max;

		fprintf(f->t->out, "  %11s to %-11s %11s%s", cw_duration(from, i ? 1ll << i : 0),
			cw_duration(to, 1ll << (i + 1)), cw_number(n, (int64_t)s->count[i]),
			columns ? " " : "");
		for (uint64_t c = 0; c < columns; c++)
			fputs(f->t->utf8 ? "█" : "#", f->t->out);
		fputc('\n', f->t->out);
	}
}

int cw_figures_histograms(const struct cw_figures *f)
{
	char n[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;
	int err =
		cw_prepare(f->r->db, &s,
			   "SELECT source || ' -> ' || target FROM hop_count WHERE plan_hop = ?1");

	for (size_t i = 0; !err && i < f->n; i++) {
		const struct spread *p = &f->spreads[i];
		const char *name = NULL;

		sqlite3_reset(s);
		sqlite3_bind_int(s, 1, p->hop);
		if (p->hop >= 0 && sqlite3_step(s) == SQLITE_ROW)
			name = (const char *)sqlite3_column_text(s, 0);
		cw_line_begin(f->t, 0, CW_BOLD, "%s of", p->hop < 0 ? "durations" : p->part);
		cw_field(f->t, CW_BOLD, "%s", name ?: p->part);
		cw_field(f->t, CW_PLAIN, "n=%s", cw_number(n, (int64_t)p->n));
		cw_line_end(f->t);
		print_bars(f, p);
	}
	sqlite3_finalize(s);
	return err;
}
