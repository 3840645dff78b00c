-- SPDX-License-Identifier: GPL-2.0-only
-- Modules of every kind, and what served them.
UPDATE module SET build_id = 'aa11', symbols_from = 'capture', lines_from = '/srv/debug/pool.debug',
	tried = 'capture: names only, no lines; /usr/bin/pool: another build id, bb22: not used; not there: /srv/pool'
	WHERE module_id = 1;
INSERT INTO module(module_id, path, name, symbols_from, tried) VALUES(-1, '[kernel]', '[kernel]', 'capture', NULL),
	(3, '[anon]', '[anon]', 'capture', 'capture: perf map of 3 lines names 1 of 2 addresses'), (4, '[anon]', '[anon]', NULL, NULL),
	(5, '[vdso]', '[vdso]', NULL, NULL), (6, '/memfd:code', 'memfd:code', NULL, NULL),
	(7, '/anon_hugepage', 'anon_hugepage', NULL, NULL), (8, '/dev/shm/x', 'x', NULL, NULL),
	(9, '/lib/never' || char(27) || '[31m.so', 'never.so', NULL, NULL);
INSERT INTO frame VALUES(10, -1, 5, 5, 0), (11, 3, 100, 100, 1), (12, 3, 200, 200, 1), (13, 4, 1, 1, 1), (14, 5, 1, 1, 1),
	(15, 6, 1, 1, 1), (16, 7, 1, 1, 1), (17, 8, 1, 1, 1);
INSERT INTO symbol VALUES(10, 0, 'do_nothing', 0, NULL, NULL), (11, 0, 'made', 0, NULL, NULL);
INSERT INTO module_blob VALUES(1, 'symbols', zeroblob(5000)), (1, 'debug', zeroblob(70000)), (3, 'perf map', zeroblob(33));
INSERT INTO module_unwind VALUES(1, 'capture', NULL), (2, NULL, 'capture: nothing embedded; /lib/libc.so.6: No such file');
