/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what is told of a capture file beside its records. Must not know tables. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "feed.h"
#include "say.h"

void cw_feed_header(struct cw_ingest *in, const struct cw_reader *r)
{
	const char *wall = cw_reader_meta(r, "start_wall_ns");
	const char *mono = cw_reader_meta(r, "start_mono_ns");

	for (const struct cw_meta_kv *kv = cw_reader_metas(r); kv && kv->key; kv++)
		cw_ingest_info_text(in, kv->key, kv->value);
	if (wall && mono)
		cw_ingest_info(in, "wall_offset_ns",
			       (int64_t)(strtoull(wall, NULL, 10) - strtoull(mono, NULL, 10)));
}

void cw_feed_note(struct cw_ingest *in, size_t n, const char *text)
{
	char key[48];

	if (n >= CW_PROBLEMS_SAID)
		return;
	snprintf(key, sizeof(key), "file_problem.%zu", n + 1);
	cw_ingest_info_text(in, key, text);
}

int cw_feed_problems(struct cw_ingest *in, const struct cw_reader *r, size_t *told)
{
	static const struct cw_feed_place alone;

	return cw_feed_problems_at(in, r, told, &alone);
}

int cw_feed_problems_at(struct cw_ingest *in, const struct cw_reader *r, size_t *told,
			const struct cw_feed_place *at)
{
	char text[512];
	int err = 0;

	for (; !err && *told < cw_reader_nproblems(r); ++*told) {
		const struct cw_problem *p = cw_reader_problem(r, *told);
		uint64_t now = cw_ingest_time(in) > at->since ? cw_ingest_time(in) : at->since;
		uint64_t from = p->from_ts ? p->from_ts : now;
		uint64_t to = p->to_ts ? p->to_ts : from;

		if (at->until && to > at->until)
			to = at->until > from ? at->until : from;
		snprintf(text, sizeof(text), "%s%sat byte %" PRIu64 ": %s", at->file ?: "",
			 at->file ? ", " : "", p->offset, p->text);
		cw_feed_note(in, at->before + *told, text);
		if (p->lost_data)
			err = cw_ingest_damage(in, from, to);
	}
	return err;
}

void cw_feed_say(const struct cw_reader *r, const char *name, size_t *said)
{
	size_t n = cw_reader_nproblems(r);

	for (; *said < n && *said < CW_PROBLEMS_SAID; ++*said) {
		const struct cw_problem *p = cw_reader_problem(r, *said);

		cw_say("%s: at byte %" PRIu64 ": %s", name, p->offset, p->text);
	}
	if (*said < n)
		cw_say("%s: %zu problems more; dump --validate shows them all", name, n - *said);
	*said = n;
}
