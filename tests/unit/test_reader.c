/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading captures that are well: whole, of other recorders, from pipes; and telling what a file is
 * that is none.
 */
#include "capture_fixture.h"

static void whole_capture(void **state)
{
	struct bytes b = simple_capture(3, 5, true);
	const struct cw_rec *rec;
	struct cw_reader *r;
	struct cw_pos pos;
	uint64_t index = 0, events = 0;
	int fd;

	UNUSED(state);
	r = open_bytes(&b, &fd);
	assert_string_equal(cw_reader_meta(r, "host"), "test");
	assert_string_equal(cw_reader_meta(r, "format_version"), "1");
	assert_int_equal(strlen(cw_reader_meta(r, "capture_id")), 32);
	assert_null(cw_reader_meta(r, "nothing"));
	assert_string_equal(cw_reader_metas(r)[1].key, "host");
	assert_int_equal(cw_reader_size(r), b.n);
	while (cw_reader_next(r, &rec, &pos) == 1) {
		assert_int_equal(pos.index, index++);
		assert_ptr_equal(rec, cw_reader_as_written(r));
		if (rec->type != CW_PROBE_ENTRY)
			continue;
		assert_int_equal(rec->ts, ++events * 1000);
		assert_int_equal(((const struct cw_probe_entry *)rec)->args[0], 0xfff + events);
		assert_int_equal(pos.frame, (events - 1) / 5);
	}
	assert_int_equal(events, 15);
	assert_int_equal(index, 15 + 4 + 1);
	assert_true(cw_reader_clean_end(r));
	assert_int_equal(cw_reader_nproblems(r), 0);
	assert_int_equal(cw_reader_unknown_records(r), 0);
	assert_int_equal(cw_reader_offset(r), b.n);
	assert_int_equal(cw_reader_next(r, &rec, &pos), 0);
	for (size_t i = 0; i < cw_ntypes; i++)
		assert_true(cw_type_same(cw_reader_type_at(r, i), &cw_types[i]));
	assert_null(cw_reader_type_at(r, cw_ntypes));
	cw_reader_free(r);
	cw_reader_free(NULL);
	close(fd);
	bytes_free(&b);
}

/* ---- other recorders --------------------------------------------------------------------------
 */

struct named_type {
	uint32_t id, size;
	const char *text;
};

static void put_type(struct bytes *b, const struct named_type *t)
{
	struct cw_type_info info = {
		.h = {.type = CW_TYPE_INFO,
		      .size = sizeof(info) + strlen(t->text),
		      .cpu = CW_CPU_NONE},
		.id = t->id,
		.fixed_size = t->size,
	};
	uint8_t record[512] = {0};

	memcpy(record, &info, sizeof(info));
	memcpy(record + sizeof(info), t->text, strlen(t->text));
	bytes_put(b, record, cw_rec_stride((struct cw_rec *)record));
}

/* A header that describes only these types, by a recorder of another time. */
static void put_other_header(struct bytes *b, const struct named_type *types, size_t n)
{
	static const char key[] = "format_version=1";
	struct bytes records = {0};
	struct cw_rec meta = {.type = CW_META, .size = sizeof(meta) + 16, .cpu = CW_CPU_NONE};
	uint8_t head[24];
	uint32_t sum;

	bytes_put(&records, &meta, sizeof(meta));
	bytes_put(&records, key, 16);
	for (size_t i = 0; i < n; i++)
		put_type(&records, &types[i]);
	assert_int_equal(cw_checksum(records.mem, records.n, &sum), 0);
	cw_put32(head, CW_HEADER_FRAME_MAGIC);
	cw_put32(head + 4, 16 + records.n);
	memcpy(head + 8, CW_FILE_MAGIC, 8);
	cw_put32(head + 16, 1);
	cw_put32(head + 20, sum);
	bytes_put(b, head, sizeof(head));
	bytes_put(b, records.mem, records.n);
	bytes_free(&records);
}

static const struct named_type chunk_type = {
	CW_CHUNK, 64,
	"chunk stream seq:u64 min_ts:u64 max_ts:u64 records:u32 epoch:u32 mono_ns:u64 wall_ns:u64 "
	"lost:u64[]"};

/* An older recorder knew fewer fields, a newer one knows more and calls the id another name. */
static void other_layouts(void **state)
{
	const struct named_type types[] = {
		chunk_type,
		{CW_FORK, 32, "fork event pid:u32 tid:u32 child_tid:u32 mood:u32"},
		{200, 24, "exit event tid:u32 pid:u32"}, /* another id for a known name */
		{201, 24, "novelty event a:u32 b:u32"},
		{CW_EXEC, 24, "executed event a:u64"}, /* a known id for another name */
	};
	uint32_t words[8] = {0};
	struct cw_rec *rec = (struct cw_rec *)words;
	struct bytes content = {0}, b = {0};
	const struct cw_rec *got;
	struct cw_reader *r;
	struct cw_chunk c;
	int fd;

	UNUSED(state);
	make_chunk(&c, 0, 4);
	put_record(&content, &c.h);
	*rec = (struct cw_rec){.type = CW_FORK, .size = 32, .ts = 1};
	words[4] = 10, words[5] = 11, words[6] = 12, words[7] = 13;
	put_record(&content, rec);
	*rec = (struct cw_rec){.type = 200, .size = 24, .ts = 2};
	put_record(&content, rec);
	*rec = (struct cw_rec){.type = 201, .size = 24, .ts = 3};
	put_record(&content, rec);
	*rec = (struct cw_rec){.type = CW_EXEC, .size = 24, .ts = 4};
	put_record(&content, rec);
	put_other_header(&b, types, 5);
	put_frame(&b, &content);

	r = open_bytes(&b, &fd);
	assert_int_equal(cw_reader_next(r, &got, NULL), 1);
	assert_int_equal(got->type, CW_CHUNK);
	assert_int_equal(cw_reader_next(r, &got, NULL), 1);
	assert_int_equal(got->type, CW_FORK);
	assert_int_equal(got->size, sizeof(struct cw_fork));
	assert_int_equal(((const struct cw_fork *)got)->tid, 11);
	assert_int_equal(((const struct cw_fork *)got)->child_tid, 12);
	assert_int_equal(((const struct cw_fork *)got)->child_pid, 0);
	assert_int_equal(cw_reader_as_written(r)->size, 32);
	assert_string_equal(cw_reader_type(r, CW_FORK)->fields[3].name, "mood");
	assert_int_equal(cw_reader_next(r, &got, NULL), 1);
	assert_int_equal(got->type, CW_EXIT);
	assert_int_equal(((const struct cw_exit *)got)->tid, 10);
	assert_int_equal(cw_reader_as_written(r)->type, 200);
	assert_int_equal(cw_reader_unknown_records(r), 0);
	assert_int_equal(cw_reader_next(r, &got, NULL), 1);
	assert_int_equal(got->type, 201);
	assert_string_equal(cw_reader_type(r, 201)->name, "novelty");
	assert_int_equal(cw_reader_unknown_records(r), 1);
	assert_int_equal(cw_reader_next(r, &got, NULL), 0); /* never shown as an exec */
	assert_int_equal(cw_reader_unknown_records(r), 2);
	assert_int_equal(cw_reader_unknown_fields(r), 1); /* mood */
	cw_reader_free(r);
	close(fd);
	bytes_free(&content);
	bytes_free(&b);
}

/* Types declared while recording, again for an epoch, and then differently. */
static void types_in_the_stream(void **state)
{
	const struct named_type first = {300, 24, "request event id:u32 size:u32"};
	const struct named_type other = {300, 24, "request event id:u64"};
	const struct named_type bad = {301, 24, "request event id:u128"};
	struct cw_rec event = {.type = 300, .size = 24, .ts = 3};
	struct bytes records = {0}, b;
	const struct cw_rec *rec;
	struct cw_reader *r;
	int fd;

	UNUSED(state);
	put_type(&records, &first);
	put_type(&records, &first);
	put_type(&records, &other);
	put_type(&records, &bad);
	bytes_put(&records, &event, sizeof(event));
	bytes_put(&records, "\1\0\0\0\2\0\0\0", 8);
	b = one_chunk(&records, 5);
	r = open_bytes(&b, &fd);
	while (cw_reader_next(r, &rec, NULL) > 0 && rec->type != 300)
		;
	assert_non_null(rec);
	assert_int_equal(cw_reader_nproblems(r), 2);
	assert_non_null(strstr(cw_reader_problem(r, 0)->text, "differs from an earlier"));
	assert_non_null(strstr(cw_reader_problem(r, 1)->text, "malformed field"));
	assert_int_equal(cw_reader_type(r, 300)->nfields, 2);
	assert_int_equal(cw_reader_unknown_records(r), 1);
	assert_ptr_equal(cw_reader_type_at(r, cw_ntypes), cw_reader_type(r, 300));
	cw_reader_free(r);
	close(fd);
	bytes_free(&records);
	bytes_free(&b);
}

/* ---- what is no capture -----------------------------------------------------------------------
 */

static void refused(const void *data, size_t n, int error, const char *text)
{
	struct bytes b = {.mem = (uint8_t *)data, .n = n};
	struct readout o = read_bytes(&b);

	assert_int_equal(o.open_error, error);
	assert_non_null(strstr(o.text, text));
}

static void foreign_files(void **state)
{
	struct bytes b = simple_capture(1, 5, true), content = {0}, zstd = {0};
	struct cw_reader *r;
	char err[512];

	UNUSED(state);
	refused("", 0, -ENODATA, "is empty");
	refused("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25, -EINVAL, "an ELF file");
	refused("#!/bin/sh\necho this is not a capture\n", 37, -EINVAL, "a text file");
	refused("x", 1, -EINVAL, "a text file");
	refused("SQLite format 3\0................", 32, -EINVAL, "an SQLite database");
	refused("\0\1\2\3\4\5\6\7\0\1\2\3\4\5\6\7\0\1\2\3\4\5\6\7", 24, -EINVAL, "another kind");
	refused("\x50\x2a\x4d\x18\x20\0\0\0SOMEBODY................", 32, -EINVAL,
		"not a callweave");
	bytes_put(&content, "hello", 5);
	put_frame(&zstd, &content);
	refused(zstd.mem, zstd.n, -EINVAL, "a zstd file");
	refused(b.mem, 10, -EBADMSG, "within its header");
	refused(b.mem, 1000, -EBADMSG, "1000 of");
	cw_put32(b.mem + 16, 7);
	refused(b.mem, b.n, -EPROTONOSUPPORT, "version 7, and this program reads up to version 1");
	cw_put32(b.mem + 16, 0);
	refused(b.mem, b.n, -EBADMSG, "damaged header");
	cw_put32(b.mem + 16, 1);
	cw_put32(b.mem + 4, 0x7fffffff);
	refused(b.mem, b.n, -EBADMSG, "damaged header");
	assert_int_equal(cw_reader_open(&r, "/nonexistent/x.cwc", err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/x.cwc"));
	assert_int_equal(cw_reader_open(&r, "/tmp", err, sizeof(err)), -EISDIR);
	assert_non_null(strstr(err, "is a directory"));
	assert_null(r);
	bytes_free(&b);
	bytes_free(&content);
	bytes_free(&zstd);
}

/* ---- streams ----------------------------------------------------------------------------------
 */

/* Records of a frame are there as soon as the frame is, while the writer still has the pipe open.
 */
static void live_pipe(void **state)
{
	struct bytes b = simple_capture(3, 5, true);
	const struct cw_rec *rec;
	struct cw_reader *r;
	size_t offsets[16];
	char err[512];
	int p[2];

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], b.mem, offsets[2]), (ssize_t)offsets[2]);
	assert_int_equal(cw_reader_open_fd(&r, p[0], "PIPE", err, sizeof(err)), 0);
	assert_int_equal(cw_reader_size(r), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(cw_reader_next(r, &rec, NULL), 1);
	assert_int_equal(rec->ts, 5000);
	for (size_t at = offsets[2]; at < offsets[3]; at++) /* byte by byte */
		assert_int_equal(write(p[1], b.mem + at, 1), 1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(cw_reader_next(r, &rec, NULL), 1);
	assert_int_equal(rec->ts, 10000);
	assert_int_equal(write(p[1], b.mem + offsets[3], b.n - offsets[3]),
			 (ssize_t)(b.n - offsets[3]));
	close(p[1]);
	while (cw_reader_next(r, &rec, NULL) > 0)
		;
	assert_true(cw_reader_clean_end(r));
	assert_int_equal(cw_reader_nproblems(r), 0);
	cw_reader_free(r);
	close(p[0]);
	bytes_free(&b);
}

/* Freeing does not wait for a writer that says nothing. */
static void freed_while_waiting(void **state)
{
	struct bytes b = simple_capture(1, 5, true);
	const struct cw_rec *rec;
	struct cw_reader *r;
	size_t offsets[16];
	char err[512];
	int p[2];

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], b.mem, offsets[2]), (ssize_t)offsets[2]);
	assert_int_equal(cw_reader_open_fd(&r, p[0], "PIPE", err, sizeof(err)), 0);
	assert_int_equal(cw_reader_next(r, &rec, NULL), 1);
	cw_reader_free(r);
	close(p[0]);
	close(p[1]);
	bytes_free(&b);
}

/* Waiting ends when the time is over, or something came, and with the clean end of a stream that
 * stays open.
 */
static void waiting_for_a_pipe(void **state)
{
	struct bytes b = simple_capture(3, 5, true);
	const struct cw_rec *rec;
	struct cw_reader *r;
	size_t offsets[16], records = 0;
	char err[512];
	int p[2];

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], b.mem, offsets[1]), (ssize_t)offsets[1]);
	assert_int_equal(cw_reader_open_fd(&r, p[0], "PIPE", err, sizeof(err)), 0);
	assert_false(cw_reader_wait(r, 1));
	assert_int_equal(write(p[1], b.mem + offsets[1], offsets[2] - offsets[1]),
			 (ssize_t)(offsets[2] - offsets[1]));
	for (; cw_reader_wait(r, 200); records++)
		assert_int_equal(cw_reader_next(r, &rec, NULL), 1);
	assert_int_equal(records, 6);
	assert_false(cw_reader_clean_end(r));
	assert_int_equal(write(p[1], b.mem + offsets[2], b.n - offsets[2]),
			 (ssize_t)(b.n - offsets[2]));
	for (; cw_reader_wait(r, 200); records++)
		assert_int_equal(cw_reader_next(r, &rec, NULL), 1);
	assert_int_equal(records, 15 + 4 + 1);
	assert_true(cw_reader_clean_end(r));
	close(p[1]);
	assert_true(cw_reader_wait(r, 10000));
	assert_int_equal(cw_reader_next(r, &rec, NULL), 0);
	assert_int_equal(cw_reader_nproblems(r), 0);
	cw_reader_free(r);
	close(p[0]);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_capture),       cmocka_unit_test(other_layouts),
		cmocka_unit_test(types_in_the_stream), cmocka_unit_test(foreign_files),
		cmocka_unit_test(live_pipe),           cmocka_unit_test(freed_while_waiting),
		cmocka_unit_test(waiting_for_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
