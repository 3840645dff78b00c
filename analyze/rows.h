/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows on their way into the database: passes put rows into batches, a thread inserts those. Rows
 * of one table keep their order but for the sorting by row id within a batch. Knows statements and
 * columns, not what rows mean.
 */
#ifndef CW_ROWS_H
#define CW_ROWS_H

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include "hash.h"

/*
 * X(NAME, columns, SQL): one letter a column: i integer; s text that lives until the end of the
 * import; t text from malloc, freed once it is inserted; b blob from malloc (two words: data,
 * size).
 */
/* clang-format off */
#define CW_ROW_TABLES(X) \
	X(PROCESS, "iiiiiiitttiiii", "INSERT OR REPLACE INTO process(upid, pid, ns_pid, rec_pid, " \
		"start_boottime, parent_upid, start_ts, exe, cmdline, name, end_ts, pid_ns, mnt_ns, traced)") \
	X(THREAD, "iiiiiitiii", "INSERT OR REPLACE INTO thread(utid, upid, tid, ns_tid, rec_tid, " \
		"start_boottime, name, start_ts, end_ts, traced)") \
	X(MODULE, "ittttii", "INSERT INTO module(module_id, path, name, build_id, dev, ino, file_size)") \
	X(MODULE_UNWIND, "itt", "INSERT OR REPLACE INTO module_unwind(module_id, unwind_from, tried)") \
	X(MAPPING, "iiiiiii", "INSERT INTO mapping(upid, ts, start, end, pgoff, module_id, moved)") \
	X(BLOB, "isb", "INSERT OR REPLACE INTO module_blob(module_id, kind, data)") \
	X(KSYM, "iit", "INSERT OR IGNORE INTO kernel_symbol(start, end, name)") \
	X(STACK, "iisiiiiiiiss", "INSERT OR REPLACE INTO stack(stack_id, upid, kind, frame_count, " \
		"truncated, caller_only, failed, complete, repaired, broken, unwound_by, problem)") \
	X(STACK_FRAME, "iii", "INSERT OR REPLACE INTO stack_frame(stack_id, depth, frame_id)") \
	X(FRAME, "iiiii", "INSERT INTO frame(frame_id, module_id, rel_pc, address, is_return)") \
	X(PROBE, "itiiiiiii", "INSERT OR REPLACE INTO probe(probe_id, function, module_id, offset, " \
		"placed, has_return, single_stepped, no_frame_pointers, is_target)") \
	X(SLICE, "iiiiiiiiisiiiiiiiiiiiiii", "INSERT INTO slice(slice_id, ts, dur, utid, probe_id, " \
		"depth, parent_id, stack_id, ret, no_return, oncpu_ns, blocked_ns, runq_ns, " \
		"preempted_ns, unknown_ns, touched_by_loss, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8)") \
	X(EPISODE, "iiiiiiiiiiiiiiiiiii", "INSERT INTO episode(offcpu_id, utid, ts, waking_ts, " \
		"wakeup_ts, end_ts, state, preempted, blocked_ns, runq_ns, preempted_ns, unknown_ns, " \
		"unknown_ts, cpu, end_cpu, sleep_id, waker_id, ran_utid, ran_ns)") \
	X(SLEEP, "iiiiiiiiiii", "INSERT INTO sleep(sleep_id, syscall, arg1, arg2, arg3, arg4, arg5, " \
		"arg6, user_stack_id, kernel_stack_id, file_id)") \
	X(WAKER, "iiiiiiii", "INSERT INTO waker(waker_id, utid, in_interrupt, syscall, arg1, arg2, " \
		"arg5, stack_id)") \
	X(RAN_LATER, "iiii", "INSERT INTO ran_later(offcpu_id, ts, dur, utid)") \
	X(FILE, "itiii", "INSERT OR IGNORE INTO file(file_id, path, mode, dev, ino)") \
	X(EDGE, "isiiiiiiiiissi", "INSERT INTO edge(edge_id, kind, plan_hop, key, target_arg, src_utid, " \
		"src_ts, src_slice, dst_utid, dst_ts, dst_slice, match, evidence, candidates)") \
	X(UNCONSUMED, "iiiiis", "INSERT INTO unconsumed(plan_hop, key, utid, ts, slice_id, reason)") \
	X(UNMATCHED, "iis", "INSERT INTO unmatched(plan_hop, slice_id, reason)") \
	X(PATH, "iiiiiiiiisi", "INSERT INTO path(chain_id, start_ts, end_ts, queue_ns, work_ns, " \
		"max_queue_ns, max_work_ns, hop_count, complete, flags, last_slice)") \
	X(PATH_HOP, "iiiiiiiii", "INSERT INTO path_hop(chain_id, hop_index, edge_id, end_ts, oncpu_ns, " \
		"blocked_ns, runq_ns, preempted_ns, unknown_ns)") \
	X(HOP_COUNT, "ittiiiiiiiii", "INSERT OR REPLACE INTO hop_count(plan_hop, source, target, " \
		"submitted, matched, unmatched, duplicate_keys, superseded, expired, ambiguous, " \
		"no_handoff, open_at_end)") \
	X(LOSS, "iisisi", "INSERT INTO loss(ts, end_ts, kind, cpu, reason, count)") \
	X(SYSCALL, "is", "INSERT INTO syscall_name(syscall, name)") \
	X(INFO, "ti", "INSERT OR REPLACE INTO capture_info(key, value)") \
	X(INFO_TEXT, "tt", "INSERT OR REPLACE INTO capture_info(key, value)")
/* clang-format on */

#define CW_X_ROW(NAME, columns, sql) CW_ROW_##NAME,
enum cw_row { CW_ROW_TABLES(CW_X_ROW) CW_NROWS };
#undef CW_X_ROW

struct cw_rows;

/* Insert into db, which belongs to the inserting thread until cw_rows_finish. */
int cw_rows_new(struct cw_rows **out, sqlite3 *db);

/* Room for one row; the caller fills all words not marked in nulls (bit 0 is the first column). */
uint64_t *cw_rows_put(struct cw_rows *r, enum cw_row table, uint64_t nulls);

/* A word that holds text: s keeps pointing at it, t owns it (from malloc); NULL is NULL. */
static inline uint64_t cw_word(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

static inline uint64_t cw_word_dup(const char *text)
{
	return cw_word(text ? cw_strndup(text, strlen(text)) : NULL);
}

/* Totals for capture_info. */
void cw_rows_info(struct cw_rows *r, const char *key, int64_t value);
void cw_rows_info_text(struct cw_rows *r, const char *key, const char *value);

/* Rows put so far. */
uint64_t cw_rows_count(const struct cw_rows *r);

/* Insert what was put; db is the caller's until the next row is put. Returns as cw_rows_finish. */
int cw_rows_sync(struct cw_rows *r);

/* Insert what is left and give db back. Returns 0, -ENOSPC or -EIO, for which sqlite3_errmsg(db)
 * speaks. */
int cw_rows_finish(struct cw_rows *r);
void cw_rows_free(struct cw_rows *r);

#endif
