/* SPDX-License-Identifier: GPL-2.0-only */
/* A copy of a capture with more payloads: what is in it is what was in it, and the payloads. */
#include "capture_fixture.h"
#include "splice.h"

/* A payload of n bytes that differ. */
static int payload_file(size_t n, struct bytes *b)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)(i * 7 + i / 251);

		bytes_put(b, &byte, 1);
	}
	return bytes_file(b);
}

static struct bytes spliced(const struct bytes *capture, const struct cw_splice_payload *p,
			    size_t n)
{
	int in = bytes_file(capture), out = memory_file();
	char err[256];
	struct bytes b;

	assert_int_equal(cw_splice(in, out, p, n, err, sizeof(err)), 0);
	assert_string_equal(err, "");
	b = file_bytes(out);
	close(in);
	close(out);
	return b;
}

/* Payload (module, kind) as a reader puts it together; its pieces must come in order. */
static void check_payload(const struct bytes *capture, uint32_t module, uint32_t kind,
			  const struct bytes *wanted)
{
	int fd = bytes_file(capture);
	const struct cw_rec *rec;
	struct bytes got = {0};
	struct cw_reader *r;
	struct cw_pos pos;
	char err[256];

	assert_int_equal(cw_reader_open_fd(&r, fd, "copy", err, sizeof(err)), 0);
	while (cw_reader_next(r, &rec, &pos) > 0) {
		const struct cw_blob *b = (const struct cw_blob *)rec;

		if (rec->type != CW_BLOB || b->module_id != module || b->kind != kind)
			continue;
		assert_int_equal(b->offset, got.n);
		assert_int_equal(b->total, wanted->n);
		bytes_put(&got, b->data, rec->size - offsetof(struct cw_blob, data));
	}
	cw_reader_free(r);
	close(fd);
	assert_int_equal(got.n, wanted->n);
	assert_memory_equal(got.mem, wanted->mem, got.n);
	bytes_free(&got);
}

/* Copies have the records of the capture and those of the payloads, and as much wrong with them. */
static void check_copy(const struct bytes *capture)
{
	struct bytes small = {0}, large = {0}, copy, again;
	struct cw_splice_payload p[2] = {
		{.module_id = 3,
		 .kind = CW_BLOB_DEBUG,
		 .fd = payload_file(70000, &small),
		 .size = 70000,
		 .name = "small"},
		{.module_id = 4,
		 .kind = CW_BLOB_ELF,
		 .fd = payload_file(3 << 20, &large),
		 .size = 3 << 20,
		 .name = "large"},
	};
	struct readout was = read_bytes(capture), is;

	copy = spliced(capture, p, 2);
	is = read_bytes(&copy);
	assert_int_equal(is.open_error, 0);
	assert_int_equal(is.events, was.events);
	assert_int_equal(is.nproblems, was.nproblems);
	assert_int_equal(is.lost, was.lost);
	assert_int_equal(is.clean, was.clean);
	assert_int_equal(is.unknown, was.unknown);
	check_payload(&copy, 3, CW_BLOB_DEBUG, &small);
	check_payload(&copy, 4, CW_BLOB_ELF, &large);

	/* Without the payloads, every record is what it was. */
	again = spliced(capture, NULL, 0);
	is = read_bytes(&again);
	assert_int_equal(is.sum, was.sum);
	assert_int_equal(is.records, was.records);
	assert_int_equal(is.nproblems, was.nproblems);
	bytes_free(&again);
	bytes_free(&copy);
	bytes_free(&small);
	bytes_free(&large);
	close(p[0].fd);
	close(p[1].fd);
}

static void test_whole(void **state)
{
	struct bytes b = simple_capture(5, 40, true);
	struct readout was = read_bytes(&b);

	UNUSED(state);
	assert_int_equal(was.nproblems, 0);
	assert_true(was.clean);
	check_copy(&b);
	bytes_free(&b);
}

static void test_killed(void **state)
{
	struct bytes b = simple_capture(5, 40, false);

	UNUSED(state);
	check_copy(&b);
	bytes_free(&b);
}

static void test_damaged_and_cut(void **state)
{
	struct bytes b = simple_capture(6, 40, true);
	size_t at[16], n = frame_offsets(&b, at, 16);

	UNUSED(state);
	assert_true(n > 4);
	b.mem[at[2] + 20] ^= 0x55;
	assert_true(read_bytes(&b).nproblems > 0);
	check_copy(&b);
	b.n = at[4] + 11;
	assert_true(read_bytes(&b).lost);
	check_copy(&b);
	bytes_free(&b);
}

/* Frames that others put between, and records that this build does not know. */
static void test_foreign(void **state)
{
	static const uint8_t skippable[12] = {0x53, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
	struct cw_rec unknown = {.type = 77, .size = 24, .ts = 9};
	struct bytes b = {0}, content = {0};
	struct cw_chunk chunk;

	UNUSED(state);
	put_header(&b);
	bytes_put(&b, skippable, sizeof(skippable));
	bytes_put(&b, skippable, sizeof(skippable));
	make_chunk(&chunk, 0, 1);
	put_record(&content, &chunk.h);
	bytes_put(&content, &unknown, sizeof(unknown));
	bytes_put(&content, "8 bytes.", 8);
	put_frame(&b, &content);
	assert_int_equal(read_bytes(&b).unknown, 1);
	check_copy(&b);
	bytes_free(&content);
	bytes_free(&b);
}

static void test_refused(void **state)
{
	struct bytes whole = simple_capture(1, 4, true), header = {0}, p = {0};
	struct cw_splice_payload payload = {.module_id = 1,
					    .kind = CW_BLOB_ELF,
					    .fd = payload_file(100, &p),
					    .size = 200,
					    .name = "/lib/short"};
	int in = bytes_file(&whole), out = memory_file(), full = open("/dev/full", O_WRONLY);
	char err[256];

	UNUSED(state);
	assert_true(cw_splice(in, out, &payload, 1, err, sizeof(err)) < 0);
	assert_string_equal(err, "cannot read /lib/short: it became shorter");
	payload.size = 100;
	assert_int_equal(cw_splice(in, full, &payload, 1, err, sizeof(err)), -ENOSPC);
	assert_string_equal(err, "cannot write the copy: No space left on device");
	close(in);
	put_header(&header);
	in = bytes_file(&header);
	assert_true(cw_splice(in, out, &payload, 1, err, sizeof(err)) < 0);
	assert_string_equal(err, "the capture holds no records");
	close(in);
	close(out);
	close(full);
	close(payload.fd);
	bytes_free(&p);
	bytes_free(&header);
	bytes_free(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),           cmocka_unit_test(test_killed),
		cmocka_unit_test(test_damaged_and_cut), cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
