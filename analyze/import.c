/* SPDX-License-Identifier: GPL-2.0-only */
/* Feeds a capture file to the passes. Must not know tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "capture.h"
#include "database.h"
#include "feed.h"
#include "ingest.h"
#include "say.h"
#include "symbol_places.h"
#include "symbol_sources.h"

#define PROGRESS_EVERY 8192u /* records between looks at the clock */

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

static int read_all(struct import *im)
{
	const struct cw_rec *rec;
	struct cw_pos pos;
	int rc, err;

	while ((rc = cw_reader_next(im->reader, &rec, &pos)) > 0) {
		err = cw_feed_problems(im->in, im->reader, &im->problems);
		if (!err)
			err = cw_ingest_record(im->in, rec);
		if (err)
			return err;
		show_progress(im);
	}
	err = cw_feed_problems(im->in, im->reader, &im->problems);
	/* What cannot be read any more is a problem that the reader has put into words. */
	return err || rc == -ENOMEM ? (err ? err : rc) : 0;
}

static int run(struct import *im, sqlite3 *db, const struct cw_open_opts *o)
{
	const char *start = cw_reader_meta(im->reader, "start_wall_ns");
	struct cw_source_places places;
	struct cw_ingest_opts io = {
		.plan = o->plan,
		.max_age_ns = o->max_age_ns,
		.arch = cw_reader_meta(im->reader, "arch"),
		.places = &places,
	};
	int err;

	cw_places_set(&places, o, cw_reader_meta(im->reader, "boot_id"),
		      start ? strtoll(start, NULL, 10) : 0);
	err = cw_ingest_new(&im->in, db, &io);
	if (err)
		return err;
	cw_feed_header(im->in, im->reader);
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
	size_t said = 0;
	int err = cw_reader_open(&im.reader, o->capture, text, sizeof(text));

	if (err)
		return cw_fail(err, "%s", *text ? text : strerror(-err));
	err = run(&im, db, o);
	if (im.shown)
		fprintf(stderr, "\r\033[K");
	cw_feed_say(im.reader, im.name, &said);
	if (err)
		cw_fail(err, "%s: %s", im.name,
			*cw_ingest_error(im.in) ? cw_ingest_error(im.in) : strerror(-err));
	cw_ingest_free(im.in);
	cw_reader_free(im.reader);
	return err;
}
