/* SPDX-License-Identifier: GPL-2.0-only */
/* Incarnations of processes and threads, and what is known of modules and files. */
#include "mapped_stream.h"

#define A 1001u

static void put_process(struct stream *s, uint64_t ts, uint32_t pid, uint64_t start,
			const char *exe)
{
	REC(CW_PROCESS, process, ts);

	r.pid = pid;
	r.ns_pid = pid - 990;
	r.rec_pid = pid;
	r.start_boottime = start;
	r.flags = 1;
	stream_put_text(s, &r.h, sizeof(r), exe);
}

/* The event names the thread before its record does. */
static void test_placeholder_adopted(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_entry(&s, 100, A, 0, SP, 1);
	put_thread(&s, 150, A, 5000, "late");
	put_return(&s, 200, A, 0, SP, 0);
	put_process(&s, 250, PID, 4000, "/bin/prog");
	put_process(&s, 260, PID, 4000, "/bin/prog");
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || name || ' ' || start_boottime || ' ' || start_ts "
		    "FROM thread",
		    "1 late 5000 100");
	expect_text(&s, "SELECT count(*) || ' ' || exe || ' ' || start_boottime FROM process",
		    "1 /bin/prog 4000");
	expect_text(&s, "SELECT thread_name || ' ' || dur FROM call", "late 100");
	stream_close(&s);
}

/* A tid is used again: after the exit, after an exit that was lost, and by a forked thread. */
static void test_tid_reuse(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_thread(&s, 100, A, 1000, "first");
	put_entry(&s, 110, A, 0, SP, 1);
	put_exit(&s, 120, A, false);
	put_switch(&s, 125, A, 0, DEAD, 0);
	put_entry(&s, 200, A, 0, SP, 2); /* the second one, not introduced yet */
	put_thread(&s, 210, A, 2000, "second");
	put_return(&s, 220, A, 0, SP, 0);
	put_thread(&s, 300, A, 3000, "third"); /* nobody saw the second exit */
	put_entry(&s, 310, A, 0, SP, 3);
	put_return(&s, 320, A, 0, SP, 0);
	put_thread(&s, 390, 1000, 10, "main");
	put_fork(&s, 400, 1000, PID, A, 4000);
	put_entry(&s, 410, A, 0, SP, 4);
	put_return(&s, 420, A, 0, SP, 0);
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(arg1 || ' ' || thread_name || ' ' || coalesce(dur, "
		    "no_return), ', ') "
		    "FROM (SELECT * FROM call ORDER BY slice_id)",
		    "1 first exit, 2 second 20, 3 third 10, 4 main 10");
	expect_int(&s, "SELECT count(DISTINCT utid) FROM slice", 4);
	expect_text(&s,
		    "SELECT group_concat(start_boottime) FROM (SELECT * FROM thread WHERE tid = "
		    "1001 ORDER BY "
		    "utid)",
		    "1000,2000,3000,4000");
	expect_int(&s, "SELECT end_ts FROM thread WHERE name = 'first'", 120);
	stream_close(&s);
}

/* /proc rounds start times down to 10 ms; the same thread must not become two. */
static void test_rounded_start(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 120000000, "/bin/prog");
	put_thread(&s, 100, PID, 120000000, "main");
	put_thread(&s, 110, PID, 123456789, "main2");
	put_process(&s, 120, PID, 120000000, "/bin/prog");
	stream_end(&s);
	expect_text(&s, "SELECT count(*) || ' ' || start_boottime || ' ' || name FROM thread",
		    "1 123456789 main2");
	expect_text(&s, "SELECT count(*) || ' ' || start_boottime || ' ' || name FROM process",
		    "1 123456789 main2");
	stream_close(&s);
}

static void test_pid_reuse(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 100, PID, 1000000001, "one");
	put_exit(&s, 200, PID, true);
	put_switch(&s, 210, PID, 0, DEAD, 0);
	put_process(&s, 300, PID, 2000000001, "/bin/two");
	put_thread(&s, 310, PID, 2000000001, "two");
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(exe || ' ' || coalesce(end_ts, '-') || ' ' || name, ', ') "
		    "FROM (SELECT * "
		    "FROM process ORDER BY upid)",
		    "/bin/one 200 one, /bin/two - two");
	expect_text(&s, "SELECT group_concat(upid) FROM (SELECT * FROM thread ORDER BY utid)",
		    "1,2");
	stream_close(&s);
}

/* A thread that executes a program becomes the leader; calls that were open are over. */
static void test_exec(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 91, PID, 1000000001, "one");
	put_thread(&s, 92, A, 1000000002, "helper");
	put_entry(&s, 100, A, 0, SP, 1);
	put_exit(&s, 110, PID, false);
	put_switch(&s, 120, PID, 0, DEAD, 0);
	{
		struct cw_exec r = {.h = {.type = CW_EXEC, .size = sizeof(r), .ts = 200}};

		r.pid = r.tid = PID;
		r.old_tid = A;
		r.flags = 1;
		stream_put_text(&s, &r.h, sizeof(r), "/bin/two");
	}
	put_entry(&s, 300, PID, 0, SP, 2);
	put_return(&s, 310, PID, 0, SP, 0);
	stream_end(&s);
	expect_text(&s, "SELECT exe FROM process", "/bin/two");
	expect_text(&s,
		    "SELECT group_concat(tid || ' ' || coalesce(dur, no_return), ', ') FROM "
		    "(SELECT * FROM call "
		    "ORDER BY slice_id)",
		    "1001 exit, 1000 10");
	stream_close(&s);
}

/* A fork is another process with its parent's mappings. */
static void test_fork(void **state)
{
	static const uint64_t frames[] = {0x401010};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 91, PID, 1000000001, "one");
	put_module(&s, 1, "/bin/one");
	put_map(&s, 92, 0x400000, 0x500000, 0, 1);
	put_fork(&s, 100, PID, 2000, 2000, 1000000777);
	{
		struct {
			struct cw_stack r;
			uint64_t frames[1];
		} x = {.r = {.h = {.type = CW_STACK, .size = sizeof(x), .ts = 150},
			     .id = 5,
			     .pid = 2000}};

		memcpy(x.frames, frames, sizeof(frames));
		stream_put(&s, &x.r.h);
	}
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(pid || ' ' || coalesce(parent_upid, '-') || ' ' || exe, "
		    "', ') FROM "
		    "(SELECT * FROM process ORDER BY upid)",
		    "1000 - /bin/one, 2000 1 /bin/one");
	assert_string_equal(stack(&s, 5), "one+1010");
	stream_close(&s);
}

static void put_piece(struct stream *s, uint32_t kind, uint64_t offset, uint64_t total,
		      const char *bytes)
{
	REC(CW_BLOB, blob, 1);

	r.module_id = 1;
	r.kind = kind;
	r.offset = offset;
	r.total = total;
	stream_put_text(s, &r.h, sizeof(r), bytes);
}

static void put_blob(struct stream *s, uint64_t offset, uint64_t total, const char *bytes)
{
	put_piece(s, CW_BLOB_SYMBOLS, offset, total, bytes);
}

static void test_payloads(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_blob(&s, 0, 10, "hello");
	put_blob(&s, 7, 10, "gap");
	put_blob(&s, 0, 10, "hello"); /* another epoch begins it again */
	put_blob(&s, 5, 10, "world");
	put_blob(&s, 5, 10, "world");
	put_blob(&s, 0, UINT64_MAX, "huge");
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || kind || ' ' || CAST(data AS TEXT) FROM module_blob",
		    "1 symbols helloworld");
	stream_close(&s);
}

/* Perf maps come again and again, not always larger. */
static void test_payload_again(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 20, "1 1 a long function\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 6, "1 1 b\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 12, "1 1 c\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 6, 12, "2 1 d\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 6, ""); /* begins, and never ends */
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || kind || ' ' || CAST(data AS TEXT) FROM module_blob",
		    "1 perf map 1 1 c\n2 1 d\n");
	stream_close(&s);
}

static void test_file_paths(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	for (int i = 0; i < 4; i++) {
		static const char *const paths[] = {"log.txt/app/var", "[eventfd]", "", "x/"};
		struct cw_file r = {.h = {.type = CW_FILE, .size = sizeof(r), .ts = 1},
				    .id = (uint64_t)i + 1};

		stream_put_text(&s, &r.h, sizeof(r), paths[i]);
	}
	{
		struct cw_file r = {
			.h = {.type = CW_FILE, .size = sizeof(r), .ts = 1}, .id = 9, .family = 2};

		r.protocol = 6;
		r.local_port = 80;
		r.peer_port = 4000;
		memcpy(r.local_addr, (const uint8_t[]){10, 0, 0, 1}, 4);
		memcpy(r.peer_addr, (const uint8_t[]){10, 0, 0, 2}, 4);
		stream_put(&s, &r.h);
	}
	stream_end(&s);
	expect_text(&s, "SELECT group_concat(path, '|') FROM (SELECT * FROM file ORDER BY file_id)",
		    "/var/app/log.txt|[eventfd]||x|tcp 10.0.0.1:80 -> 10.0.0.2:4000");
	stream_close(&s);
}

/* Ids in the recorder's own PID namespace are what users know. */
static void test_namespaces(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	stream_open(s, NULL, "x86_64");
	put_probe(s, 0, "work", true);
	{
		struct cw_process r = {.h = {.type = CW_PROCESS, .size = sizeof(r), .ts = 10}};

		r.pid = PID;
		r.ns_pid = r.rec_pid = 12; /* the recorder is in the same container */
		stream_put(s, &r.h);
	}
	{
		struct cw_thread r = {.h = {.type = CW_THREAD, .size = sizeof(r), .ts = 11}};

		r.pid = PID;
		r.tid = A;
		r.ns_pid = 12;
		r.ns_tid = 13;
		stream_put(s, &r.h);
	}
	put_entry(s, 100, A, 0, SP, 1);
	put_return(s, 110, A, 0, SP, 1);
	stream_end(s);
	expect_text(s, "SELECT pid || ' ' || tid FROM call", "12 13");
	stream_close(s);
}

/* Records full of noise: any of them may be wrong, none may do harm, and what is written adds up.
 */
static void test_noise(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		uint64_t buf[64], x = seed * 0x9e3779b97f4a7c15ull, ts = 1000000;
		struct cw_rec *r = (struct cw_rec *)buf;
		struct stream s;

		stream_open(&s, "sub,1,run,auto;run,2,last,1", "x86_64");
		put_probe(&s, 0, "sub", true);
		put_probe(&s, 1, "run", true);
		put_probe(&s, 2, "last", false);
		for (unsigned i = 0; i < 4000; i++) {
			for (unsigned k = 0; k < 64; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				/* small numbers, so that they meet: ids, flags, keys */
				buf[k] = k > 2 && seed % 2 ? (x & 0x0000000700000007ull) : x;
			}
			r->type = cw_types[x % cw_ntypes].id;
			r->size = (uint16_t)(16 + (x >> 20) % (sizeof(buf) - 16));
			r->cpu = (x >> 40) % 4 ? (uint16_t)((x >> 50) % 3) : 0xffff;
			ts += (x >> 30) % 1000;
			r->ts = (x >> 10) % 500 ? ts : x;
			if (r->ts > ts + 1000 * MS)
				r->ts = ts;
			if (r->type == CW_PLAN_TEXT)
				continue;
			stream_put(&s, r);
		}
		stream_end(&s);
		expect_int(
			&s,
			"SELECT count(*) FROM offcpu WHERE blocked_ns + runq_ns + preempted_ns + "
			"unknown_ns "
			"<> end_ts - ts OR min(blocked_ns, runq_ns, preempted_ns, unknown_ns) < 0",
			0);
		expect_int(&s,
			   "SELECT count(*) FROM slice WHERE oncpu_ns + blocked_ns + runq_ns + "
			   "preempted_ns + "
			   "unknown_ns <> dur OR dur < 0",
			   0);
		stream_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placeholder_adopted),
		cmocka_unit_test(test_tid_reuse),
		cmocka_unit_test(test_rounded_start),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_payload_again),
		cmocka_unit_test(test_file_paths),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
