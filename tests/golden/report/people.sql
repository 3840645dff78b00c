-- SPDX-License-Identifier: GPL-2.0-only
-- What the fixtures share: a process of three threads, one of which has a hostile name.
PRAGMA application_id = 0x63776462;
PRAGMA user_version = 1;
INSERT INTO capture_info VALUES('imported', '1'), ('arch', 'x86_64'), ('host', 'box'),
	('kernel', '6.1.0-13-amd64 #1 SMP'), ('cmdline', 'callweave-record -p 100 write_result'),
	('start_ts', 1000000000), ('end_ts', 3000000000), ('start_mono_ns', '1000000000'),
	('start_wall_ns', '1795958609000000000'), ('utc_offset_s', '3600'),
	('events', 1234567), ('events.probe_entry', 1000000), ('events.probe_return', 234567),
	('events.fork', 0), ('end_text', 'the target exited');
INSERT INTO syscall_name VALUES(202, 'futex'), (1, 'write');
INSERT INTO process(upid, pid, rec_pid, name, traced) VALUES(1, 5100, 100, 'pool', 1);
INSERT INTO thread(utid, upid, tid, rec_tid, name, traced) VALUES(1, 1, 5100, 100, 'pool', 1),
	(2, 1, 5101, 101, 'compute', 1), (3, 1, 5102, 102, 'storage' || char(27) || '[31m', 1);
INSERT INTO module(module_id, path, name) VALUES(1, '/usr/bin/pool', 'pool'),
	(2, '/lib/libc.so.6', 'libc.so.6');
INSERT INTO stack VALUES(1, 1, 'user', 2, 0, 0, 0, 1, 0, 0, 'frame pointers', NULL), (2, 1, 'user', 3, 0, 0, 0, 1, 0, 0, 'frame pointers', NULL);
INSERT INTO frame VALUES(1, 1, 4096, 93824992235520, 0), (2, 1, 8192, 93824992239616, 1),
	(3, 2, 500, 140737348001000, 1);
INSERT INTO stack_frame VALUES(1, 0, 1), (1, 1, 2), (2, 0, 1), (2, 1, 2), (2, 2, 3);
INSERT INTO symbol VALUES(1, 0, 'write_result', 4, 'src/pool.c', 88),
	(2, 0, 'store', NULL, 'src/pool.c', 10), (2, 1, 'storage_main', 30, 'src/pool.c', 120),
	(3, 0, NULL, NULL, NULL, NULL);
INSERT INTO probe VALUES(0, 'submit_compute', 1, 1, 1, 0, 0, 0, 0, 2), (1, 'process', 1, 1, 1, 1, 0, 0, 0, 1),
	(2, 'submit_storage', 1, 1, 1, 0, 0, 0, 0, 2), (3, 'write_result', 1, 1, 1, 1, 0, 0, 1, 1);
