/* SPDX-License-Identifier: GPL-2.0-only */
/* Feeds the files of a capture to the passes, one after another. Must not know tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "clock.h"
#include "database.h"
#include "feed.h"
#include "ingest.h"
#include "say.h"
#include "symbol_places.h"
#include "symbol_sources.h"

#define PROGRESS_EVERY 8192u /* records between looks at the clock */

/* In the first moments of a file, what happened a little earlier belongs to the file before it. */
#define OVERLAP_NS 150000000ull

struct import {
	struct cw_reader *reader, *next; /* of this file and the one behind it, or NULL */
	struct cw_ingest *in;
	const struct cw_sequence *files;
	size_t at;
	struct cw_feed_place place; /* of this file */
	size_t problems;            /* of this file, told to the passes so far */
	uint32_t end_reason;        /* of this file; 0: it has no end */
	bool unclean;               /* one of the files so far */
	bool flight;                /* files that are not there were forgotten on purpose */
	bool progress, shown;
	uint64_t records, next_ms;
};

static void show_progress(struct import *im)
{
	uint64_t size = cw_reader_size(im->reader), now;

	if (!im->progress || ++im->records % PROGRESS_EVERY)
		return;
	now = cw_clock_ns(CLOCK_MONOTONIC) / 1000000;
	if (now < im->next_ms)
		return;
	im->next_ms = now + 200;
	im->shown = true;
	if (size)
		fprintf(stderr, "\rimporting %s: %" PRIu64 " %%", im->files->files[im->at].path,
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
		err = cw_feed_problems_at(im->in, im->reader, &im->problems, &im->place);
		if (!err)
			err = cw_ingest_record(im->in, rec);
		if (rec->type == CW_END && rec->size >= sizeof(struct cw_end))
			im->end_reason = ((const struct cw_end *)rec)->reason;
		if (err)
			return err;
		show_progress(im);
	}
	err = cw_feed_problems_at(im->in, im->reader, &im->problems, &im->place);
	/* What cannot be read any more is a problem that the reader has put into words. */
	return err || rc == -ENOMEM ? (err ? err : rc) : 0;
}

static int open_file(struct cw_reader **r, const char *path)
{
	char text[CW_PLAN_ERR] = "";
	int err = cw_reader_open(r, path, text, sizeof(text));

	return err ? cw_fail(err, "%s", *text ? text : strerror(-err)) : 0;
}

/* When the file was begun; 0 unknown. */
static uint64_t begin_of(const struct cw_reader *r)
{
	const char *mono = r ? cw_reader_meta(r, "start_mono_ns") : NULL;

	return mono ? strtoull(mono, NULL, 10) : 0;
}

/* Segments from to to are not there: say so, and that what they had is lost. */
static int missing(struct import *im, uint32_t from, uint32_t to, const struct cw_reader *behind)
{
	uint64_t until = begin_of(behind);
	char text[128];
	int err = cw_ingest_pass_on(im->in);

	if (to > from)
		snprintf(text, sizeof(text), "segments %u to %u of this recording are missing",
			 from, to);
	else
		snprintf(text, sizeof(text), "segment %u of this recording %s missing", from,
			 behind ? "is" : "and what may follow it are");
	cw_say("%s: %s", im->files->files[0].path, text);
	cw_feed_note(im->in, im->place.before++, text);
	/* Before the first event there is an edge of the capture, as with every recording. */
	if (!err && cw_ingest_time(im->in))
		err = cw_ingest_damage(im->in, cw_ingest_time(im->in),
				       behind ? until + OVERLAP_NS : UINT64_MAX);
	return err;
}

/* Take the next file; its number tells whether it is the next one of the recording. */
static int advance(struct import *im)
{
	const struct cw_sequence_file *f = &im->files->files[im->at];
	uint32_t wanted = im->at ? f[-1].number + 1 : 1;
	int err = 0;

	im->reader = im->next;
	im->next = NULL;
	/* --flight forgets what is old, and goes on after what was asked for. */
	im->flight = cw_reader_meta(im->reader, "flight");
	if (im->flight && !im->at)
		wanted = f->number;
	im->problems = 0;
	im->end_reason = 0;
	if (f->number > wanted)
		err = missing(im, wanted, f->number - 1, im->reader);
	if (!err && im->at + 1 < im->files->n)
		err = open_file(&im->next, f[1].path);
	im->place.since = im->at ? begin_of(im->reader) : 0;
	im->place.until = im->next ? begin_of(im->next) + OVERLAP_NS : 0;
	if (im->files->n > 1)
		im->place.file = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
	return err;
}

static int one_file(struct import *im)
{
	size_t said = 0;
	int err = advance(im);

	if (!err)
		err = read_all(im);
	if (im->shown)
		fprintf(stderr, "\r\033[K");
	im->shown = false;
	cw_feed_say(im->reader, im->files->files[im->at].path, &said);
	im->unclean |= !cw_reader_clean_end(im->reader);
	im->place.before += cw_reader_nproblems(im->reader);
	cw_reader_free(im->reader);
	im->reader = NULL;
	return err;
}

static int run(struct import *im)
{
	int err = 0;

	for (im->at = 0; !err && im->at < im->files->n; im->at++)
		err = one_file(im);
	if (!err && im->end_reason == CW_END_NEXT && !im->flight)
		err = missing(im, im->files->files[im->files->n - 1].number + 1, 0, NULL);
	if (err)
		return err;
	cw_ingest_info(im->in, "clean_end", !im->unclean);
	cw_ingest_info(im->in, "file_problems", (int64_t)im->place.before);
	if (im->files->files[0].number)
		cw_ingest_info(im->in, "segments", (int64_t)im->files->n);
	return cw_ingest_finish(im->in);
}

int cw_import(sqlite3 *db, const struct cw_open_opts *o)
{
	struct cw_sequence_file alone = {.path = (char *)o->capture};
	const struct cw_sequence one = {.files = &alone, .n = 1};
	struct import im = {.files = o->sequence ?: &one,
			    .progress = o->progress && isatty(STDERR_FILENO)};
	struct cw_source_places places;
	struct cw_ingest_opts io = {
		.plan = o->plan, .max_age_ns = o->max_age_ns, .places = &places};
	int err = open_file(&im.next, im.files->files[0].path);
	const char *start;

	if (err)
		return err;
	start = cw_reader_meta(im.next, "start_wall_ns");
	cw_places_set(&places, o, cw_reader_meta(im.next, "boot_id"),
		      start ? strtoll(start, NULL, 10) : 0);
	io.arch = cw_reader_meta(im.next, "arch");
	err = cw_ingest_new(&im.in, db, &io);
	if (!err) {
		cw_feed_header(im.in, im.next);
		err = run(&im);
	}
	if (err)
		cw_fail(err, "%s: %s", o->capture,
			*cw_ingest_error(im.in) ? cw_ingest_error(im.in) : strerror(-err));
	cw_ingest_free(im.in);
	cw_reader_free(im.reader);
	cw_reader_free(im.next);
	return err;
}
