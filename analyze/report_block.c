/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One block of the text report: a call with its entry stack, the hops that led to it, its return
 * and its longest futex wait. Prints rows of the report_* views; computes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"
#include "say.h"

enum query { Q_CALL, Q_CHAIN, Q_HOPS, Q_WAIT, Q_COUNT };

/* clang-format off */
enum { CALL_TS, CALL_PID, CALL_TID, CALL_COMM, CALL_FUNCTION, CALL_DUR, CALL_RET, CALL_NO_RETURN,
	CALL_ONCPU, CALL_OFFCPU, CALL_BLOCKED, CALL_RUNQ, CALL_PREEMPT, CALL_STACK,
	CALL_WAIT, CALL_LOSS };
enum { CHAIN_TOTAL, CHAIN_QUEUE, CHAIN_WORK, CHAIN_HOPS, CHAIN_COMPLETE, CHAIN_FLAGS };
enum { HOP_INDEX, HOP_SOURCE, HOP_TARGET, HOP_KEY, HOP_ARG, HOP_SPID, HOP_STID, HOP_SCOMM, HOP_TPID,
	HOP_TTID, HOP_TCOMM, HOP_QUEUE, HOP_WORK, HOP_ONCPU, HOP_BLOCKED, HOP_RUNQ, HOP_PREEMPT,
	HOP_DOMINANT, HOP_EVIDENCE, HOP_STACK, HOP_WAIT };
enum { WAIT_OPERATION, WAIT_ADDRESS, WAIT_NS, WAIT_EVIDENCE, WAIT_PID, WAIT_TID, WAIT_COMM,
	WAIT_STACK };

static const char *const queries[Q_COUNT] = {
	[Q_CALL] =
		"SELECT c.ts, c.pid, c.tid, c.thread_name, c.function, c.dur, c.ret, c.no_return,"
		" c.oncpu_ns, c.blocked_ns + c.runq_ns + c.preempted_ns + c.unknown_ns,"
		" c.blocked_ns, c.runq_ns, c.preempted_ns + c.unknown_ns, c.stack_id,"
		" (SELECT offcpu_id FROM report_call_wait w WHERE w.slice_id = c.slice_id),"
		" c.touched_by_loss FROM call c WHERE c.slice_id = ?1",
	[Q_CHAIN] =
		"SELECT total_ns, queue_ns, work_ns, hop_count, complete, flags FROM chain"
		" WHERE chain_id = ?1",
	[Q_HOPS] =
		"SELECT hop_index, source, target, key, target_arg, pid, source_tid,"
		" source_thread, (SELECT coalesce(p.rec_pid, p.pid) FROM thread t"
		"  JOIN process p USING(upid) WHERE t.utid = h.target_utid), target_tid,"
		" target_thread, queue_ns, work_ns, oncpu_ns, blocked_ns, runq_ns,"
		" preempted_ns + unknown_ns, dominant, evidence, source_stack_id,"
		" (SELECT offcpu_id FROM report_hop_wait w WHERE w.chain_id = h.chain_id"
		"  AND w.hop_index = h.hop_index) FROM hop h WHERE chain_id = ?1 ORDER BY hop_index",
	[Q_WAIT] =
		"SELECT f.operation, f.address, f.dur, f.waker_kind, coalesce(p.rec_pid, p.pid),"
		" coalesce(t.rec_tid, t.tid), t.name, f.waker_stack_id FROM futex_wait f"
		" LEFT JOIN thread t ON t.utid = f.waker_utid LEFT JOIN process p USING(upid)"
		" WHERE f.offcpu_id = ?1",
};
/* clang-format on */

struct cw_blocks {
	struct cw_text *t;
	sqlite3 *db;
	struct cw_stacks *stacks;
	sqlite3_stmt *stmt[Q_COUNT];
};

int cw_blocks_new(struct cw_blocks **out, sqlite3 *db, struct cw_text *t)
{
	struct cw_blocks *b = calloc(1, sizeof(*b));

	*out = b;
	if (!b)
		return -ENOMEM;
	b->t = t;
	b->db = db;
	for (int q = 0; q < Q_COUNT; q++) {
		int err = cw_prepare(db, &b->stmt[q], queries[q]);

		if (err)
			return err;
	}
	return cw_stacks_new(&b->stacks, db, t);
}

void cw_blocks_free(struct cw_blocks *b)
{
	if (!b)
		return;
	for (int q = 0; q < Q_COUNT; q++)
		sqlite3_finalize(b->stmt[q]);
	cw_stacks_free(b->stacks);
	free(b);
}

static sqlite3_stmt *ask(struct cw_blocks *b, enum query q, int64_t id)
{
	sqlite3_reset(b->stmt[q]);
	sqlite3_bind_int64(b->stmt[q], 1, id);
	return b->stmt[q];
}

static const char *text_at(sqlite3_stmt *s, int col, const char *missing)
{
	return (const char *)sqlite3_column_text(s, col) ?: missing;
}

static bool known(sqlite3_stmt *s, int col)
{
	return sqlite3_column_type(s, col) != SQLITE_NULL;
}

static void field_ns(struct cw_text *t, const char *name, sqlite3_stmt *s, int col)
{
	cw_field_ns(t, name, known(s, col), sqlite3_column_int64(s, col));
}

static int print_wait(struct cw_blocks *b, int64_t offcpu_id)
{
	sqlite3_stmt *s = ask(b, Q_WAIT, offcpu_id);
	struct cw_text *t = b->t;
	int64_t stack = 0;

	if (sqlite3_step(s) != SQLITE_ROW)
		return 0;
	cw_line_begin(t, 2, CW_PLAIN, "wait=futex");
	cw_field(t, CW_PLAIN, "operation=%s", text_at(s, WAIT_OPERATION, "?"));
	cw_field(t, CW_PLAIN, "address=%s", text_at(s, WAIT_ADDRESS, "?"));
	field_ns(t, "duration", s, WAIT_NS);
	cw_line_end(t);
	if (known(s, WAIT_EVIDENCE)) {
		cw_line_begin(t, 2, CW_PLAIN, "waker PID %d/TID %d (%s) %s",
			      sqlite3_column_int(s, WAIT_PID), sqlite3_column_int(s, WAIT_TID),
			      text_at(s, WAIT_COMM, "?"), text_at(s, WAIT_EVIDENCE, ""));
		cw_line_end(t);
		stack = sqlite3_column_int64(s, WAIT_STACK);
	}
	sqlite3_reset(s);
	return stack ? cw_stack_print(b->stacks, stack, CW_STACK_WAKER) : 0;
}

static int print_hop(struct cw_blocks *b, sqlite3_stmt *s)
{
	const char *evidence = text_at(s, HOP_EVIDENCE, "exact");
	struct cw_text *t = b->t;
	int err = 0;

	cw_line_begin(t, 0, CW_BOLD, "async hop %d", sqlite3_column_int(s, HOP_INDEX));
	cw_field(t, CW_BOLD, "%s -> %s", text_at(s, HOP_SOURCE, "?"), text_at(s, HOP_TARGET, "?"));
	cw_field(t, CW_PLAIN, "key=%s", text_at(s, HOP_KEY, "?"));
	cw_field(t, CW_PLAIN, "target-arg=%s", text_at(s, HOP_ARG, "?"));
	cw_field(t, CW_PLAIN, "source PID %d/TID %d (%s)", sqlite3_column_int(s, HOP_SPID),
		 sqlite3_column_int(s, HOP_STID), text_at(s, HOP_SCOMM, "?"));
	cw_field(t, CW_PLAIN, "target PID %d/TID %d (%s)", sqlite3_column_int(s, HOP_TPID),
		 sqlite3_column_int(s, HOP_TTID), text_at(s, HOP_TCOMM, "?"));
	if (strcmp(evidence, "exact") != 0)
		cw_field(t, CW_WARN, "evidence=%s", evidence);
	cw_line_end(t);
	cw_line_begin(t, 1, CW_PLAIN, "%s", "");
	field_ns(t, "queue", s, HOP_QUEUE);
	field_ns(t, "work", s, HOP_WORK);
	field_ns(t, "oncpu", s, HOP_ONCPU);
	field_ns(t, "blocked", s, HOP_BLOCKED);
	field_ns(t, "runq", s, HOP_RUNQ);
	field_ns(t, "preempt/unknown", s, HOP_PREEMPT);
	cw_field(t, CW_PLAIN, "dominant=%s", text_at(s, HOP_DOMINANT, "unknown"));
	cw_line_end(t);
	if (known(s, HOP_WAIT))
		err = print_wait(b, sqlite3_column_int64(s, HOP_WAIT));
	if (!err && known(s, HOP_STACK))
		err = cw_stack_print(b->stacks, sqlite3_column_int64(s, HOP_STACK), CW_STACK_ASYNC);
	return err;
}

static int print_hops(struct cw_blocks *b, int64_t chain_id)
{
	sqlite3_stmt *s = ask(b, Q_HOPS, chain_id);
	int err = 0;

	while (!err && sqlite3_step(s) == SQLITE_ROW)
		err = print_hop(b, s);
	sqlite3_reset(s);
	return err;
}

static void print_chain_line(struct cw_blocks *b, int64_t chain_id)
{
	sqlite3_stmt *s = ask(b, Q_CHAIN, chain_id);
	struct cw_text *t = b->t;
	const char *flags;
	bool whole;

	if (sqlite3_step(s) != SQLITE_ROW)
		return;
	flags = text_at(s, CHAIN_FLAGS, "");
	whole = sqlite3_column_int(s, CHAIN_COMPLETE);
	cw_line_begin(t, 0, CW_BOLD, "chain %" PRId64, chain_id);
	/* What is missing of a chain took time, too. */
	field_ns(t, whole || !known(s, CHAIN_TOTAL) ? "total" : "total>", s, CHAIN_TOTAL);
	field_ns(t, whole ? "queue" : "queue>", s, CHAIN_QUEUE);
	field_ns(t, whole || !known(s, CHAIN_WORK) ? "work" : "work>", s, CHAIN_WORK);
	cw_field(t, CW_PLAIN, "hops=%d", sqlite3_column_int(s, CHAIN_HOPS));
	if (!whole)
		cw_field(t, CW_WARN, "incomplete");
	if (*flags)
		cw_field(t, CW_WARN, "flags=%s", flags);
	cw_line_end(t);
	sqlite3_reset(s);
}

static void print_return(struct cw_text *t, sqlite3_stmt *s)
{
	if (known(s, CALL_NO_RETURN)) {
		cw_line_begin(t, 2, CW_WARN, "no return (%s)", text_at(s, CALL_NO_RETURN, ""));
	} else {
		cw_line_begin(t, 2, CW_BOLD, "RETURN");
		cw_field(t, CW_PLAIN, "ret=0x%016" PRIx64 " (%" PRId64 ")",
			 (uint64_t)sqlite3_column_int64(s, CALL_RET),
			 (int64_t)sqlite3_column_int64(s, CALL_RET));
		field_ns(t, "duration", s, CALL_DUR);
		if (known(s, CALL_ONCPU)) {
			field_ns(t, "oncpu", s, CALL_ONCPU);
			field_ns(t, "offcpu", s, CALL_OFFCPU);
			field_ns(t, "blocked", s, CALL_BLOCKED);
			field_ns(t, "runq", s, CALL_RUNQ);
			field_ns(t, "preempt/unknown", s, CALL_PREEMPT);
		}
	}
	if (sqlite3_column_int(s, CALL_LOSS))
		cw_field(t, CW_WARN, "records may be missing here");
	cw_line_end(t);
}

int cw_block_print(struct cw_blocks *b, int64_t slice_id, int64_t chain_id)
{
	sqlite3_stmt *s = ask(b, Q_CALL, slice_id);
	struct cw_text *t = b->t;
	char time[CW_TIME_SIZE];
	int err = 0;

	if (sqlite3_step(s) != SQLITE_ROW)
		return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(b->db));
	cw_line_begin(t, 0, CW_BOLD, "[%s] PID %d/TID %d (%s)",
		      cw_wall_time(time, t, sqlite3_column_int64(s, CALL_TS)),
		      sqlite3_column_int(s, CALL_PID), sqlite3_column_int(s, CALL_TID),
		      text_at(s, CALL_COMM, "?"));
	cw_field(t, CW_PLAIN, "%s", text_at(s, CALL_FUNCTION, "?"));
	cw_line_end(t);
	if (known(s, CALL_STACK))
		err = cw_stack_print(b->stacks, sqlite3_column_int64(s, CALL_STACK), CW_STACK_OWN);
	if (!err && chain_id >= 0) {
		err = print_hops(b, chain_id);
		print_chain_line(b, chain_id);
	}
	print_return(t, s);
	/* In a chain the last hop's work is this call, and has shown its wait already. */
	if (!err && chain_id < 0 && known(s, CALL_WAIT))
		err = print_wait(b, sqlite3_column_int64(s, CALL_WAIT));
	sqlite3_reset(s);
	fputc('\n', t->out);
	return err ? cw_fail(err, "cannot query the database: %s", sqlite3_errmsg(b->db)) : 0;
}
