#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whole stacks: from the C library's wrapper of a system call to where the thread began.
. "$(dirname "$0")/../lib.sh"
need_tracing

# Function names of each stack, innermost first, one row a stack; inlined functions left out.
chains="SELECT s.*, (SELECT group_concat(function, ' < ') FROM (SELECT function FROM callstack c
	WHERE c.stack_id = s.stack_id AND c.inline_depth = (SELECT max(inline_depth) FROM callstack d
		WHERE d.stack_id = c.stack_id AND d.depth = c.depth) ORDER BY depth)) AS chain FROM stack s"

record_exec lock trace_lock_test --count 4 -- --attribution --ret function_to_trace
import lock
# shellcheck disable=SC2154 # import makes them
expect "wakers of the lock that are unlock, called by release_shared_resource, by lock_holder_main" \
	"$(query lock "SELECT count(*) FROM futex_wait w JOIN ($chains) s ON s.stack_id = w.waker_stack_id
		WHERE w.address = (SELECT mutex FROM t.lock LIMIT 1) AND w.waker_kind = 'observed'
			AND s.chain LIKE '%pthread_mutex_unlock% < release_shared_resource < lock_holder_main < %'
			AND s.complete")" 4
# One taken while the loader still works can end early.
at_most "stacks of the program that are not complete" \
	"$(query lock "SELECT count(*) FROM ($chains) WHERE kind = 'user' AND NOT complete
		AND upid IN (SELECT upid FROM process WHERE name LIKE '%trace_lock_test%') AND chain IS NOT NULL")" 2
finish
