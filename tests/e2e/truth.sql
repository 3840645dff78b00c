-- SPDX-License-Identifier: GPL-2.0-only
-- Load what a workload wrote with --truth (:file) into tables.
CREATE TABLE line(json TEXT);
INSERT INTO line
SELECT value FROM json_each('[' || replace(rtrim(CAST(readfile(:file) AS TEXT), char(10)), char(10), ',') || ']');

-- Handoffs; start_ns is NULL for a submission that never ran.
CREATE TABLE hop AS
SELECT json ->> 'request' AS request, json ->> 'tag' AS tag, json ->> 'hop' AS hop,
	json ->> 'source' AS source, json ->> 'target' AS target, json ->> 'key_int' AS key,
	json ->> 'submit_ns' AS submit_ns, json ->> 'start_ns' AS start_ns, json ->> 'end_ns' AS end_ns,
	json ->> 'cpu_ns' AS cpu_ns, json ->> 'source_tid' AS source_tid, json ->> 'target_tid' AS target_tid,
	json ->> 'cancelled' AS cancelled, json ->> 'doubled' AS doubled
FROM line WHERE json ->> 'event' = 'hop';
CREATE INDEX hop_submitted ON hop(source_tid, submit_ns);

CREATE TABLE lock AS
SELECT json ->> 'round' AS round, json ->> 'mutex' AS mutex, json ->> 'mutex_int' AS mutex_int,
	json ->> 'start_ns' AS start_ns, json ->> 'end_ns' AS end_ns, json ->> 'cpu_ns' AS cpu_ns,
	json ->> 'held_ns' AS held_ns, json ->> 'released_ns' AS released_ns,
	json ->> 'holder_tid' AS holder_tid, json ->> 'waiter_tid' AS waiter_tid, json ->> 'ret' AS ret
FROM line WHERE json ->> 'event' = 'lock';

CREATE TABLE calls AS
SELECT json ->> 'function' AS function, json ->> 'calls' AS calls, json ->> 'returns' AS returns
FROM line WHERE json ->> 'event' = 'calls';

CREATE TABLE stack AS
SELECT json ->> 'program' AS program, json ->> 'path' AS path, json ->> 'kind' AS kind, json ->> 'tid' AS tid, json ->> 'begin_ns' AS begin_ns,
	json ->> 'end_ns' AS end_ns, json ->> 'functions' AS functions, json ->> 'returns' AS "returns", json ->> 'unwound' AS unwound
FROM line WHERE json ->> 'event' = 'stack';

CREATE TABLE ending AS
SELECT json ->> 'pid' AS pid, json ->> 'hops' AS hops, json ->> 'begin_ns' AS begin_ns,
	json ->> 'end_ns' AS end_ns, json ->> 'voluntary_switches' AS voluntary,
	json ->> 'involuntary_switches' AS involuntary
FROM line WHERE json ->> 'event' = 'end';
DROP TABLE line;
