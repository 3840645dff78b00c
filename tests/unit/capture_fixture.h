/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures for unit tests, in memory: written by the writer, or put together frame by frame where a
 * test needs one that the writer would not write.
 */
#ifndef CAPTURE_FIXTURE_H
#define CAPTURE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "capture.h"
#include "describe.h"
#include "header.h"
#include "wire.h"

#define UNUSED(x) (void)(x)

struct bytes {
	uint8_t *mem;
	size_t n, room;
};

static inline void bytes_put(struct bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->mem = realloc(b->mem, b->room);
		assert_non_null(b->mem);
	}
	if (n)
		memcpy(b->mem + b->n, data, n);
	b->n += n;
}

static inline void bytes_free(struct bytes *b)
{
	free(b->mem);
	memset(b, 0, sizeof(*b));
}

static inline int memory_file(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* What a descriptor holds, from its start. */
static inline struct bytes file_bytes(int fd)
{
	struct bytes b = {0};
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	b.room = st.st_size + 1;
	b.mem = malloc(b.room);
	assert_non_null(b.mem);
	b.n = pread(fd, b.mem, st.st_size, 0);
	assert_int_equal(b.n, st.st_size);
	return b;
}

static inline int bytes_file(const struct bytes *b)
{
	int fd = memory_file();

	assert_int_equal(write(fd, b->mem, b->n), (ssize_t)b->n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* ---- records ----------------------------------------------------------------------------------
 */

static inline struct cw_probe_entry entry_at(uint64_t ts, uint32_t tid, uint64_t key)
{
	struct cw_probe_entry e = {
		.h = {.type = CW_PROBE_ENTRY, .size = sizeof(e), .cpu = tid % 2, .ts = ts},
		.pid = 100,
		.tid = tid,
		.sp = 0x7ffd00001000 + tid,
		.args = {key, ts},
	};

	return e;
}

static inline void make_end(struct cw_end *e)
{
	*e = (struct cw_end){.h = {.type = CW_END, .size = sizeof(*e), .cpu = CW_CPU_NONE},
			     .reason = CW_END_SIGNAL};
}

/* ---- captures by the writer -------------------------------------------------------------------
 */

static const struct cw_meta_kv fixture_keys[] = {
	{"host", "test"}, {"page_size", "4096"}, {NULL, NULL}};

/* What a writer wrote, all of it; frees the writer and closes its file. */
static inline struct bytes finish(struct cw_writer *w, int fd, bool clean)
{
	struct bytes b;

	assert_int_equal(cw_writer_finish(w, clean), 0);
	cw_writer_free(w);
	b = file_bytes(fd);
	close(fd);
	return b;
}

/* nchunks chunks of per events each, event k at ts (k + 1) * 1000, then an end record. */
static inline struct bytes simple_capture(unsigned nchunks, unsigned per, bool clean)
{
	int fd = memory_file();
	struct cw_end end;
	struct cw_writer *w;

	make_end(&end);
	assert_int_equal(cw_writer_new(&w, fd, fixture_keys), 0);
	for (unsigned k = 0; k < nchunks * per; k++) {
		struct cw_probe_entry e = entry_at((k + 1) * 1000ull, 101 + k % 3, 0x1000 + k);

		assert_int_equal(cw_writer_append(w, &e.h), 0);
		if ((k + 1) % per == 0)
			assert_int_equal(cw_writer_tick(w, UINT64_MAX), 0);
	}
	if (clean)
		assert_int_equal(cw_writer_append_tail(w, &end.h, sizeof(end), "done", 4), 0);
	return finish(w, fd, clean);
}

/* ---- captures by hand -------------------------------------------------------------------------
 */

static inline void put_record(struct bytes *b, const struct cw_rec *rec)
{
	static const uint8_t zeros[8];

	bytes_put(b, rec, rec->size);
	bytes_put(b, zeros, cw_rec_stride(rec) - rec->size);
}

static inline void make_chunk(struct cw_chunk *c, uint64_t seq, uint32_t records)
{
	*c = (struct cw_chunk){
		.h = {.type = CW_CHUNK, .size = sizeof(*c), .cpu = CW_CPU_NONE, .ts = 5000},
		.seq = seq,
		.records = records,
		.mono_ns = 5000,
		.wall_ns = 1,
	};
}

static inline void put_header(struct bytes *b)
{
	uint8_t *mem;
	size_t n;

	assert_int_equal(cw_header_make(fixture_keys, &mem, &n), 0);
	bytes_put(b, mem, n);
	free(mem);
}

/* A zstd frame of these bytes. */
static inline void put_frame(struct bytes *b, const struct bytes *content)
{
	size_t room = ZSTD_compressBound(content->n), n;
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	uint8_t *mem = malloc(room);

	assert_non_null(mem);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(cctx, mem, room, content->mem, content->n);
	assert_false(ZSTD_isError(n));
	bytes_put(b, mem, n);
	free(mem);
	ZSTD_freeCCtx(cctx);
}

/* A capture of one chunk that holds these records, after a good header. */
static inline struct bytes one_chunk(const struct bytes *records, uint32_t n)
{
	struct bytes content = {0}, b = {0};
	struct cw_chunk c;

	make_chunk(&c, 0, n);
	put_record(&content, &c.h);
	bytes_put(&content, records->mem, records->n);
	put_header(&b);
	put_frame(&b, &content);
	bytes_free(&content);
	return b;
}

/* Where the frames of a capture begin; the end is one more. Frame 0 is the header. */
static inline size_t frame_offsets(const struct bytes *b, size_t *offsets, size_t room)
{
	size_t n = 0, at = 0;

	while (at < b->n) {
		size_t size = ZSTD_findFrameCompressedSize(b->mem + at, b->n - at);

		assert_false(ZSTD_isError(size));
		assert_true(n + 1 < room);
		offsets[n++] = at;
		at += size;
	}
	offsets[n] = at;
	return n;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* A reader of these bytes, which open without complaint; *fd is for the caller to close. */
static inline struct cw_reader *open_bytes(const struct bytes *b, int *fd)
{
	struct cw_reader *r;
	char err[512];

	*fd = bytes_file(b);
	assert_int_equal(cw_reader_open_fd(&r, *fd, "FILE", err, sizeof(err)), 0);
	return r;
}

struct readout {
	int open_error; /* of cw_reader_open_fd */
	int error;      /* of the last cw_reader_next */
	char text[512]; /* why it did not open */
	size_t records, events, nproblems;
	uint64_t sum; /* of all bytes of records but chunks, in order */
	bool clean, lost, fatal;
	uint64_t unknown;
};

/* Read every byte of every record, as a sanitizer wants it, and check what is promised for all. */
static inline void take_record(struct readout *o, const struct cw_reader *r,
			       const struct cw_rec *rec)
{
	const struct cw_type *t = cw_type_by_id(rec->type);
	const struct cw_rec *written = cw_reader_as_written(r);
	const struct cw_type *file = cw_reader_type(r, written->type);

	assert_true(rec->size >= (t ? t->fixed_size : sizeof(*rec)));
	assert_true(written->size >= (file ? file->fixed_size : sizeof(*rec)));
	o->records++;
	o->events += t && t->class == CW_CLASS_EVENT;
	for (size_t i = 0; rec->type != CW_CHUNK && i < rec->size; i++)
		o->sum = (o->sum ^ ((const uint8_t *)rec)[i]) * 0x100000001b3ull;
}

static inline struct readout read_fd(int fd)
{
	struct readout o = {0};
	const struct cw_rec *rec;
	struct cw_reader *r;
	struct cw_pos pos;

	o.open_error = cw_reader_open_fd(&r, fd, "FILE", o.text, sizeof(o.text));
	if (o.open_error) {
		assert_null(r);
		assert_true(o.text[0]);
		return o;
	}
	while ((o.error = cw_reader_next(r, &rec, &pos)) > 0)
		take_record(&o, r, rec);
	o.nproblems = cw_reader_nproblems(r);
	for (size_t i = 0; i < o.nproblems; i++) {
		const struct cw_problem *p = cw_reader_problem(r, i);

		assert_true(p->text[0]);
		assert_true(p->from_ts <= p->to_ts);
		o.lost |= p->lost_data;
		o.fatal |= p->fatal;
		if (i == 0)
			snprintf(o.text, sizeof(o.text), "%s", p->text);
	}
	o.clean = cw_reader_clean_end(r);
	o.unknown = cw_reader_unknown_records(r);
	cw_reader_free(r);
	return o;
}

static inline struct readout read_bytes(const struct bytes *b)
{
	int fd = bytes_file(b);
	struct readout o = read_fd(fd);

	close(fd);
	return o;
}

#endif
