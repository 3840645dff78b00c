/* SPDX-License-Identifier: GPL-2.0-only */
/* What the writer puts into a file, checked byte by byte and without the reader. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "capture_fixture.h"

struct frame {
	size_t offset, stored, size;
	uint8_t *mem; /* NULL for a skippable frame */
};

/* Split a file into its frames with nothing but libzstd. */
static size_t split(const struct bytes *b, struct frame *frames, size_t room)
{
	size_t at = 0, n = 0;

	while (at < b->n) {
		struct frame *f = &frames[n++];

		assert_true(n <= room);
		f->offset = at;
		f->stored = ZSTD_findFrameCompressedSize(b->mem + at, b->n - at);
		assert_false(ZSTD_isError(f->stored));
		f->mem = NULL;
		f->size = 0;
		if (cw_get32(b->mem + at) == CW_ZSTD_MAGIC) {
			f->size = ZSTD_getFrameContentSize(b->mem + at, f->stored);
			assert_true(f->size <= CW_FRAME_BYTES + CW_MAX_RECORD);
			assert_true(b->mem[at + 4] & 4); /* a checksum */
			f->mem = malloc(f->size);
			assert_int_equal(ZSTD_decompress(f->mem, f->size, b->mem + at, f->stored),
					 f->size);
		}
		at += f->stored;
	}
	return n;
}

static void release(struct frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(frames[i].mem);
}

static const struct cw_rec *record_in(const struct frame *f, unsigned index)
{
	const uint8_t *p = f->mem;

	while (index--)
		p += cw_rec_stride((const struct cw_rec *)p);
	assert_true(p < f->mem + f->size);
	return (const struct cw_rec *)p;
}

static void header_and_chunk(void **state)
{
	struct bytes b = simple_capture(2, 3, true);
	struct frame f[8];
	size_t n = split(&b, f, 8);
	const struct cw_chunk *c;
	uint32_t sum;

	UNUSED(state);
	assert_int_equal(n, 5); /* header, two chunks, the end record's, the seek table */
	assert_int_equal(cw_get32(b.mem), CW_HEADER_FRAME_MAGIC);
	assert_memory_equal(b.mem + 8, "CWCAPTUR", 8);
	assert_int_equal(cw_get32(b.mem + 16), CW_FORMAT_VERSION);
	assert_int_equal(cw_checksum(b.mem + 24, f[0].stored - 24, &sum), 0);
	assert_int_equal(cw_get32(b.mem + 20), sum);
	assert_memory_equal(b.mem + 24 + 16, "format_version=1", 16);
	c = (const struct cw_chunk *)f[2].mem;
	assert_int_equal(c->h.type, CW_CHUNK);
	assert_int_equal(c->h.size, sizeof(*c));
	assert_int_equal(c->seq, 1);
	assert_int_equal(c->records, 3);
	assert_int_equal(c->min_ts, 4000);
	assert_int_equal(c->max_ts, 6000);
	assert_true(c->mono_ns && c->wall_ns);
	assert_int_equal(record_in(&f[2], 3)->ts, 6000);
	c = (const struct cw_chunk *)f[3].mem; /* an end record is no event */
	assert_int_equal(c->min_ts, 0);
	assert_int_equal(c->max_ts, 0);
	release(f, n);
	bytes_free(&b);
}

static void seek_table(void **state)
{
	struct bytes b = simple_capture(5, 3, true), unclean = simple_capture(5, 3, false);
	struct frame f[16], g[16];
	size_t n = split(&b, f, 16), m = split(&unclean, g, 16);
	const uint8_t *p = b.mem + f[n - 1].offset;

	UNUSED(state);
	assert_int_equal(m, 6);
	assert_int_equal(n, 8);
	assert_int_equal(cw_get32(p), CW_SEEK_FRAME_MAGIC);
	assert_int_equal(cw_get32(p + 4), 8 * (n - 1) + CW_SEEK_FOOTER_SIZE);
	for (size_t i = 0; i < n - 1; i++) {
		assert_int_equal(cw_get32(p + 8 + 8 * i), f[i].stored);
		assert_int_equal(cw_get32(p + 12 + 8 * i), f[i].size);
	}
	p = b.mem + b.n - CW_SEEK_FOOTER_SIZE;
	assert_int_equal(cw_get32(p), n - 1);
	assert_int_equal(p[4], 0);
	assert_int_equal(cw_get32(p + 5), CW_SEEK_FOOTER_MAGIC);
	release(f, n);
	release(g, m);
	bytes_free(&b);
	bytes_free(&unclean);
}

static void frames_close_at_1_mib(void **state)
{
	int fd = memory_file();
	unsigned total = 30000, seen = 0;
	struct cw_writer_stats st;
	struct cw_writer *w;
	struct frame f[16];
	struct bytes b;
	size_t n;

	UNUSED(state);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	for (unsigned i = 0; i < total; i++) {
		struct cw_probe_entry e = entry_at(i + 1, 7, i);

		assert_int_equal(cw_writer_append(w, &e.h), 0);
	}
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_get_stats(w, &st);
	assert_int_equal(st.records, total);
	assert_int_equal(st.payload_bytes, 0);
	assert_int_equal(st.epoch_records_bytes, total * sizeof(struct cw_probe_entry));
	b = finish(w, fd, true);
	assert_int_equal(st.bytes, b.n);
	n = split(&b, f, 16);
	assert_int_equal(st.frames, n - 2);
	for (size_t i = 1; i < n - 1; i++) {
		assert_int_equal(((const struct cw_chunk *)f[i].mem)->seq, i - 1);
		seen += ((const struct cw_chunk *)f[i].mem)->records;
		if (i < n - 2)
			assert_true(f[i].size > CW_FRAME_BYTES - 200);
	}
	assert_int_equal(seen, total);
	release(f, n);
	bytes_free(&b);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void frames_close_after_100_ms(void **state)
{
	struct cw_probe_entry e = entry_at(5, 7, 1);
	struct cw_writer_stats st;
	struct cw_writer *w;
	uint64_t before;
	int fd = memory_file();
	struct bytes b;

	UNUSED(state);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	before = clock_ns();
	assert_int_equal(cw_writer_append(w, &e.h), 0);
	assert_int_equal(cw_writer_tick(w, before + 99000000), 0);
	usleep(20000);
	cw_writer_get_stats(w, &st);
	assert_int_equal(st.frames, 0);
	assert_int_equal(cw_writer_tick(w, clock_ns() + 100000000), 0);
	for (int i = 0; i < 500 && !st.frames; i++) {
		usleep(10000);
		cw_writer_get_stats(w, &st);
	}
	assert_int_equal(st.frames, 1);
	assert_int_equal(cw_writer_tick(w, UINT64_MAX), 0); /* nothing is open: no empty frame */
	b = finish(w, fd, false);
	assert_int_equal(b.n, st.bytes);
	bytes_free(&b);
}

static void records_are_checked_and_padded(void **state)
{
	struct cw_rec small = {.type = CW_EXIT, .size = 15}, large = {.size = CW_MAX_RECORD + 1};
	static char tail[CW_MAX_RECORD];
	struct cw_end end;
	struct cw_writer *w;
	struct frame f[8];
	struct bytes b;
	int fd = memory_file();
	size_t n;

	UNUSED(state);
	make_end(&end);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	assert_int_equal(cw_writer_append(w, &small), -EINVAL);
	assert_int_equal(cw_writer_append(w, &large), -EINVAL);
	assert_int_equal(cw_writer_append_tail(w, &end.h, sizeof(end), tail, sizeof(tail)), -E2BIG);
	assert_int_equal(cw_writer_append_tail(w, &end.h, sizeof(end), "abc", 3), 0);
	assert_int_equal(end.h.size, sizeof(end) + 3);
	assert_int_equal(
		cw_writer_append_tail(w, &end.h, sizeof(end), tail, CW_MAX_RECORD - sizeof(end)),
		0);
	b = finish(w, fd, true);
	n = split(&b, f, 8);
	assert_int_equal(((const struct cw_chunk *)f[1].mem)->records, 2);
	assert_int_equal(record_in(&f[1], 1)->size, sizeof(end) + 3);
	assert_memory_equal((const char *)record_in(&f[1], 1) + sizeof(end), "abc\0\0\0\0\0", 8);
	assert_int_equal(record_in(&f[1], 2)->size, CW_MAX_RECORD);
	release(f, n);
	bytes_free(&b);
}

static void check_payload(bool in_parts)
{
	size_t size = 2500000, at = 0;
	uint8_t *data = malloc(size);
	struct cw_writer_stats st;
	struct cw_writer *w;
	struct frame f[16];
	struct bytes b;
	int fd = memory_file();
	size_t n;

	for (size_t i = 0; i < size; i++)
		data[i] = i * 2654435761u >> 20;
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	if (in_parts) {
		assert_int_equal(cw_writer_blob_part(w, 3, CW_BLOB_ELF, 0, size, data, 1000000), 0);
		assert_int_equal(cw_writer_blob_part(w, 3, CW_BLOB_ELF, 1000000, size,
						     data + 1000000, size - 1000000),
				 0);
	} else {
		assert_int_equal(cw_writer_blob(w, 3, CW_BLOB_ELF, data, size), 0);
	}
	assert_int_equal(cw_writer_blob(w, 4, CW_BLOB_VDSO, data, 0), 0);
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_get_stats(w, &st);
	assert_int_equal(st.records, 0);
	b = finish(w, fd, true);
	n = split(&b, f, 16);
	assert_int_equal(n, 2 + 3 + 1);
	assert_int_equal(st.payload_bytes, f[1].stored + f[2].stored + f[3].stored + f[4].stored);
	for (size_t i = 1; i <= 3; i++) {
		const struct cw_chunk *c = (const struct cw_chunk *)f[i].mem;

		for (unsigned k = 1; k <= c->records; k++) {
			const struct cw_blob *p = (const struct cw_blob *)record_in(&f[i], k);
			size_t len = p->h.size - sizeof(*p);

			assert_int_equal(p->h.type, CW_BLOB);
			assert_int_equal(p->module_id, 3);
			assert_int_equal(p->offset, at);
			assert_int_equal(p->total, size);
			assert_memory_equal(p->data, data + at, len);
			at += len;
		}
	}
	assert_int_equal(at, size);
	assert_int_equal(record_in(&f[4], 1)->size, sizeof(struct cw_blob));
	release(f, n);
	bytes_free(&b);
	free(data);
}

static void payloads(void **state)
{
	UNUSED(state);
	check_payload(false);
	check_payload(true);
}

static void losses_and_epochs(void **state)
{
	struct cw_probe_entry e = entry_at(5, 7, 1);
	const struct cw_chunk *c;
	struct cw_writer_stats st;
	struct cw_writer *w;
	struct frame f[8];
	struct bytes b;
	int fd = memory_file();
	size_t n;

	UNUSED(state);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	assert_int_equal(cw_writer_append(w, &e.h), 0);
	cw_writer_lost(w, CW_PROBE_ENTRY, 1, 5);
	cw_writer_lost(w, CW_PROBE_ENTRY, 1, 2);
	cw_writer_lost(w, CW_SCHED_SWITCH, 0, 1);
	cw_writer_new_epoch(w);
	cw_writer_get_stats(w, &st);
	assert_int_equal(st.epoch_records_bytes, 0);
	cw_writer_set_clock(w, 111, 222);
	assert_int_equal(cw_writer_append(w, &e.h), 0);
	b = finish(w, fd, true);
	n = split(&b, f, 8);
	c = (const struct cw_chunk *)f[1].mem;
	assert_int_equal(c->h.size, sizeof(*c) + 32);
	assert_int_equal(c->lost[0], (uint64_t)CW_PROBE_ENTRY << 32 | 1);
	assert_int_equal(c->lost[1], 7);
	assert_int_equal(c->lost[2], (uint64_t)CW_SCHED_SWITCH << 32);
	assert_int_equal(c->lost[3], 1);
	assert_int_equal(c->epoch, 0);
	c = (const struct cw_chunk *)f[2].mem;
	assert_int_equal(c->epoch, 1);
	assert_int_equal(c->mono_ns, 111);
	assert_int_equal(c->wall_ns, 222);
	release(f, n);
	bytes_free(&b);
}

/* More pairs of kind and CPU than a record can hold: the sum stays right. */
static void many_losses(void **state)
{
	struct cw_probe_entry e = entry_at(5, 7, 1);
	const struct cw_chunk *c;
	struct cw_writer *w;
	struct frame f[8];
	struct bytes b;
	uint64_t sum = 0;
	int fd = memory_file();
	size_t n;

	UNUSED(state);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	assert_int_equal(cw_writer_append(w, &e.h), 0);
	for (uint32_t cpu = 0; cpu < 5000; cpu++)
		cw_writer_lost(w, CW_PROBE_ENTRY, cpu, 1);
	b = finish(w, fd, true);
	n = split(&b, f, 8);
	c = (const struct cw_chunk *)f[1].mem;
	for (size_t i = 1; i < (c->h.size - sizeof(*c)) / 8; i += 2)
		sum += c->lost[i];
	assert_int_equal(sum, 5000);
	release(f, n);
	bytes_free(&b);
}

/* ---- errors -----------------------------------------------------------------------------------
 */

static int append_until_error(struct cw_writer *w)
{
	int err = 0;

	for (unsigned i = 0; i < 1000000 && !err; i++) {
		struct cw_probe_entry e = entry_at(i + 1, 7, i * 0x9e3779b97f4a7c15ull);

		err = cw_writer_append(w, &e.h);
	}
	return err;
}

static void full_disk(void **state)
{
	struct cw_writer *w;
	int fd = open("/dev/full", O_WRONLY);

	UNUSED(state);
	assert_true(fd >= 0);
	assert_int_equal(cw_writer_new(&w, fd, NULL), -ENOSPC);
	assert_null(w);
	close(fd);
}

/* A file that may not grow any further: what was written stays, the error stays. */
static void full_later(void **state)
{
	struct cw_writer *w;
	struct readout o;
	int fd = memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	UNUSED(state);
	assert_int_equal(ftruncate(fd, 600000), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(cw_writer_new(&w, fd, fixture_keys), 0);
	assert_true(append_until_error(w) < 0);
	assert_int_equal(cw_writer_error(w), append_until_error(w));
	assert_int_equal(cw_writer_tick(w, UINT64_MAX), cw_writer_error(w));
	assert_int_equal(cw_writer_blob(w, 1, CW_BLOB_ELF, "x", 1), cw_writer_error(w));
	assert_int_equal(cw_writer_finish(w, true), cw_writer_error(w));
	cw_writer_free(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	o = read_fd(fd);
	assert_true(o.events > 10000);
	assert_true(o.lost);
	close(fd);
}

static void closed_pipe(void **state)
{
	struct cw_writer *w;
	int p[2];

	UNUSED(state);
	signal(SIGPIPE, SIG_DFL); /* no signal must arrive, whatever its handler is */
	assert_int_equal(pipe(p), 0);
	assert_int_equal(cw_writer_new(&w, p[1], NULL), 0);
	close(p[0]);
	assert_int_equal(append_until_error(w), -EPIPE);
	assert_int_equal(cw_writer_finish(w, true), -EPIPE);
	cw_writer_free(w);
	assert_int_equal(cw_writer_new(&w, p[1], NULL), -EPIPE);
	close(p[1]);
}

struct drain {
	int fd;
	struct bytes got;
};

static void *drain_thread(void *arg)
{
	struct drain *d = arg;
	uint8_t buf[777];
	ssize_t n;

	while ((n = read(d->fd, buf, sizeof(buf))) > 0)
		bytes_put(&d->got, buf, n);
	return NULL;
}

/* A pipe that takes little at a time, and refuses to block, gets all of it in order. */
static void slow_pipe(void **state)
{
	struct drain d = {0};
	struct cw_writer *w;
	pthread_t thread;
	struct frame f[32];
	int p[2];
	size_t n;

	UNUSED(state);
	assert_int_equal(pipe(p), 0);
	fcntl(p[1], F_SETPIPE_SZ, 4096);
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	d.fd = p[0];
	pthread_create(&thread, NULL, drain_thread, &d);
	assert_int_equal(cw_writer_new(&w, p[1], NULL), 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct cw_probe_entry e = entry_at(i + 1, 7, i);

		assert_int_equal(cw_writer_append(w, &e.h), 0);
	}
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_free(w);
	close(p[1]);
	pthread_join(thread, NULL);
	n = split(&d.got, f, 32);
	assert_true(n > 3);
	release(f, n);
	bytes_free(&d.got);
	close(p[0]);
}

static void nothing_after_finish(void **state)
{
	struct cw_probe_entry e = entry_at(5, 7, 1);
	struct cw_writer *w;
	int fd = memory_file();

	UNUSED(state);
	assert_int_equal(cw_writer_new(&w, fd, NULL), 0);
	assert_int_equal(cw_writer_finish(w, true), 0);
	assert_int_equal(cw_writer_append(w, &e.h), -ESHUTDOWN);
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_free(w);
	cw_writer_free(NULL);
	close(fd);
}

static void capture_ids(void **state)
{
	static const struct cw_meta_kv own[] = {{"capture_id", "abc"}, {NULL, NULL}};
	uint8_t *a, *b, *c;
	size_t na, nb, nc;

	UNUSED(state);
	assert_int_equal(cw_header_make(NULL, &a, &na), 0);
	assert_int_equal(cw_header_make(NULL, &b, &nb), 0);
	assert_int_equal(cw_header_make(own, &c, &nc), 0);
	assert_int_equal(na, nb);
	assert_memory_not_equal(a, b, na);
	assert_non_null(memmem(c, nc, "capture_id=abc", 14));
	assert_null(memmem((char *)memmem(c, nc, "capture_id=", 11) + 11, 200, "capture_id=", 11));
	free(a);
	free(b);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_and_chunk),
		cmocka_unit_test(seek_table),
		cmocka_unit_test(frames_close_at_1_mib),
		cmocka_unit_test(frames_close_after_100_ms),
		cmocka_unit_test(records_are_checked_and_padded),
		cmocka_unit_test(payloads),
		cmocka_unit_test(losses_and_epochs),
		cmocka_unit_test(many_losses),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(full_later),
		cmocka_unit_test(closed_pipe),
		cmocka_unit_test(slow_pipe),
		cmocka_unit_test(nothing_after_finish),
		cmocka_unit_test(capture_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
