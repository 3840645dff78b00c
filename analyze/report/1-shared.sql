-- SPDX-License-Identifier: GPL-2.0-only
-- The data of the page: each table or view named page_NAME, in these files or in the schema, is data.NAME
-- there, an array a column. Times are ns after the capture's start, threads are utid, stacks numbers of
-- page_stack. First what several sums read, worked out once.

CREATE TEMP VIEW start AS SELECT start_ts AS t0 FROM report_clock;

CREATE TEMP TABLE queue_task AS SELECT * FROM main.queue_task;

-- Views of the schema that are made again as temporary ones after each of these files, so that they read the
-- temporary tables instead of those these hide.
CREATE TEMP TABLE remade(name TEXT PRIMARY KEY);
INSERT INTO remade VALUES('queue_diagnostics'), ('hop_reason'), ('function_reason');
-- Behind this file come the tables of wait_sums.h and queue_sums.h.
