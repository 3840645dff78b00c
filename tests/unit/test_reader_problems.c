/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is missing or wrong in a capture, and what the reader tells of it: where, of which time, and
 * whether anything was lost. The rest is read.
 */
#include "capture_fixture.h"

/* Read to the end and return the only problem. */
static const struct cw_problem *only_problem(struct cw_reader *r)
{
	const struct cw_rec *rec;

	while (cw_reader_next(r, &rec, NULL) > 0)
		;
	assert_int_equal(cw_reader_nproblems(r), 1);
	return cw_reader_problem(r, 0);
}

/* ---- missing parts ----------------------------------------------------------------------------
 */

/* Copy of b with the bytes [from, to) replaced. */
static struct bytes spliced(const struct bytes *b, size_t from, size_t to, const void *with,
			    size_t n)
{
	struct bytes out = {0};

	bytes_put(&out, b->mem, from);
	bytes_put(&out, with, n);
	bytes_put(&out, b->mem + to, b->n - to);
	return out;
}

static void killed_recorder(void **state)
{
	struct bytes b = simple_capture(4, 5, false), cut;
	const struct cw_problem *p;
	struct cw_reader *r;
	size_t offsets[16];
	int fd;

	UNUSED(state);
	r = open_bytes(&b, &fd);
	p = only_problem(r); /* killed between two frames */
	assert_true(p->lost_data && !p->fatal);
	assert_non_null(strstr(p->text, "no end record"));
	assert_int_equal(p->from_ts, 16000); /* the last chunk's first event */
	assert_true(p->to_ts == UINT64_MAX);
	assert_false(cw_reader_clean_end(r));
	cw_reader_free(r);
	close(fd);

	frame_offsets(&b, offsets, 16);
	cut = spliced(&b, offsets[4] + 30, b.n, NULL, 0); /* killed while writing the last one */
	r = open_bytes(&cut, &fd);
	p = only_problem(r);
	assert_true(p->lost_data);
	assert_int_equal(p->offset, offsets[4]);
	assert_int_equal(p->from_ts, 11000);
	assert_true(p->to_ts == UINT64_MAX);
	assert_non_null(strstr(p->text, "30 bytes of it are there"));
	cw_reader_free(r);
	close(fd);
	bytes_free(&b);
	bytes_free(&cut);
}

static void damaged_frame(void **state)
{
	struct bytes b = simple_capture(6, 5, true);
	const struct cw_problem *p;
	struct cw_reader *r;
	size_t offsets[16];
	struct readout o;
	int fd;

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	b.mem[offsets[3] - 20] ^= 0x40;
	o = read_bytes(&b);
	assert_int_equal(o.events, 25);
	assert_true(o.clean);
	r = open_bytes(&b, &fd);
	p = only_problem(r);
	assert_true(p->lost_data && !p->fatal);
	assert_int_equal(p->offset, offsets[2]);
	assert_int_equal(p->from_ts, 1000); /* from the chunk before */
	assert_int_equal(p->to_ts, 15000);  /* to the chunk behind */
	cw_reader_free(r);
	close(fd);
	bytes_free(&b);
}

/* More than is decoded without a thread: damage in the middle, and then a cut. */
static void large_file(void **state)
{
	struct bytes b = simple_capture(40, 4000, true);
	struct readout whole = read_bytes(&b), o;
	size_t offsets[64];

	UNUSED(state);
	assert_true(b.n > 1 << 20);
	frame_offsets(&b, offsets, 64);
	assert_int_equal(whole.events, 160000);
	assert_true(whole.clean && !whole.nproblems);
	b.mem[offsets[20] + 100] ^= 1;
	o = read_bytes(&b);
	assert_int_equal(o.events, 156000);
	assert_true(o.clean && o.nproblems == 1);
	b.n = offsets[39] + 1;
	o = read_bytes(&b);
	assert_int_equal(o.events, 148000);
	assert_int_equal(o.nproblems, 2);
	bytes_free(&b);
}

static void missing_chunks(void **state)
{
	struct bytes b = simple_capture(6, 5, true), cut;
	const struct cw_problem *p;
	struct cw_reader *r;
	size_t offsets[16];
	int fd;

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	cut = spliced(&b, offsets[3], offsets[5], NULL, 0);
	/* The table cannot agree either: that is said, too. */
	r = open_bytes(&cut, &fd);
	for (const struct cw_rec *rec; cw_reader_next(r, &rec, NULL) > 0;)
		;
	assert_int_equal(cw_reader_nproblems(r), 2);
	p = cw_reader_problem(r, 0);
	assert_true(p->lost_data);
	assert_non_null(strstr(p->text, "2 chunks are missing"));
	assert_int_equal(p->from_ts, 6000);
	assert_int_equal(p->to_ts, 25000);
	assert_non_null(strstr(cw_reader_problem(r, 1)->text, "seek table"));
	assert_false(cw_reader_problem(r, 1)->lost_data);
	cw_reader_free(r);
	close(fd);
	bytes_free(&b);
	bytes_free(&cut);
}

/* Foreign bytes between two frames cost nothing, and the chunk numbers prove it. */
static void inserted_bytes(void **state)
{
	struct bytes b = simple_capture(4, 5, true), more;
	size_t offsets[16];
	struct readout o;

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	more = spliced(&b, offsets[3], offsets[3], "some rubbish", 12);
	o = read_bytes(&more);
	assert_int_equal(o.events, 20);
	assert_int_equal(o.nproblems, 1);
	assert_false(o.lost);
	bytes_free(&more);
	more = spliced(&b, offsets[3], offsets[3], "\x51\x2a\x4d\x18\x04\0\0\0abcd", 12);
	o = read_bytes(&more); /* a skippable frame of somebody else's */
	assert_int_equal(o.events, 20);
	assert_false(o.lost);
	bytes_free(&more);
	bytes_free(&b);
}

static void missing_table_and_more(void **state)
{
	struct bytes b = simple_capture(2, 5, true), other;
	size_t offsets[16];
	struct readout o;

	UNUSED(state);
	frame_offsets(&b, offsets, 16);
	other = spliced(&b, offsets[4], b.n, NULL, 0);
	o = read_bytes(&other);
	assert_int_equal(o.nproblems, 1);
	assert_false(o.lost || o.clean);
	assert_non_null(strstr(o.text, "seek table is missing"));
	bytes_free(&other);

	other = spliced(&b, b.n, b.n, b.mem, b.n); /* cat a.cwc a.cwc */
	o = read_bytes(&other);
	assert_int_equal(o.events, 10);
	assert_true(o.fatal);
	assert_non_null(strstr(o.text, "another capture begins"));
	bytes_free(&other);

	other = spliced(&b, offsets[1], b.n, NULL, 0);
	o = read_bytes(&other);
	assert_non_null(strstr(o.text, "holds no records"));
	bytes_free(&other);
	bytes_free(&b);
}

/* ---- hand-made frames -------------------------------------------------------------------------
 */

static void check_one_chunk(const struct bytes *records, uint32_t n, size_t good, const char *text)
{
	struct bytes b = one_chunk(records, n);
	struct readout o = read_bytes(&b);

	assert_int_equal(o.records, good + 1);
	assert_true(o.lost);
	assert_non_null(strstr(o.text, text));
	bytes_free(&b);
}

static void broken_records(void **state)
{
	struct cw_probe_entry e = entry_at(9, 7, 1);
	struct bytes good = {0}, bad = {0};
	struct cw_chunk c;

	UNUSED(state);
	make_chunk(&c, 1, 0);
	put_record(&good, &e.h);

	for (int i = 0; i < 5; i++) {
		static const char *const said[] = {"impossible size", "runs past",
						   "shorter than its type", "chunk record inside",
						   "is missing"};

		bad.n = 0;
		bytes_put(&bad, good.mem, good.n);
		e.h.size = i == 0 ? 8 : i == 1 ? 4000 : i == 2 ? 32 : sizeof(e);
		if (i < 3)
			bytes_put(&bad, &e, i == 2 ? 32 : sizeof(e));
		else if (i == 3)
			put_record(&bad, &c.h);
		check_one_chunk(&bad, 2, 1, said[i]);
	}
	bytes_free(&good);
	bytes_free(&bad);
}

static void frames_without_a_chunk(void **state)
{
	struct cw_probe_entry e = entry_at(9, 7, 1);
	struct bytes content = {0}, b = {0};
	struct cw_chunk c;
	struct readout o;

	UNUSED(state);
	put_record(&content, &e.h);
	put_header(&b);
	put_frame(&b, &content); /* no chunk record first */
	content.n = 0;
	make_chunk(&c, 0, 0);
	put_record(&content, &c.h);
	put_frame(&b, &content);
	o = read_bytes(&b);
	assert_int_equal(o.records, 1);
	assert_non_null(strstr(o.text, "does not begin with a chunk record"));
	bytes_free(&content);
	bytes_free(&b);
}

/* 9 MiB of zeros compress to almost nothing: such a frame is refused by what it claims. */
static void oversized_frame(void **state)
{
	struct bytes content = {0}, b = {0};
	struct cw_chunk c;
	struct readout o;

	UNUSED(state);
	make_chunk(&c, 0, 0);
	put_record(&content, &c.h);
	content.mem = realloc(content.mem, CW_MAX_FRAME + 8);
	memset(content.mem + content.n, 0, CW_MAX_FRAME + 8 - content.n);
	content.n = content.room = CW_MAX_FRAME + 8;
	put_header(&b);
	put_frame(&b, &content);
	o = read_bytes(&b);
	assert_int_equal(o.records, 0);
	assert_non_null(strstr(o.text, "claims to hold more"));
	bytes_free(&content);
	bytes_free(&b);
}

/* Thousands of good-looking frame heads: reading gives up rather than trying them for hours. */
static void no_hang(void **state)
{
	struct bytes bomb = {0}, content = {0}, b = {0};
	struct readout o;

	UNUSED(state);
	content.mem = calloc(1, CW_MAX_FRAME);
	content.n = content.room = CW_MAX_FRAME;
	put_frame(&bomb, &content); /* decodes to 8 MiB that begin with no chunk record */
	put_header(&b);
	for (int i = 0; i < 4000; i++)
		bytes_put(&b, bomb.mem, bomb.n);
	o = read_bytes(&b);
	assert_int_equal(o.records, 0);
	assert_true(o.fatal);
	assert_non_null(strstr(o.text, "too much of the file is damaged"));
	bytes_free(&bomb);
	bytes_free(&content);
	bytes_free(&b);
}

static void many_problems(void **state)
{
	struct bytes content = {0}, b = {0};
	struct readout o;
	struct cw_chunk c;

	UNUSED(state);
	put_header(&b);
	for (int i = 0; i < 3000; i++) {
		content.n = 0;
		make_chunk(&c, 2 * i + 1, 0);
		put_record(&content, &c.h);
		put_frame(&b, &content);
	}
	o = read_bytes(&b);
	assert_int_equal(o.records, 3000);
	assert_int_equal(o.nproblems, 1000);
	bytes_free(&content);
	bytes_free(&b);
}

/* A letter changed in the header: its descriptions are not believed, the records are read. */
static void damaged_header(void **state)
{
	struct bytes b = simple_capture(2, 5, true);
	struct readout whole = read_bytes(&b), o;
	uint8_t *name = memmem(b.mem, b.n, "probe_id:u32", 12);

	UNUSED(state);
	assert_non_null(name);
	name[0] = 'q';
	o = read_bytes(&b);
	assert_int_equal(o.events, 10);
	assert_int_equal(o.sum, whole.sum);
	assert_false(o.lost);
	assert_non_null(strstr(o.text, "header's checksum"));
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_recorder), cmocka_unit_test(damaged_frame),
		cmocka_unit_test(large_file),      cmocka_unit_test(missing_chunks),
		cmocka_unit_test(inserted_bytes),  cmocka_unit_test(missing_table_and_more),
		cmocka_unit_test(broken_records),  cmocka_unit_test(frames_without_a_chunk),
		cmocka_unit_test(oversized_frame), cmocka_unit_test(no_hang),
		cmocka_unit_test(many_problems),   cmocka_unit_test(damaged_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
