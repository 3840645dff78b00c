/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attribution against a simulated machine: random schedules with preemption, migration, the waking
 * races and nested calls, records in ring order. What the analyzer makes of the records must be
 * what the machine did, to the ns. With records deleted and the losses told, nothing may be wrong
 * without a mark.
 */
#include "stream.h"

#define NTHREADS  6u
#define NCPUS     3u
#define TID(i)    (1001u + (i))
#define MAX_DEPTH 5u
#define RECORDS   40000u

enum { ONCPU, BLOCKED, RUNQ, PREEMPTED, NKINDS };

struct sim_call {
	uint64_t at[NKINDS], ts;
	unsigned number; /* slice_id */
};

struct sim_thread {
	enum { RUNS, SLEEPS, WOKEN, OUSTED } mode;
	bool early; /* woken before its switch-out came */
	uint64_t spent[NKINDS], since;
	unsigned cpu; /* runs there, or waits there */
	struct sim_call calls[MAX_DEPTH];
	unsigned depth;
};

struct sim {
	uint64_t now;
	struct sim_thread th[NTHREADS];
	int runs[NCPUS]; /* thread, or -1 */
	unsigned calls;
	struct cw_rec *recs[RECORDS];
	size_t n;
	struct {
		uint64_t ts, dur, parts[NKINDS];
		bool returned;
	} * truth; /* by slice_id */
	uint64_t seed;
};

static uint64_t rnd(struct sim *m, uint64_t below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (m->seed >> 33) % below;
}

static void keep(struct sim *m, const void *rec)
{
	const struct cw_rec *h = rec;

	assert_true(m->n < RECORDS);
	m->recs[m->n] = malloc(h->size);
	memcpy(m->recs[m->n++], rec, h->size);
}

static void spend(struct sim *m, struct sim_thread *t)
{
	static const int kind[] = {
		[RUNS] = ONCPU, [SLEEPS] = BLOCKED, [WOKEN] = RUNQ, [OUSTED] = PREEMPTED};

	t->spent[kind[t->mode]] += m->now - t->since;
	t->since = m->now;
}

static void sim_switch(struct sim *m, unsigned cpu, int prev, int next, uint32_t state)
{
	bool block = state != 0;
	struct cw_sched_block r = {
		.h = {.type = block ? CW_SCHED_BLOCK : CW_SCHED_SWITCH,
		      .size = block ? sizeof(r) : sizeof(struct cw_sched_switch),
		      .cpu = (uint16_t)cpu,
		      .ts = m->now},
		.prev_pid = prev < 0 ? 0 : PID,
		.prev_tid = prev < 0 ? 0 : TID(prev),
		.next_pid = next < 0 ? 0 : PID,
		.next_tid = next < 0 ? 0 : TID(next),
		.prev_state = state,
		.flags = (prev < 0 ? 0 : CW_SWITCH_PREV_TRACED) |
			 (next < 0 ? 0 : CW_SWITCH_NEXT_TRACED),
		.syscall = 202,
	};

	keep(m, &r);
}

static void sim_waking(struct sim *m, unsigned cpu, int by, unsigned i)
{
	struct cw_sched_waking r = {
		.h = {.type = CW_SCHED_WAKING,
		      .size = sizeof(r),
		      .cpu = (uint16_t)cpu,
		      .ts = m->now},
		.pid = by < 0 ? 0 : PID,
		.tid = by < 0 ? 0 : TID(by),
		.wakee_pid = PID,
		.wakee_tid = TID(i),
		.flags = by < 0 ? CW_WAKING_IRQ : 0,
		.syscall = -1,
	};

	keep(m, &r);
}

static void sim_wakeup(struct sim *m, unsigned cpu, unsigned i, unsigned target)
{
	struct cw_sched_wakeup r = {
		.h = {.type = CW_SCHED_WAKEUP,
		      .size = sizeof(r),
		      .cpu = (uint16_t)cpu,
		      .ts = m->now},
		.pid = PID,
		.tid = TID(i),
		.target_cpu = target,
	};

	keep(m, &r);
}

/* A thread that waits, on any CPU: it may be moved. */
static int some_waiting(struct sim *m)
{
	unsigned from = (unsigned)rnd(m, NTHREADS);

	for (unsigned k = 0; k < NTHREADS; k++) {
		unsigned i = (from + k) % NTHREADS;

		if (m->th[i].mode == WOKEN || m->th[i].mode == OUSTED)
			return (int)i;
	}
	return -1;
}

/* The CPU gets another thread, or none. */
static void switch_to(struct sim *m, unsigned cpu, uint32_t state)
{
	int prev = m->runs[cpu], next = some_waiting(m);

	sim_switch(m, cpu, prev, next, state);
	if (prev >= 0) {
		struct sim_thread *t = &m->th[prev];

		spend(m, t);
		t->mode = !state ? OUSTED : t->early ? WOKEN : SLEEPS;
		t->cpu = cpu;
	}
	m->runs[cpu] = next;
	if (next >= 0) {
		spend(m, &m->th[next]);
		m->th[next].mode = RUNS;
		m->th[next].cpu = cpu;
		m->th[next].early = false;
	}
}

static void enter(struct sim *m, unsigned cpu)
{
	unsigned i = (unsigned)m->runs[cpu];
	struct sim_thread *t = &m->th[i];
	struct sim_call *c = &t->calls[t->depth];
	struct cw_probe_entry r = {
		.h = {.type = CW_PROBE_ENTRY,
		      .size = sizeof(r),
		      .cpu = (uint16_t)cpu,
		      .ts = m->now},
		.pid = PID,
		.tid = TID(i),
		.sp = SP - t->depth * FRAME,
		.args = {m->now},
	};

	spend(m, t);
	memcpy(c->at, t->spent, sizeof(c->at));
	c->ts = m->now;
	c->number = ++m->calls;
	m->truth[c->number].ts = m->now;
	t->depth++;
	keep(m, &r);
}

static void leave(struct sim *m, unsigned cpu)
{
	unsigned i = (unsigned)m->runs[cpu];
	struct sim_thread *t = &m->th[i];
	struct sim_call *c = &t->calls[--t->depth];
	struct cw_probe_return r = {
		.h = {.type = CW_PROBE_RETURN,
		      .size = sizeof(r),
		      .cpu = (uint16_t)cpu,
		      .ts = m->now},
		.pid = PID,
		.tid = TID(i),
		.sp = SP - t->depth * FRAME + 8,
	};

	spend(m, t);
	for (int k = 0; k < NKINDS; k++)
		m->truth[c->number].parts[k] = t->spent[k] - c->at[k];
	m->truth[c->number].dur = m->now - c->ts;
	m->truth[c->number].returned = true;
	keep(m, &r);
}

/* Someone wakes thread i, which sleeps. */
static void wake(struct sim *m, unsigned cpu, unsigned i)
{
	struct sim_thread *t = &m->th[i];

	sim_waking(m, cpu, m->runs[cpu], i);
	spend(m, t);
	t->mode = WOKEN;
	m->now += 1 + rnd(m, 5);
	sim_wakeup(m, cpu, i, t->cpu);
}

/* The thread on cpu goes to sleep, now and then woken by another CPU before it is out. */
static void go_to_sleep(struct sim *m, unsigned cpu)
{
	unsigned i = (unsigned)m->runs[cpu], other = (cpu + 1) % NCPUS;
	struct sim_thread *t = &m->th[i];

	if (m->runs[other] >= 0 && rnd(m, 4) == 0) {
		sim_waking(m, other, m->runs[other], i);
		m->now += 1 + rnd(m, 30);
		if (rnd(m, 2)) { /* it saw that in time and runs on */
			sim_wakeup(m, other, i, cpu);
			return;
		}
		t->early = true;
	}
	switch_to(m, cpu, 1);
	if (t->mode == WOKEN) {
		m->now += 1 + rnd(m, 5);
		sim_wakeup(m, other, i, cpu);
	}
}

static void step(struct sim *m)
{
	unsigned cpu = (unsigned)rnd(m, NCPUS), i = (unsigned)rnd(m, NTHREADS);
	struct sim_thread *t;

	m->now += 1 + rnd(m, 2000);
	if (m->runs[cpu] < 0) {
		if (some_waiting(m) >= 0)
			switch_to(m, cpu, 0);
		else if (m->th[i].mode == SLEEPS)
			wake(m, cpu, i); /* by a timer */
		return;
	}
	t = &m->th[m->runs[cpu]];
	switch (rnd(m, 10)) {
	case 0:
	case 1:
		go_to_sleep(m, cpu);
		break;
	case 2:
		switch_to(m, cpu, 0);
		break;
	case 3:
	case 4:
	case 5:
		if (m->th[i].mode == SLEEPS)
			wake(m, cpu, i);
		break;
	case 6:
	case 7:
		if (t->depth < MAX_DEPTH)
			enter(m, cpu);
		break;
	default:
		if (t->depth)
			leave(m, cpu);
		break;
	}
}

static void run_machine(struct sim *m, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->seed = seed * 2654435761u + 1;
	m->now = 1000000;
	m->truth = calloc(RECORDS, sizeof(*m->truth));
	for (unsigned c = 0; c < NCPUS; c++)
		m->runs[c] = -1;
	for (unsigned i = 0; i < NTHREADS; i++) {
		m->th[i].mode = WOKEN;
		m->th[i].since = m->now;
	}
	while (m->n < RECORDS - 16)
		step(m);
}

static void free_machine(struct sim *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->recs[i]);
	free(m->truth);
}

/* Hand the records over as a ring would: a few of them later than their time says. */
static void deliver(struct sim *m, struct stream *s)
{
	for (size_t i = 0; i + 4 < m->n; i++)
		if (rnd(m, 30) == 0) {
			size_t k = i + 1 + rnd(m, 3);
			struct cw_rec *r = m->recs[i];

			if (m->recs[k]->ts == r->ts)
				continue;
			m->recs[i] = m->recs[k];
			m->recs[k] = r;
		}
	for (size_t i = 0; i < m->n; i++)
		if (m->recs[i])
			stream_put(s, m->recs[i]);
}

/* Calls whose parts differ from the truth. flagged ones may, when the difference is in unknown. */
static unsigned differences(struct sim *m, struct stream *s, unsigned *flagged)
{
	sqlite3_stmt *q;
	unsigned wrong = 0;

	assert_int_equal(
		sqlite3_prepare_v2(
			s->db,
			"SELECT arg1, dur, oncpu_ns, blocked_ns, runq_ns, preempted_ns, "
			"unknown_ns, "
			"touched_by_loss FROM slice WHERE dur IS NOT NULL ORDER BY slice_id",
			-1, &q, NULL),
		SQLITE_OK);
	*flagged = 0;
	while (sqlite3_step(q) == SQLITE_ROW) {
		uint64_t ts = (uint64_t)sqlite3_column_int64(q, 0), sum = 0;
		uint64_t unknown = (uint64_t)sqlite3_column_int64(q, 6);
		bool touched = sqlite3_column_int(q, 7), same;
		unsigned lo = 1, hi = m->calls;

		while (lo < hi) { /* entries are in the order of time */
			unsigned mid = (lo + hi) / 2;

			if (m->truth[mid].ts < ts)
				lo = mid + 1;
			else
				hi = mid;
		}
		same = m->truth[lo].returned &&
		       m->truth[lo].dur == (uint64_t)sqlite3_column_int64(q, 1);
		for (int k = 0; k < NKINDS; k++) {
			sum += (uint64_t)sqlite3_column_int64(q, 2 + k);
			same &= m->truth[lo].parts[k] == (uint64_t)sqlite3_column_int64(q, 2 + k);
		}
		assert_int_equal(sum + unknown, sqlite3_column_int64(q, 1));
		*flagged += touched;
		if (!touched && (unknown || !same)) {
			print_error("call at %llu: dur %lld/%llu\n", (unsigned long long)ts,
				    (long long)sqlite3_column_int64(q, 1),
				    (unsigned long long)m->truth[lo].dur);
			for (int k = 0; k < NKINDS; k++)
				print_error("  part %d: %lld/%llu\n", k,
					    (long long)sqlite3_column_int64(q, 2 + k),
					    (unsigned long long)m->truth[lo].parts[k]);
			wrong++;
		}
	}
	sqlite3_finalize(q);
	return wrong;
}

static void test_exact(void **state)
{
	struct sim *m = malloc(sizeof(*m));

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		unsigned flagged, returned = 0;
		struct stream s;

		run_machine(m, seed);
		stream_open(&s, NULL, "x86_64");
		put_probe(&s, 0, "work", true);
		deliver(m, &s);
		stream_end(&s);
		for (unsigned i = 1; i <= m->calls; i++)
			returned += m->truth[i].returned;
		assert_int_equal(differences(m, &s, &flagged), 0);
		assert_int_equal(flagged, 0);
		assert_true(returned > 3000);
		expect_int(&s, "SELECT count(*) FROM slice WHERE dur IS NOT NULL", returned);
		expect_int(&s, "SELECT count(*) FROM slice", m->calls);
		expect_int(&s, "SELECT count(*) FROM offcpu WHERE unknown_ns > 0", 0);
		expect_int(&s, "SELECT count(*) FROM loss", 0);
		expect_int(&s,
			   "SELECT count(*) FROM (SELECT ts + dur AS ends, dur, lead(ts) OVER "
			   "(PARTITION BY "
			   "utid ORDER BY ts) AS next FROM thread_state) WHERE dur <= 0 OR next <> "
			   "ends",
			   0);
		stream_close(&s);
		free_machine(m);
	}
	free(m);
}

/* Delete one record in a hundred; the loss is told in windows, as by a recorder that polls. */
static void delete_some(struct sim *m, struct stream *s)
{
	const uint64_t window = 30000;
	uint64_t lost[64][NCPUS] = {0}, first[64][NCPUS] = {0}, last[64][NCPUS] = {0};
	uint64_t until = m->recs[0]->ts + window;

	for (size_t i = 0; i < m->n; i++) {
		struct cw_rec *r = m->recs[i];

		if (r->ts > until || i + 1 == m->n) {
			for (uint32_t kind = 0; kind < 64; kind++)
				for (uint32_t c = 0; c < NCPUS; c++)
					if (lost[kind][c]) {
						s->cpu = c;
						put_lost(s, first[kind][c], last[kind][c], kind,
							 lost[kind][c]);
					}
			memset(lost, 0, sizeof(lost));
			until = r->ts + window;
		}
		if (rnd(m, 100))
			continue;
		if (!lost[r->type][r->cpu]++)
			first[r->type][r->cpu] = r->ts;
		last[r->type][r->cpu] = r->ts;
		free(r);
		m->recs[i] = NULL;
	}
}

static void test_lossy(void **state)
{
	struct sim *m = malloc(sizeof(*m));

	(void)state;
	for (uint64_t seed = 100; seed < 106; seed++) {
		unsigned flagged;
		struct stream s;

		run_machine(m, seed);
		stream_open(&s, NULL, "x86_64");
		put_probe(&s, 0, "work", true);
		delete_some(m, &s);
		for (size_t i = 0; i < m->n; i++)
			if (m->recs[i])
				stream_put(&s, m->recs[i]);
		stream_end(&s);
		assert_int_equal(differences(m, &s, &flagged), 0);
		assert_true(flagged > 0);
		expect_int(
			&s,
			"SELECT count(*) FROM offcpu WHERE end_ts - ts <> blocked_ns + runq_ns + "
			"preempted_ns + unknown_ns OR min(blocked_ns, runq_ns, preempted_ns, "
			"unknown_ns) < 0",
			0);
		stream_close(&s);
		free_machine(m);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_lossy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
