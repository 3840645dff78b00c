-- SPDX-License-Identifier: GPL-2.0-only
-- Names that are HTML, script, too long, from right to left, commands to a terminal, or what parts the fields of a format; and a
-- chain without an end.
CREATE TEMP TABLE evil(n INTEGER PRIMARY KEY, name TEXT);
INSERT INTO evil(name) VALUES('</script><script>injected=1</script>'), ('"><img src=x onerror=injected=1>'),
	(printf('%.80c', 'W')), ('a' || char(27) || '[31mred' || char(8238) || 'txt.exe'),
	('std::map<std::__cxx11::basic_string<char>, ' || printf('%.250c', 'x') || '>::operator[](int const&)'),
	('<!-- \";' || char(10) || 'two');
UPDATE thread SET name = (SELECT name FROM evil WHERE n = 1 + utid % 6) WHERE traced;
UPDATE process SET name = (SELECT name FROM evil WHERE n = 1 + upid % 6) WHERE traced;
UPDATE probe SET function = probe_id || (SELECT name FROM evil WHERE n = 1 + probe_id % 6);
UPDATE hop_count SET source = 's' || plan_hop || (SELECT name FROM evil WHERE n = 3),
	target = 't' || plan_hop || (SELECT name FROM evil WHERE n = 1 + plan_hop % 6);
UPDATE symbol SET function = (SELECT name FROM evil WHERE n = 1 + frame_id % 6), file = '<b><i><u>' || file;
CREATE TEMP TABLE open AS SELECT chain_id, hop_count - 1 AS last FROM path ORDER BY queue_ns LIMIT 1 OFFSET 5;
UPDATE path SET work_ns = NULL, flags = 'capture edge', complete = 0 WHERE chain_id IN (SELECT chain_id FROM open);
UPDATE path_hop SET end_ts = NULL, oncpu_ns = NULL, blocked_ns = NULL, runq_ns = NULL, preempted_ns = NULL,
	unknown_ns = NULL WHERE (chain_id, hop_index) IN (SELECT chain_id, last FROM open);
UPDATE capture_info SET value = (SELECT group_concat(name, ' ') FROM evil) WHERE key IN ('cmdline', 'host', 'end_text');
