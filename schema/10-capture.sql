-- SPDX-License-Identifier: GPL-2.0-only
-- The capture itself: where it comes from and what it does not hold.
-- Conventions of every file here: times are CLOCK_MONOTONIC ns, durations ns; NULL is unknown;
-- keys, addresses and hashes are 64-bit INTEGERs in two's complement, hexadecimal text in views.

-- What is known about the capture as a whole: one row a key.
CREATE TABLE capture_info(
	-- Name of the fact: the header's keys, and totals the import adds.
	key TEXT PRIMARY KEY,
	-- Its value.
	value
) WITHOUT ROWID;

-- Ranges of time in which records are missing.
CREATE TABLE loss(
	-- First moment of the loss.
	ts INTEGER NOT NULL,
	-- Last moment of the loss.
	end_ts INTEGER NOT NULL,
	-- Record type that was lost, by name; '*' any.
	kind TEXT NOT NULL,
	-- CPU it was lost on; NULL any.
	cpu INTEGER,
	-- 'ring full', 'probe missed', 'overload', 'deleted', 'damaged file', 'late', 'contradiction'
	-- (nobody counted it, but the events do not fit together), 'detached: FUNCTION' (of this
	-- function alone: it was called more often than --max-rate, or its file overwritten), 'unknown'.
	reason TEXT NOT NULL,
	-- How many records; NULL unknown.
	count INTEGER
);
