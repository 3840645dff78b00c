/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/rotate.o */
/* When a file that is left gets nothing more. */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <unistd.h>
#include "../../record/rotate.h"

static unsigned finished, to_old, to_new;
static int null_fd;

int cw_segments_next(struct cw_segments *s, char *err)
{
	(void)s, (void)err;
	return 0;
}

int cw_segments_finish_old(struct cw_segments *s, char *err)
{
	(void)s, (void)err;
	finished++;
	return 0;
}

/* Not asked for. */
int cw_modules_drain(struct cw_modules *m)
{
	(void)m;
	return 0;
}

int cw_modules_embed(struct cw_modules *m)
{
	(void)m;
	return 0;
}

int cw_modules_restart(struct cw_modules *m, struct cw_writer *w)
{
	(void)m, (void)w;
	return 0;
}

int cw_points_write(struct cw_points *p, struct cw_writer *w, struct cw_modules *m, bool repeated)
{
	(void)p, (void)w, (void)m, (void)repeated;
	return 0;
}

int cw_drain_write_plan(struct cw_writer *w, const char *yaml, bool repeated)
{
	(void)w, (void)yaml, (void)repeated;
	return 0;
}

void cw_probes_next_epoch(struct cw_probes *pr)
{
	(void)pr;
}

int cw_losses_poll(struct cw_losses *l)
{
	(void)l;
	return 0;
}

int cw_losses_repeat(struct cw_losses *l)
{
	(void)l;
	return 0;
}

int cw_losses_end_file(struct cw_losses *l, struct cw_writer *old)
{
	(void)l, (void)old;
	return 0;
}

void cw_losses_next_file(struct cw_losses *l, struct cw_writer *w)
{
	(void)l, (void)w;
}

void cw_losses_wrote(struct cw_losses *l, const struct cw_rec *rec, bool old, bool present)
{
	(void)l, (void)rec;
	to_old += old;
	to_new += present;
}

static struct cw_segments segments;
static const struct cw_drain_setup setup = {.segments = &segments};

static struct cw_rotation begun(void)
{
	struct cw_rotation r = {.s = &setup};
	char err[CW_ERR];

	finished = to_old = to_new = 0;
	assert_int_equal(cw_rotate_begin(&r, err), 0);
	assert_true(r.until > r.cut);
	return r;
}

static void put(struct cw_rotation *r, uint16_t type, uint64_t ts)
{
	const struct cw_fork f = {.h = {.type = CW_FORK, .size = sizeof(f), .ts = ts}};
	const struct cw_stack st = {.h = {.type = CW_STACK, .size = sizeof(st), .ts = ts}};
	const struct cw_rec *rec = type == CW_STACK ? &st.h : &f.h;

	assert_int_equal(cw_rotate_append(r, rec), 0);
}

/* A recorder that was kept from running finds a ring full of what belongs to the file before. */
static void test_left_in_the_ring(void **state)
{
	struct cw_rotation r = begun();
	uint64_t late = r.until + 1, cut = r.cut;
	char err[CW_ERR];

	(void)state;
	put(&r, CW_FORK, cut - 100);
	assert_int_equal(cw_rotate_poll(&r, late, cut - 100, err), 0);
	put(&r, CW_FORK, cut - 50);
	assert_int_equal(cw_rotate_poll(&r, late + 1, cut + 50, err), 0);
	put(&r, CW_FORK, cut + 50);
	assert_int_equal(finished, 0);
	assert_int_equal(to_old, 2);
	assert_int_equal(to_new, 1);
	assert_int_equal(cw_rotate_poll(&r, late + 2, late, err), 0);
	assert_int_equal(finished, 1);
	put(&r, CW_FORK, late);
	assert_int_equal(to_old, 2);
	assert_int_equal(to_new, 2);
}

/* With an empty ring only time is waited for, and at the end not even that. */
static void test_empty_ring(void **state)
{
	struct cw_rotation r = begun();
	char err[CW_ERR];

	(void)state;
	assert_int_equal(cw_rotate_poll(&r, r.until - 1, UINT64_MAX, err), 0);
	assert_int_equal(finished, 0);
	assert_int_equal(cw_rotate_poll(&r, r.until, UINT64_MAX, err), 0);
	assert_int_equal(finished, 1);
	assert_int_equal(cw_rotate_poll(&r, UINT64_MAX, UINT64_MAX, err), 0);
	assert_int_equal(finished, 1);
	r = begun();
	assert_int_equal(cw_rotate_poll(&r, UINT64_MAX, r.cut, err), 0);
	assert_int_equal(finished, 1);
}

/* References of the time between go to both files, events to one. */
static void test_both_files(void **state)
{
	struct cw_rotation r = begun();

	(void)state;
	put(&r, CW_STACK, r.cut - 1);
	put(&r, CW_STACK, r.cut + 1);
	assert_int_equal(to_old, 2);
	assert_int_equal(to_new, 2);
	put(&r, CW_STACK, r.until + 1);
	assert_int_equal(to_old, 2);
	assert_int_equal(to_new, 3);
}

static int open_files(void **state)
{
	struct cw_meta_kv kv[] = {{NULL, NULL}};

	(void)state;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return cw_writer_new(&segments.old, null_fd, kv) || cw_writer_new(&segments.w, null_fd, kv);
}

static int close_files(void **state)
{
	(void)state;
	cw_writer_free(segments.old);
	cw_writer_free(segments.w);
	return close(null_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_in_the_ring),
		cmocka_unit_test(test_empty_ring),
		cmocka_unit_test(test_both_files),
	};

	return cmocka_run_group_tests(tests, open_files, close_files);
}
