/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams of submissions and of work on them, and the chains and counts that come out of them. */
#ifndef STITCH_FIXTURE_H
#define STITCH_FIXTURE_H

#include "stream.h"

#define P 1001u /* producer */
#define W 1002u /* worker */
#define X 1003u /* worker of the second stage */

/* Calls that begin and end at once unless the test needs them open; a submission is a call of
 * "sub". */
static inline void submit(struct stream *s, uint64_t ts, uint32_t tid, uint32_t probe, uint64_t key)
{
	put_entry(s, ts, tid, probe, SP - 8 * FRAME, key);
	put_return(s, ts + 1, tid, probe, SP - 8 * FRAME, 0);
}

static inline void work(struct stream *s, uint64_t ts, uint64_t end, uint32_t tid, uint32_t probe,
			uint64_t key)
{
	put_entry(s, ts, tid, probe, SP, key);
	put_return(s, end, tid, probe, SP, 0);
}

/* One hop sub -> run; two hops sub -> run, next -> last. */
static inline void open_one(struct stream *s, const char *hop)
{
	stream_open(s, hop, "x86_64");
	put_probe(s, 0, "sub", true);
	put_probe(s, 1, "run", true);
}

static inline void open_two(struct stream *s)
{
	stream_open(s, "sub,1,run,1;next,1,last,1", "x86_64");
	put_probe(s, 0, "sub", true);
	put_probe(s, 1, "run", true);
	put_probe(s, 2, "next", true);
	put_probe(s, 3, "last", true);
}

static inline const char *chains(struct stream *s)
{
	return ask(s,
		   "SELECT group_concat(start_ts || '-' || end_ts || ' queue ' || queue_ns || ' "
		   "work ' || "
		   "coalesce(work_ns, '?') || ' hops ' || hop_count || CASE complete WHEN 1 THEN "
		   "'' ELSE "
		   "' incomplete' END || CASE flags WHEN '' THEN '' ELSE ' ' || flags END, '; ') "
		   "FROM (SELECT * FROM chain ORDER BY chain_id)")
		       ?: "(null)";
}

static inline const char *counts(struct stream *s, int hop)
{
	char sql[512];

	snprintf(
		sql, sizeof(sql),
		"SELECT submitted || ' sub ' || matched || ' match ' || unmatched || ' un ' || "
		"duplicate_keys || ' dup ' || superseded || ' super ' || expired || ' exp ' || "
		"ambiguous "
		"|| ' amb ' || no_handoff || ' no ' || open_at_end || ' open' FROM hop_count WHERE "
		"plan_hop = %d",
		hop);
	return ask(s, sql) ?: "(null)";
}

/* Nothing is counted twice or dropped. */
static inline void expect_books(struct stream *s)
{
	expect_int(s,
		   "SELECT count(*) FROM hop_count WHERE submitted <> matched + superseded + "
		   "expired + "
		   "open_at_end",
		   0);
	expect_int(s, "SELECT count(*) FROM chain WHERE total_ns <> end_ts - start_ts", 0);
	expect_int(
		s,
		"SELECT count(*) FROM hop WHERE oncpu_ns + blocked_ns + runq_ns + preempted_ns + "
		"unknown_ns <> work_ns",
		0);
	expect_int(s,
		   "SELECT count(*) FROM chain c WHERE c.work_ns <> (SELECT sum(work_ns) FROM hop "
		   "h WHERE "
		   "h.chain_id = c.chain_id) OR c.max_queue_ns <> (SELECT max(queue_ns) FROM hop h "
		   "WHERE "
		   "h.chain_id = c.chain_id)",
		   0);
}

#endif
