/* SPDX-License-Identifier: GPL-2.0-only */
/* What a part of the recorder writes into a capture, read back from the file. */
#ifndef RECORDED_FIXTURE_H
#define RECORDED_FIXTURE_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "folder.h"

static struct cw_writer *writer;
static int capture_fd;
static struct cw_rec *recs[20000];
static size_t nrecs;
static struct cw_lost losses[16];
static size_t nlosses;

static inline void begin(void)
{
	struct cw_meta_kv kv[] = {{NULL, NULL}};

	capture_fd = open(in_dir("capture"), O_CREAT | O_TRUNC | O_RDWR, 0600);
	assert_true(capture_fd >= 0);
	assert_int_equal(cw_writer_new(&writer, capture_fd, kv), 0);
}

static inline void forget_records(void)
{
	while (nrecs)
		free(recs[--nrecs]);
	nlosses = 0;
}

/* Finish the capture and keep its REF records in recs, what was lost in losses. */
static inline void end(void)
{
	struct cw_end rec = {.h.type = CW_END, .reason = CW_END_TARGET};
	const struct cw_rec *r;
	struct cw_reader *reader;
	struct cw_pos pos;
	char err[512];

	forget_records();
	assert_int_equal(cw_writer_append_tail(writer, &rec.h, sizeof(rec), "", 0), 0);
	assert_int_equal(cw_writer_finish(writer, true), 0);
	cw_writer_free(writer);
	close(capture_fd);
	assert_int_equal(cw_reader_open(&reader, in_dir("capture"), err, sizeof(err)), 0);
	while (cw_reader_next(reader, &r, &pos) == 1) {
		if (r->type == CW_LOST && nlosses < 16)
			memcpy(&losses[nlosses++], r, sizeof(*losses));
		if (r->type < CW_PROCESS || r->type > CW_PROBE || nrecs == 20000)
			continue;
		recs[nrecs] = calloc(1, r->size + 1u); /* texts get a NUL */
		memcpy(recs[nrecs++], r, r->size);
	}
	for (size_t i = 0; i < cw_reader_nproblems(reader); i++)
		fail_msg("%s", cw_reader_problem(reader, i)->text);
	cw_reader_free(reader);
}

static inline size_t count(uint16_t type, uint16_t flags)
{
	size_t n = 0;

	for (size_t i = 0; i < nrecs; i++)
		n += recs[i]->type == type && recs[i]->flags == flags;
	return n;
}

static inline int recorded_teardown(void **state)
{
	forget_records();
	return folder_free(state);
}

#endif
