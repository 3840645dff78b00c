/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/proctab.o record/idmap.o */
/* The recorder's tables of processes and of what is mapped into each, with made-up facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "../../record/idmap.h"
#include "../../record/proctab.h"

static void test_idmap(void **state)
{
	struct cw_idmap m = {0};

	(void)state;
	assert_int_equal(cw_idmap_get(&m, 5), 0);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(cw_idmap_put(&m, i * 4096, (uint32_t)i + 1), 0);
	cw_idmap_put(&m, 4096, 77);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(cw_idmap_get(&m, i * 4096), i == 1 ? 77 : i + 1);
	assert_int_equal(cw_idmap_get(&m, 1), 0);
	assert_int_equal(m.count, 5000);
	cw_idmap_clear(&m);
}

static int add(struct cw_proc *p, uint64_t start, uint64_t stop, uint32_t module)
{
	struct cw_map_entry e = {.start = start, .end = stop, .pgoff = start, .module_id = module};

	return cw_proc_add_map(p, &e);
}

static uint32_t at(const struct cw_proc *p, uint64_t addr)
{
	const struct cw_map_entry *e = cw_proc_find_map(p, addr);

	/* Whatever was cut off, an address stays at its place in the file. */
	if (e)
		assert_int_equal(e->pgoff, e->start);
	return e ? e->module_id : 0;
}

static void test_maps(void **state)
{
	struct cw_proctab *t = cw_proctab_new();
	struct cw_proc *p = cw_proctab_get(t, 10, true);

	(void)state;
	assert_int_equal(add(p, 100, 200, 1), 1);
	assert_int_equal(add(p, 100, 200, 1), 0);
	p->maps[0].ts = 9; /* seen late: the time of the event is news */
	assert_int_equal(add(p, 100, 200, 1), 1);
	assert_int_equal(p->maps[0].ts, 0);
	assert_int_equal(add(p, 300, 400, 2), 1);
	assert_int_equal(at(p, 99), 0);
	assert_int_equal(at(p, 100), 1);
	assert_int_equal(at(p, 199), 1);
	assert_int_equal(at(p, 200), 0);
	assert_int_equal(add(p, 140, 160, 3), 1); /* in the middle */
	assert_int_equal(at(p, 139), 1);
	assert_int_equal(at(p, 140), 3);
	assert_int_equal(at(p, 160), 1);
	assert_int_equal(p->nmaps, 4);
	assert_int_equal(add(p, 190, 310, 4), 1); /* over two edges */
	assert_int_equal(at(p, 189), 1);
	assert_int_equal(at(p, 250), 4);
	assert_int_equal(at(p, 310), 2);
	assert_int_equal(add(p, 0, 1000, 5), 1); /* over all */
	assert_int_equal(p->nmaps, 1);
	assert_int_equal(add(p, 0, 10, 6), 1); /* the start, the end, the same range */
	assert_int_equal(add(p, 900, 1000, 7), 1);
	assert_int_equal(add(p, 900, 1000, 8), 1);
	assert_int_equal(at(p, 5), 6);
	assert_int_equal(at(p, 10), 5);
	assert_int_equal(at(p, 999), 8);
	assert_int_equal(p->nmaps, 3);
	p->generation++;
	add(p, 900, 1000, 8);
	cw_proc_drop_old_maps(p);
	assert_int_equal(p->nmaps, 1);
	assert_int_equal(add(p, 5, 5, 9), 0); /* empty */
	cw_proctab_set_rec_pid(t, p, 3);
	assert_ptr_equal(cw_proctab_by_rec_pid(t, 3), p);
	cw_proctab_set_rec_pid(t, p, 4);
	assert_null(cw_proctab_by_rec_pid(t, 3));
	cw_proctab_drop(t, 10);
	assert_null(cw_proctab_by_rec_pid(t, 4));
	assert_null(cw_proctab_get(t, 10, false));
	cw_proctab_free(t);
}

/* Against a plain array of addresses. */
static void test_maps_random(void **state)
{
	static uint32_t model[512];
	struct cw_proctab *t = cw_proctab_new();
	struct cw_proc *p = cw_proctab_get(t, 10, true);

	(void)state;
	srandom(1);
	for (uint32_t round = 1; round < 3000; round++) {
		uint64_t start = (uint64_t)random() % 500;
		uint64_t stop = start + 1 + (uint64_t)random() % (512 - start > 60 ? 60 : 12);

		assert_true(add(p, start, stop, round) == 1);
		for (uint64_t a = start; a < stop; a++)
			model[a] = round;
		for (uint64_t a = 0; a < 512; a++)
			assert_int_equal(at(p, a), model[a]);
	}
	cw_proctab_free(t);
}

static int add_at(struct cw_proc *p, uint64_t start, uint64_t stop, uint32_t module, uint64_t ts)
{
	struct cw_map_entry e = {
		.start = start, .end = stop, .pgoff = start, .module_id = module, .ts = ts};

	return cw_proc_add_map(p, &e);
}

/* What was mapped before something else is news, but is there no more. */
static void test_maps_late(void **state)
{
	struct cw_proctab *t = cw_proctab_new();
	struct cw_proc *p = cw_proctab_get(t, 10, true);

	(void)state;
	assert_int_equal(add_at(p, 100, 200, 1, 5), 1);
	assert_int_equal(add_at(p, 50, 150, 2, 3), 1);
	assert_int_equal(add_at(p, 150, 250, 2, 3), 1);
	assert_int_equal(add_at(p, 0, 500, 2, 3), 1);
	assert_int_equal(p->nmaps, 1);
	assert_int_equal(at(p, 120), 1);
	assert_int_equal(add_at(p, 0, 100, 3, 3), 1); /* beside it */
	assert_int_equal(add_at(p, 200, 250, 4, 3), 1);
	assert_int_equal(p->nmaps, 3);
	assert_int_equal(add_at(p, 50, 150, 2, 7), 1);
	assert_int_equal(at(p, 49), 3);
	assert_int_equal(at(p, 120), 2);
	assert_int_equal(at(p, 150), 1);
	cw_proctab_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_random),
		cmocka_unit_test(test_maps_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
