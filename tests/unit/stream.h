/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/unwind.o analyze/unwind_cfi.o analyze/unwind_stack.o analyze/unwind_go.o */
/* LINK: analyze/unwind_modules.o analyze/symbol_sources.o analyze/symbolize_elf.o */
/* LINK: analyze/plain_debug.o analyze/cfi_check.o analyze/frame_ids.o analyze/stack_parts.o */
/* LINK: analyze/symbolize_table.o analyze/symbol_links.o analyze/debuginfod.o */
/* LINK: analyze/hash.o analyze/distinct.o analyze/rows.o analyze/sort.o analyze/passes.o */
/* LINK: analyze/loss.o analyze/identity.o analyze/images.o analyze/stacks.o analyze/files.o */
/* LINK: analyze/probes.o analyze/episode.o analyze/state.o analyze/calls.o analyze/chains.o */
/* LINK: analyze/submissions.o analyze/hops.o analyze/steps.o analyze/seen_keys.o */
/* LINK: analyze/stitch.o analyze/syscalls.o analyze/ingest.o */
/*
 * Synthetic streams of records for tests of the passes: each helper appends one record, stream_end
 * ends the capture, and questions are put in SQL. No file, no kernel.
 */
#ifndef STREAM_H
#define STREAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "capture.h"
#include "ingest.h"
#include "plan.h"

#define PID   1000u
#define SP    0x7fff0000ull /* stack pointer of outermost calls */
#define FRAME 0x100ull      /* and how far apart nested ones are */
#define MS    1000000ull

enum { RUNNABLE = 0, ASLEEP = 1, UNINTERRUPTIBLE = 2, DEAD = 0x80 };

struct stream {
	sqlite3 *db;
	struct cw_ingest *in;
	struct cw_plan *plan;
	uint32_t cpu;
};

#define REC(type_, name_, ts_) \
	struct cw_##name_ r = { \
		.h = {.type = type_, .size = sizeof(r), .cpu = (uint16_t)s->cpu, .ts = ts_}}

/* Open a stream; hops is a list like "a,1,b,1;b,2,c,auto", NULL none. */
static inline void stream_open(struct stream *s, const char *hops, const char *arch)
{
	struct cw_ingest_opts o = {.arch = arch};
	char err[CW_PLAN_ERR] = "", text[512], *hop, *save;

	memset(s, 0, sizeof(*s));
	assert_int_equal(sqlite3_open(":memory:", &s->db), SQLITE_OK);
	if (hops) {
		s->plan = cw_plan_new();
		snprintf(text, sizeof(text), "%s", hops);
		for (hop = strtok_r(text, ";", &save); hop; hop = strtok_r(NULL, ";", &save))
			assert_int_equal(cw_plan_add_hop(s->plan, hop, err), 0);
		assert_int_equal(cw_plan_finish(s->plan, err), 0);
		o.plan = s->plan;
	}
	assert_int_equal(cw_ingest_new(&s->in, s->db, &o), 0);
}

static inline void stream_put(struct stream *s, const struct cw_rec *rec)
{
	assert_int_equal(cw_ingest_record(s->in, rec), 0);
}

static inline void stream_put_text(struct stream *s, const struct cw_rec *rec, size_t fixed,
				   const char *text)
{
	uint64_t buf[512];
	struct cw_rec *copy = (struct cw_rec *)buf;

	memcpy(buf, rec, fixed);
	memcpy((char *)buf + fixed, text, strlen(text));
	copy->size = (uint16_t)(fixed + strlen(text));
	stream_put(s, copy);
}

/* The capture is over; the database can be asked. */
static inline void stream_end(struct stream *s)
{
	int err = cw_ingest_finish(s->in);

	if (err)
		print_error("%s\n", cw_ingest_error(s->in));
	assert_int_equal(err, 0);
}

static inline void stream_close(struct stream *s)
{
	cw_ingest_free(s->in);
	cw_plan_free(s->plan);
	assert_int_equal(sqlite3_close(s->db), SQLITE_OK);
}

/* First column of the first row, NULL without a row; overwritten by the next question. */
static inline const char *ask(struct stream *s, const char *sql)
{
	static char text[4096];
	sqlite3_stmt *stmt = NULL;
	const char *found = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		print_error("%s: %s\n", sql, sqlite3_errmsg(s->db));
		fail();
	}
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
		found = text;
	}
	sqlite3_finalize(stmt);
	return found;
}

static inline int64_t ask_int(struct stream *s, const char *sql)
{
	const char *text = ask(s, sql);

	return text ? strtoll(text, NULL, 10) : INT64_MIN;
}

#define expect_text(s, sql, wanted) assert_string_equal(ask(s, sql) ?: "(null)", wanted)
#define expect_int(s, sql, wanted)  assert_int_equal(ask_int(s, sql), wanted)

/* ---- records ------------------------------------------------------------------------------------
 */

/* Without some of its first six arguments, whose registers the function overwrites. */
static inline void put_probe_without(struct stream *s, uint32_t id, const char *name, uint32_t args)
{
	REC(CW_PROBE, probe, 1);

	r.probe_id = id;
	r.flags = CW_PROBE_HAS_ENTRY | CW_PROBE_HAS_RETURN | args * CW_PROBE_NO_ARG1;
	stream_put_text(s, &r.h, sizeof(r), name);
}

static inline void put_probe(struct stream *s, uint32_t id, const char *name, bool ret)
{
	REC(CW_PROBE, probe, 1);

	r.probe_id = id;
	r.flags = CW_PROBE_HAS_ENTRY | (ret ? CW_PROBE_HAS_RETURN : 0);
	stream_put_text(s, &r.h, sizeof(r), name);
}

static inline void put_thread(struct stream *s, uint64_t ts, uint32_t tid, uint64_t start,
			      const char *comm)
{
	REC(CW_THREAD, thread, ts);

	r.pid = PID;
	r.tid = tid;
	r.start_boottime = start;
	r.flags = CW_THREAD_TRACED;
	stream_put_text(s, &r.h, sizeof(r), comm);
}

/* A call with one argument word; the others hold noise that is nobody's key. */
static inline void put_entry(struct stream *s, uint64_t ts, uint32_t tid, uint32_t probe,
			     uint64_t sp, uint64_t arg1)
{
	REC(CW_PROBE_ENTRY, probe_entry, ts);

	r.pid = PID;
	r.tid = tid;
	r.probe_id = probe;
	r.sp = sp;
	r.args[0] = arg1;
	for (int i = 1; i < CW_NARGS; i++)
		r.args[i] = 0xdead0000u + (uint64_t)i;
	stream_put(s, &r.h);
}

/* The return of a call that was entered with sp, on x86-64. */
static inline void put_return(struct stream *s, uint64_t ts, uint32_t tid, uint32_t probe,
			      uint64_t sp, uint64_t ret)
{
	REC(CW_PROBE_RETURN, probe_return, ts);

	r.pid = PID;
	r.tid = tid;
	r.probe_id = probe;
	r.sp = sp + 8;
	r.ret = ret;
	stream_put(s, &r.h);
}

/* The CPU goes from prev to next, 0 is idle; both are traced. */
static inline void put_switch(struct stream *s, uint64_t ts, uint32_t prev, uint32_t next,
			      uint32_t state, uint32_t flags)
{
	REC(CW_SCHED_SWITCH, sched_switch, ts);

	r.prev_pid = prev ? PID : 0;
	r.prev_tid = prev;
	r.next_pid = next ? PID : 0;
	r.next_tid = next;
	r.prev_state = state;
	r.flags = flags | (prev ? CW_SWITCH_PREV_TRACED : 0) | (next ? CW_SWITCH_NEXT_TRACED : 0);
	stream_put(s, &r.h);
}

/* As put_switch, prev goes to sleep in a system call. */
static inline void put_block(struct stream *s, uint64_t ts, uint32_t prev, uint32_t next, int nr,
			     uint64_t arg1, uint64_t arg2)
{
	REC(CW_SCHED_BLOCK, sched_block, ts);

	r.prev_pid = PID;
	r.prev_tid = prev;
	r.next_pid = next ? PID : 0;
	r.next_tid = next;
	r.prev_state = ASLEEP;
	r.flags = CW_SWITCH_PREV_TRACED | (next ? CW_SWITCH_NEXT_TRACED : 0);
	r.syscall = nr;
	r.args[0] = arg1;
	r.args[1] = arg2;
	stream_put(s, &r.h);
}

static inline void put_waking(struct stream *s, uint64_t ts, uint32_t by, uint32_t tid)
{
	REC(CW_SCHED_WAKING, sched_waking, ts);

	r.pid = by ? PID : 0;
	r.tid = by;
	r.wakee_pid = PID;
	r.wakee_tid = tid;
	r.syscall = -1;
	r.flags = by ? 0 : CW_WAKING_IRQ;
	stream_put(s, &r.h);
}

static inline void put_wakeup(struct stream *s, uint64_t ts, uint32_t tid, uint32_t cpu, bool new)
{
	REC(CW_SCHED_WAKEUP, sched_wakeup, ts);

	r.pid = PID;
	r.tid = tid;
	r.target_cpu = cpu;
	r.flags = new;
	stream_put(s, &r.h);
}

static inline void put_fork(struct stream *s, uint64_t ts, uint32_t tid, uint32_t child_pid,
			    uint32_t child, uint64_t start)
{
	REC(CW_FORK, fork, ts);

	r.pid = PID;
	r.tid = tid;
	r.child_pid = child_pid;
	r.child_tid = child;
	r.child_start_boottime = start;
	stream_put(s, &r.h);
}

static inline void put_exit(struct stream *s, uint64_t ts, uint32_t tid, bool last)
{
	REC(CW_EXIT, exit, ts);

	r.pid = PID;
	r.tid = tid;
	r.flags = last;
	stream_put(s, &r.h);
}

static inline void put_lost(struct stream *s, uint64_t from, uint64_t to, uint32_t kind,
			    uint64_t count)
{
	REC(CW_LOST, lost, from);

	r.kind = kind;
	r.reason = CW_LOST_RING;
	r.count = count;
	r.end_ts = to;
	stream_put(s, &r.h);
}

#endif
