/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cut and flipped captures: records or a clear problem, never a crash, and never other records
 * without a word.
 */
#include "capture_fixture.h"
#include "random.h"

#define FLIP_ROUNDS 2000

static uint64_t seed = 20240229;

/* A cut copy gives what stands before the cut, and says that something is missing. */
static void check_cut(const struct bytes *whole, size_t at, size_t *most)
{
	struct bytes cut = {.mem = whole->mem, .n = at};
	struct readout o = read_bytes(&cut);

	if (o.open_error) {
		assert_int_equal(*most, 0);
		assert_true(o.open_error == -ENODATA || o.open_error == -EBADMSG ||
			    o.open_error == -EINVAL);
		return;
	}
	assert_int_equal(o.error, 0);
	assert_false(o.clean);
	assert_true(o.nproblems > 0);
	assert_true(o.events >= *most);
	*most = o.events;
}

static void cut_at_every_byte(void **state)
{
	struct bytes b = simple_capture(3, 4, true);
	size_t most = 0;

	UNUSED(state);
	for (size_t at = 0; at < b.n; at++)
		check_cut(&b, at, &most);
	assert_int_equal(most, 12);
	bytes_free(&b);
}

static void cut_at_every_4k(void **state)
{
	struct bytes b = simple_capture(40, 500, true);
	size_t most = 0;

	UNUSED(state);
	assert_true(b.n > 30 * 4096);
	for (size_t at = 4096; at < b.n; at += 4096)
		check_cut(&b, at, &most);
	assert_true(most > 18000);
	bytes_free(&b);
}

/* What a cut costs: everything before the frame that is cut is there. */
static void cut_costs_one_frame(void **state)
{
	struct bytes b = simple_capture(10, 20, true);
	size_t offsets[32];
	size_t n = frame_offsets(&b, offsets, 32);

	UNUSED(state);
	assert_int_equal(n, 13); /* header, ten chunks, the end record's, the table */
	for (size_t i = 1; i <= 10; i++) {
		struct bytes cut = {.mem = b.mem, .n = offsets[i + 1] - 1};
		struct readout o = read_bytes(&cut);

		assert_int_equal(o.events, 20 * (i - 1));
		assert_true(o.lost);
		assert_non_null(strstr(o.text, "middle of the frame"));
	}
	bytes_free(&b);
}

static void flip_bytes(void **state)
{
	struct bytes b = simple_capture(12, 30, true), copy = {0};
	struct readout whole = read_bytes(&b);
	size_t opened = 0, some = 0, silent = 0;

	UNUSED(state);
	assert_int_equal(whole.nproblems, 0);
	bytes_put(&copy, b.mem, b.n);
	for (int round = 0; round < FLIP_ROUNDS; round++) {
		int flips = 1 + random_next(&seed) % 4;
		struct readout o;

		memcpy(copy.mem, b.mem, b.n);
		for (int i = 0; i < flips; i++)
			copy.mem[random_next(&seed) % b.n] ^= 1 << random_next(&seed) % 8;
		o = read_bytes(&copy);
		if (o.open_error || !memcmp(copy.mem, b.mem, b.n))
			continue;
		opened++;
		some += o.events > 0;
		assert_int_equal(o.error, 0);
		/* A bit of the compressed form may mean nothing; then the checksum still matches.
		 */
		silent += o.nproblems == 0;
		if (o.records != whole.records || o.sum != whole.sum)
			assert_true(o.lost);
	}
	assert_true(opened > FLIP_ROUNDS / 2);
	assert_true(some > FLIP_ROUNDS / 2);
	assert_true(silent < FLIP_ROUNDS / 100);
	bytes_free(&copy);
	bytes_free(&b);
}

/* Whole stretches overwritten, removed or doubled. */
static void scramble(void **state)
{
	struct bytes b = simple_capture(12, 30, true);
	struct readout whole = read_bytes(&b);

	UNUSED(state);
	for (int round = 0; round < 1000; round++) {
		size_t from = random_next(&seed) % b.n, len = random_next(&seed) % 300;
		struct bytes copy = {0};
		struct readout o;

		if (from + len > b.n)
			len = b.n - from;
		bytes_put(&copy, b.mem, from);
		switch (round % 3) {
		case 0:
			for (size_t i = 0; i < len; i++)
				bytes_put(&copy, &(uint8_t){random_next(&seed)}, 1);
			break;
		case 1: /* removed */
			break;
		case 2:
			bytes_put(&copy, b.mem + from, len);
			bytes_put(&copy, b.mem + from, len);
			break;
		}
		bytes_put(&copy, b.mem + from + len, b.n - from - len);
		o = read_bytes(&copy);
		/* Where what is doubled is the table, and nothing else, nothing is wrong. */
		if (!o.open_error && len > 4 &&
		    (round % 3 != 2 || o.records != whole.records || o.sum != whole.sum))
			assert_true(o.nproblems > 0);
		bytes_free(&copy);
	}
	bytes_free(&b);
}

/* Records that are nonsense inside frames that are fine: only the reader's own checks can help. */
static void random_records(void **state)
{
	UNUSED(state);
	for (int round = 0; round < 1000; round++) {
		struct bytes content = {0}, b = {0};
		struct cw_chunk c;

		make_chunk(&c, 0, 1 + random_next(&seed) % 20);
		put_record(&content, &c.h);
		for (unsigned i = 0; i < 20; i++) {
			uint64_t words[24];
			struct cw_rec *rec = (struct cw_rec *)words;

			for (unsigned k = 0; k < 24; k++)
				words[k] = random_next(&seed);
			rec->type = random_next(&seed) % 48;
			if (random_next(&seed) % 8)
				rec->size = 16 + random_next(&seed) % 176;
			bytes_put(&content, words,
				  rec->size < sizeof(words) ? cw_rec_stride(rec) : sizeof(words));
		}
		put_header(&b);
		put_frame(&b, &content);
		assert_true(read_bytes(&b).records >= 1);
		bytes_free(&content);
		bytes_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(cut_at_every_4k),
		cmocka_unit_test(cut_costs_one_frame),
		cmocka_unit_test(flip_bytes),
		cmocka_unit_test(scramble),
		cmocka_unit_test(random_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
