-- SPDX-License-Identifier: GPL-2.0-only
-- The data of the page: each table or view named page_NAME, in these files or in the schema, is data.NAME
-- there, an array a column. Times are ns after the capture's start, threads are utid, stacks numbers of
-- page_stack. First what several sums read, worked out once.

CREATE TEMP VIEW start AS SELECT start_ts AS t0 FROM report_clock;

CREATE TEMP TABLE queue_task AS SELECT * FROM main.queue_task;
CREATE TEMP TABLE blocked_reason AS SELECT * FROM main.blocked_reason;
CREATE UNIQUE INDEX temp.blocked_reason_by_id ON blocked_reason(offcpu_id);
CREATE TEMP TABLE wait_part AS SELECT * FROM main.wait_part;
CREATE INDEX temp.wait_part_by_id ON wait_part(offcpu_id);

-- Views of the schema that are made again as temporary ones after each of these files, so that they read the
-- tables above instead of the views those hide. The text in was becomes the other.
CREATE TEMP TABLE remade(name TEXT PRIMARY KEY, was TEXT NOT NULL DEFAULT '', becomes TEXT);
INSERT INTO remade(name) VALUES('queue_event'), ('hop_reason'), ('function_reason'), ('offcpu_stack');
-- One interval is enough: the page wants the whole.
INSERT INTO remade VALUES('queue_diagnostics', '1000000000 AS interval_ns', '9223372036854775807 AS interval_ns');
