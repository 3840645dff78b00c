/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/losses.o */
/*
 * What the BPF programs and the kernel count, turned into lost and counter records: by kind, CPU
 * and range of time, each loss once.
 */
#include <time.h>
#include "../../record/losses.h"
#include "recorded_fixture.h"

#define CPUS 2

/* What would be counted in the kernel. */
static struct cw_count counts[CW_KINDS][CPUS];
static uint64_t missed[CW_KINDS];
static uint32_t generation;
static struct cw_losses *l;

unsigned int cw_probes_cpus(const struct cw_probes *pr)
{
	(void)pr;
	return CPUS;
}

int cw_probes_counts(const struct cw_probes *pr, uint32_t kind, struct cw_count *percpu)
{
	(void)pr;
	memcpy(percpu, counts[kind], sizeof(counts[kind]));
	return 0;
}

uint32_t cw_probes_next_loss_gen(struct cw_probes *pr)
{
	(void)pr;
	return generation++;
}

uint64_t cw_probes_missed(const struct cw_probes *pr, uint32_t kind)
{
	(void)pr;
	return missed[kind];
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void start(void)
{
	memset(counts, 0, sizeof(counts));
	memset(missed, 0, sizeof(missed));
	generation = 1;
	begin();
	l = cw_losses_new(NULL, writer);
	assert_non_null(l);
}

static void stop(void)
{
	cw_losses_free(l);
	end();
}

/* As the BPF programs do it: n records found no room, the first and the last at these times. */
static void lose(uint32_t kind, uint32_t cpu, uint64_t n, uint64_t first, uint64_t last)
{
	struct cw_count *c = &counts[kind][cpu];

	c->lost += n;
	c->window[generation & 1] = (struct cw_loss_window){first, last, generation, 0};
}

static void expect(size_t i, uint32_t kind, uint32_t cpu, uint32_t reason, uint64_t n)
{
	assert_true(i < nlosses);
	assert_int_equal(losses[i].kind, kind);
	assert_int_equal(losses[i].h.cpu, cpu);
	assert_int_equal(losses[i].reason, reason);
	assert_int_equal(losses[i].count, n);
}

static void expect_range(size_t i, uint64_t from, uint64_t to)
{
	assert_int_equal(losses[i].h.ts, from);
	assert_int_equal(losses[i].end_ts, to);
}

/* A full ring: kinds and CPUs apart, from the first to the last loss between two polls. */
static void test_full_ring(void **state)
{
	(void)state;
	start();
	counts[CW_PROBE_ENTRY][1].emitted = 100;
	lose(CW_PROBE_ENTRY, 1, 5, 1000, 2000);
	lose(CW_SCHED_SWITCH, 0, 7, 1500, 1700);
	assert_int_equal(cw_losses_poll(l), 0);
	assert_int_equal(cw_losses_poll(l), 0); /* nothing new */
	lose(CW_PROBE_ENTRY, 1, 1, 9000, 9000);
	assert_int_equal(cw_losses_poll(l), 0);
	assert_int_equal(cw_losses_lost(l, CW_PROBE_ENTRY), 6);
	assert_int_equal(cw_losses_emitted(l, CW_PROBE_ENTRY), 100);
	assert_int_equal(cw_losses_finish(l), 0);
	stop();
	assert_int_equal(nlosses, 3);
	expect(0, CW_PROBE_ENTRY, 1, CW_LOST_RING, 5);
	expect_range(0, 1000, 2000);
	expect(1, CW_SCHED_SWITCH, 0, CW_LOST_RING, 7);
	expect_range(1, 1500, 1700);
	expect(2, CW_PROBE_ENTRY, 1, CW_LOST_RING, 1);
	expect_range(2, 9000, 9000);
}

/* A program that ran while a generation ended has counted, but not said when: since the last poll.
 */
static void test_range_that_nobody_wrote(void **state)
{
	uint64_t from, to;

	(void)state;
	start();
	from = now();
	assert_int_equal(cw_losses_poll(l), 0);
	to = now();
	counts[CW_SCHED_WAKING][0].lost = 3;
	assert_int_equal(cw_losses_poll(l), 0);
	stop();
	assert_int_equal(nlosses, 1);
	expect(0, CW_SCHED_WAKING, 0, CW_LOST_RING, 3);
	assert_true(losses[0].h.ts >= from && losses[0].h.ts <= to && losses[0].end_ts >= to);
}

/* Programs that the kernel did not run, because the same one was running: on a CPU that it does not
 * say, since the last poll. */
static void test_missed(void **state)
{
	uint64_t from, to;

	(void)state;
	start();
	from = now();
	assert_int_equal(cw_losses_poll(l), 0);
	to = now();
	missed[CW_SCHED_WAKING] = 4;
	missed[CW_PROBE_ENTRY] = 1;
	lose(CW_PROBE_ENTRY, 0, 2, to, to);
	assert_int_equal(cw_losses_poll(l), 0);
	assert_int_equal(cw_losses_poll(l), 0); /* nothing new */
	missed[CW_SCHED_WAKING] = 6;
	assert_int_equal(cw_losses_finish(l), 0);
	assert_int_equal(cw_losses_missed(l, CW_SCHED_WAKING), 6);
	assert_int_equal(cw_losses_missed(l, CW_PROBE_ENTRY), 1);
	assert_int_equal(cw_losses_lost(l, CW_PROBE_ENTRY), 2); /* those that had run */
	stop();
	assert_int_equal(nlosses, 4);
	expect(0, CW_PROBE_ENTRY, 0, CW_LOST_RING, 2);
	expect(1, CW_PROBE_ENTRY, CW_CPU_NONE, CW_LOST_MISSED, 1);
	expect(2, CW_SCHED_WAKING, CW_CPU_NONE, CW_LOST_MISSED, 4);
	assert_true(losses[2].h.ts >= from && losses[2].h.ts <= to && losses[2].end_ts >= to);
	expect(3, CW_SCHED_WAKING, CW_CPU_NONE, CW_LOST_MISSED, 2);
	assert_true(losses[3].h.ts >= losses[2].end_ts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_range_that_nobody_wrote),
		cmocka_unit_test(test_missed),
	};

	return cmocka_run_group_tests(tests, folder_new, recorded_teardown);
}
