/* SPDX-License-Identifier: GPL-2.0-only */
/* Feeds a capture file to the passes and says what is wrong with the file. Must not know tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "capture.h"
#include "database.h"
#include "ingest.h"
#include "say.h"

#define PROGRESS_EVERY 8192u /* records between looks at the clock */
#define MAX_SAID       10u   /* problems put into words one by one */

struct import {
	struct cw_reader *reader;
	struct cw_ingest *in;
	const char *name;
	size_t problems; /* told to the passes so far */
	bool progress, shown;
	uint64_t records, next_ms;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void show_progress(struct import *im)
{
	uint64_t size = cw_reader_size(im->reader), now;

	if (!im->progress || ++im->records % PROGRESS_EVERY)
		return;
	now = now_ms();
	if (now < im->next_ms)
		return;
	im->next_ms = now + 200;
	im->shown = true;
	if (size)
		fprintf(stderr, "\rimporting %s: %" PRIu64 " %%", im->name,
			100 * cw_reader_offset(im->reader) / size);
	else
		fprintf(stderr, "\rimporting: %" PRIu64 " MiB", cw_reader_offset(im->reader) >> 20);
}

/* What is missing from the file, told to the passes where it is missing. */
static int note_problems(struct import *im)
{
	int err = 0;

	for (; !err && im->problems < cw_reader_nproblems(im->reader); im->problems++) {
		const struct cw_problem *p = cw_reader_problem(im->reader, im->problems);
		uint64_t from = p->from_ts ? p->from_ts : cw_ingest_time(im->in);

		if (p->lost_data)
			err = cw_ingest_damage(im->in, from, p->to_ts ? p->to_ts : from);
	}
	return err;
}

static int read_all(struct import *im)
{
	const struct cw_rec *rec;
	struct cw_pos pos;
	int rc, err;

	while ((rc = cw_reader_next(im->reader, &rec, &pos)) > 0) {
		err = note_problems(im);
		if (!err)
			err = cw_ingest_record(im->in, rec);
		if (err)
			return err;
		show_progress(im);
	}
	err = note_problems(im);
	/* What cannot be read any more is a problem that the reader has put into words. */
	return err || rc == -ENOMEM ? (err ? err : rc) : 0;
}

static void say_problems(const struct import *im)
{
	size_t n = cw_reader_nproblems(im->reader);

	for (size_t i = 0; i < n && i < MAX_SAID; i++) {
		const struct cw_problem *p = cw_reader_problem(im->reader, i);

		cw_say("%s: at byte %" PRIu64 ": %s", im->name, p->offset, p->text);
	}
	if (n > MAX_SAID)
		cw_say("%s: %zu problems more; dump --validate shows them all", im->name,
		       n - MAX_SAID);
}

static void write_header(struct import *im)
{
	const char *wall = cw_reader_meta(im->reader, "start_wall_ns");
	const char *mono = cw_reader_meta(im->reader, "start_mono_ns");

	for (const struct cw_meta_kv *kv = cw_reader_metas(im->reader); kv && kv->key; kv++)
		cw_ingest_info_text(im->in, kv->key, kv->value);
	if (wall && mono)
		cw_ingest_info(im->in, "wall_offset_ns",
			       (int64_t)(strtoull(wall, NULL, 10) - strtoull(mono, NULL, 10)));
}

static int run(struct import *im, sqlite3 *db, const struct cw_open_opts *o)
{
	struct cw_ingest_opts io = {
		.plan = o->plan,
		.max_age_ns = o->max_age_ns,
		.arch = cw_reader_meta(im->reader, "arch"),
	};
	int err = cw_ingest_new(&im->in, db, &io);

	if (err)
		return err;
	write_header(im);
	err = read_all(im);
	if (err)
		return err;
	cw_ingest_info(im->in, "clean_end", cw_reader_clean_end(im->reader));
	cw_ingest_info(im->in, "file_problems", (int64_t)cw_reader_nproblems(im->reader));
	return cw_ingest_finish(im->in);
}

int cw_import(sqlite3 *db, const struct cw_open_opts *o)
{
	struct import im = {.name = o->capture, .progress = o->progress && isatty(STDERR_FILENO)};
	char text[CW_PLAN_ERR] = "";
	int err = cw_reader_open(&im.reader, o->capture, text, sizeof(text));

	if (err)
		return cw_fail(err, "%s", *text ? text : strerror(-err));
	err = run(&im, db, o);
	if (im.shown)
		fprintf(stderr, "\r\033[K");
	say_problems(&im);
	if (err)
		cw_fail(err, "%s: %s", im.name,
			*cw_ingest_error(im.in) ? cw_ingest_error(im.in) : strerror(-err));
	cw_ingest_free(im.in);
	cw_reader_free(im.reader);
	return err;
}
