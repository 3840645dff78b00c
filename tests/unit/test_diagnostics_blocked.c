/* SPDX-License-Identifier: GPL-2.0-only */
/* Which class and which words a blocked interval gets, and that reasons add up. */
#include <stdio.h>
#include <string.h>
#include "tables_fixture.h"

static int episodes, stacks;

/* First column of the first row, valid until the next call; "none" without a row. */
static const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *text(const char *format, ...)
{
	static char buf[256];
	sqlite3_stmt *s = NULL;
	char *sql = NULL;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&sql, format, ap) >= 0);
	va_end(ap);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(db), sql);
	strcpy(buf, "none");
	if (sqlite3_step(s) == SQLITE_ROW)
		snprintf(buf, sizeof(buf), "%s", (const char *)sqlite3_column_text(s, 0) ?: "NULL");
	sqlite3_finalize(s);
	free(sql);
	return buf;
}

/* System calls get numbers of our own: names are what counts. */
static const char *const calls[] = {
	"",           "nanosleep", "clock_nanosleep", "futex",    "futex_wait",    "poll",
	"epoll_wait", "read",      "write",           "recvfrom", "accept4",       "fsync",
	"wait4",      "flock",     "sendfile",        "mmap",     "pause",         "semtimedop",
	"unlink",     "openat",    "ioctl",           "select",   "io_uring_enter"};

static int number(const char *call)
{
	for (size_t i = 1; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i], call))
			return (int)i;
	return 999; /* one without a name */
}

enum { PIPE = 1, SOCKET, DISK_FILE, TERMINAL, UNNAMED_SOCKET };

static int begin(void **state)
{
	(void)state;
	tables_new();
	episodes = stacks = 0;
	for (size_t i = 1; i < sizeof(calls) / sizeof(*calls); i++)
		run("INSERT INTO syscall_name VALUES(%d, '%s')", (int)i, calls[i]);
	run("INSERT INTO file VALUES(1, NULL, 4480, 12, 77), (2, 'tcp 10.0.0.1:80 -> "
	    "10.0.0.2:999', "
	    "49663, 8, 5), (3, '/data/log', 33188, 65025, 9), (4, '/dev/pts/1', 8576, 24, 4),"
	    " (5, '', 49663, 8, 6)");
	run("INSERT INTO process(upid, pid, traced) VALUES(1, 50, 1);"
	    "INSERT INTO thread(utid, upid, tid, name, traced) VALUES(1, 1, 51, 'me', 1),"
	    " (2, 1, 52, 'helper', 1), (3, 1, 53, 'other', 1)");
	run("INSERT INTO probe(probe_id, function, has_return, single_stepped, no_frame_pointers, "
	    "is_target) VALUES(1, 'outer', 1, 0, 0, 1), (2, 'inner', 1, 0, 0, 1)");
	return 0;
}

/* A kernel stack of these functions, innermost first, separated by blanks. */
static int kernel_stack(const char *functions)
{
	char buf[256], *rest = buf;
	int depth = 0;

	if (!functions)
		return 0;
	stacks++;
	snprintf(buf, sizeof(buf), "%s", functions);
	run("INSERT INTO stack VALUES(%d, NULL, 'kernel', 1, 0, 0, 0, 1, 0, 0, NULL, NULL)",
	    stacks);
	for (char *f; (f = strsep(&rest, " ")); depth++) {
		int frame = 1000 * stacks + depth;

		run("INSERT INTO frame VALUES(%d, -1, 0, 0, 0);"
		    "INSERT INTO stack_frame VALUES(%d, %d, %d);"
		    "INSERT INTO symbol(frame_id, inline_depth, function) VALUES(%d, 0, '%s')",
		    frame, stacks, depth, frame, frame, f);
	}
	return stacks;
}

/* A thread slept from ts for blocked ns and then waited runq ns for a CPU. call: NULL none. */
static int slept(int64_t ts, int64_t blocked, int64_t runq, const char *call, int64_t arg1,
		 int64_t arg2, int file, const char *kernel)
{
	int stack = kernel_stack(kernel);

	episodes++;
	run("INSERT INTO sleep(sleep_id, syscall, arg1, arg2, kernel_stack_id, file_id)"
	    " VALUES(%d, nullif(%d, 0), %lld, %lld, nullif(%d, 0), nullif(%d, 0))",
	    episodes, call ? number(call) : 0, (long long)arg1, (long long)arg2, stack, file);
	run("INSERT INTO episode(offcpu_id, utid, ts, end_ts, state, preempted, blocked_ns, "
	    "runq_ns,"
	    " preempted_ns, unknown_ns, sleep_id) VALUES(%d, 1, %lld, %lld, 1, 0, %lld, %lld, 0, "
	    "0, %d)",
	    episodes, (long long)ts, (long long)(ts + blocked + runq), (long long)blocked,
	    (long long)runq, episodes);
	return episodes;
}

static void is(const char *call, int64_t arg1, int64_t arg2, int file, const char *kernel,
	       const char *class, const char *reason)
{
	int id = slept(1000, 10, 0, call, arg1, arg2, file, kernel);

	assert_string_equal(text("SELECT class FROM blocked_reason WHERE offcpu_id = %d", id),
			    class);
	assert_string_equal(text("SELECT reason FROM blocked_reason WHERE offcpu_id = %d", id),
			    reason);
}

static void test_classes(void **state)
{
	static const char fault[] = "__schedule schedule io_schedule folio_wait_bit filemap_fault "
				    "handle_mm_fault exc_page_fault";

	(void)state;
	is("clock_nanosleep", 1, 0, 0, NULL, "sleep", "clock_nanosleep");
	is("futex", 0x7f00, 128, 0, NULL, "futex", "futex wait 0x0000000000007f00");
	is("futex", 0x7f00, 128 | 9 | 256, 0, NULL, "futex",
	   "futex wait_bitset 0x0000000000007f00");
	is("futex_wait", 0x10, 0, 0, NULL, "futex", "futex wait 0x0000000000000010");
	is("poll", 0x10, 1, PIPE, NULL, "poll", "poll pipe:[77]");
	is("poll", 0x10, 3, SOCKET, NULL, "poll",
	   "poll tcp 10.0.0.1:80 -> 10.0.0.2:999 and 2 more");
	is("epoll_wait", 4, 0x20, 0, NULL, "poll", "epoll_wait");
	is("select", 4, 0x20, 0, NULL, "poll", "select");
	is("read", 3, 0x20, PIPE, NULL, "pipe", "read fd 3 pipe:[77]");
	is("write", 5, 0x20, SOCKET, NULL, "socket", "write fd 5 tcp 10.0.0.1:80 -> 10.0.0.2:999");
	is("recvfrom", 5, 0x20, UNNAMED_SOCKET, NULL, "socket", "recvfrom fd 5 socket:[6]");
	is("accept4", 5, 0, 0, NULL, "socket", "accept4");
	is("read", 6, 0, DISK_FILE, NULL, "disk", "read fd 6 /data/log");
	is("fsync", 6, 0, DISK_FILE, NULL, "disk", "fsync fd 6 /data/log");
	is("unlink", 0x40, 0, 0, NULL, "disk", "unlink");
	is("openat", 0x40, 0, 0, "schedule io_schedule folio_wait_bit", "disk", "openat");
	is("openat", 0x40, 0, 0, "schedule something", "system call", "openat");
	is("read", 0, 0, TERMINAL, NULL, "device", "read fd 0 /dev/pts/1");
	is("sendfile", 7, 6, DISK_FILE, NULL, "disk", "sendfile fd 6 /data/log");
	is("wait4", 0, 0, 0, NULL, "child", "wait4");
	is("flock", 6, 2, DISK_FILE, NULL, "file lock", "flock fd 6 /data/log");
	is("pause", 0, 0, 0, NULL, "signal", "pause");
	is("semtimedop", 0, 0, 0, NULL, "message", "semtimedop");
	is("mmap", 0, 0, 0, "schedule rwsem_down_write_slowpath", "memory", "mmap");
	is("io_uring_enter", 8, 1, 0, NULL, "asynchronous I/O", "io_uring_enter");
	is("not in the table", 1, 2, 0, NULL, "system call", "syscall 999");
	/* Without a system call, and in one that touched a page. */
	is(NULL, 0, 0, 0, fault, "page fault", "page fault, from disk");
	is(NULL, 0, 0, 0, "schedule io_schedule do_swap_page handle_mm_fault exc_page_fault",
	   "page fault", "page fault, from swap");
	is(NULL, 0, 0, 0, "schedule rwsem_down_read_slowpath down_read do_user_addr_fault",
	   "page fault", "page fault, for a lock of the memory map");
	is(NULL, 0, 0, 0,
	   "__traceiter_sched_switch __schedule schedule handle_userfault "
	   "handle_mm_fault",
	   "page fault", "page fault, in handle_userfault");
	is("read", 6, 0, DISK_FILE, fault, "page fault", "page fault, from disk in read");
	is(NULL, 0, 0, 0, "__schedule schedule do_exit", "kernel", "in the kernel, do_exit");
	is(NULL, 0, 0, 0, NULL, "kernel", "in the kernel");
}

static void test_columns(void **state)
{
	int id = slept(10, 5, 0, "read", 3, 0, SOCKET,
		       "__schedule schedule sk_wait_data tcp_recvmsg");

	(void)state;
	run("INSERT INTO waker(waker_id, utid, in_interrupt) VALUES(1, 2, 0);"
	    "UPDATE episode SET waker_id = 1");
	assert_string_equal(
		text("SELECT fd || ' ' || path || ' ' || kernel_function || ' ' || "
		     "waker_utid || ' ' || syscall FROM blocked_reason WHERE offcpu_id = %d",
		     id),
		"3 tcp 10.0.0.1:80 -> 10.0.0.2:999 sk_wait_data 2 read");
	assert_string_equal(text("SELECT address FROM blocked_reason"), "NULL");
	/* Not blocked: preempted, newly created, and what losses hide. */
	run("UPDATE episode SET state = 0, preempted_ns = blocked_ns, blocked_ns = 0");
	assert_string_equal(text("SELECT reason FROM blocked_reason"), "none");
	run("UPDATE episode SET state = 2048");
	assert_string_equal(text("SELECT reason FROM blocked_reason"), "none");
	run("UPDATE episode SET state = -1, sleep_id = NULL");
	assert_string_equal(text("SELECT reason FROM blocked_reason"), "none");
	run("UPDATE episode SET blocked_ns = 3");
	assert_string_equal(text("SELECT reason FROM blocked_reason"),
			    "unknown, records were lost");
}

static void call(int probe, int64_t ts, int64_t dur, int64_t oncpu)
{
	run("INSERT INTO slice(ts, dur, utid, probe_id, depth, oncpu_ns, touched_by_loss)"
	    " VALUES(%lld, %lld, 1, %d, 0, %lld, 0)",
	    (long long)ts, (long long)dur, probe, (long long)oncpu);
}

static void test_sums(void **state)
{
	int id;

	(void)state;
	/* outer [0, 1000): sleeps 100, reads 300 and then waits 80 for the CPU, of which others
	 * had 70. */
	call(1, 0, 1000, 520);
	call(2, 350, 500, 120);
	slept(100, 100, 0, "nanosleep", 0, 0, 0, NULL);
	id = slept(400, 300, 80, "read", 3, 0, PIPE, NULL);
	run("UPDATE episode SET ran_utid = 2, ran_ns = 50 WHERE offcpu_id = %d;"
	    "INSERT INTO ran_later VALUES(%d, 750, 20, 3)",
	    id, id);
	run("INSERT INTO waker(waker_id, utid, in_interrupt) VALUES(1, 3, 0);"
	    "UPDATE episode SET waker_id = 1 WHERE offcpu_id = %d",
	    id);
	slept(1000, 5, 0, "nanosleep", 0, 0, 0, NULL); /* after both */
	run("UPDATE thread SET name = 'helper' WHERE utid = 3");
	assert_string_equal(
		text("SELECT group_concat(x, ', ') FROM (SELECT class || ' ' || reason || "
		     "' ' || count || ' ' || ns AS x FROM function_reason WHERE function = "
		     "'outer' ORDER BY ns DESC)"),
		"on CPU on CPU 1 520, pipe read fd 3 pipe:[77] 1 300, sleep nanosleep 1 100, "
		"run queue helper ran instead 2 70, run queue the CPU had to switch 1 10");
	assert_string_equal(
		text("SELECT sum(ns) || ' ' || round(sum(share), 6) FROM function_reason"
		     " WHERE function = 'inner'"),
		"500 1.0");
	assert_string_equal(text("SELECT other_utid || ' ' || others FROM function_reason"
				 " WHERE function = 'inner' AND class = 'pipe'"),
			    "3 1");
	/* Of two helpers the one that ran longer. */
	assert_string_equal(text("SELECT other_utid || ' ' || others FROM function_reason"
				 " WHERE function = 'inner' AND reason = 'helper ran instead'"),
			    "2 2");
	/* A call of unknown parts does not count. */
	call(1, 5000, 77, 0);
	slept(5010, 20, 0, "nanosleep", 0, 0, 0, NULL);
	run("UPDATE slice SET oncpu_ns = NULL WHERE dur = 77");
	assert_string_equal(text("SELECT sum(ns) FROM function_reason WHERE function = 'outer'"),
			    "1000");
}

static void test_hops(void **state)
{
	(void)state;
	call(2, 0, 1, 1);
	call(1, 100, 500, 200);
	run("INSERT INTO hop_count VALUES(0, 'put', 'outer', 0, 0, 0, 0, 0, 0, 0, 0, 0);"
	    "INSERT INTO edge(kind, plan_hop, key, src_utid, src_ts, src_slice, dst_utid, dst_ts,"
	    " dst_slice, match, candidates, evidence)"
	    " VALUES('async', 0, 9, 2, 0, 1, 1, 100, 2, 'newest', 1, 'exact')");
	slept(150, 200, 0, "futex", 16, 0, 0, NULL);
	slept(400, 0, 100, NULL, 0, 0, 0, NULL);
	run("UPDATE episode SET state = 0, preempted_ns = 100, runq_ns = 0, ran_utid = 3, ran_ns = "
	    "100"
	    " WHERE offcpu_id = 2");
	slept(50, 20, 0, "futex", 16, 0, 0, NULL); /* before the work */
	assert_string_equal(
		text("SELECT group_concat(x, ', ') FROM (SELECT class || ' ' || reason || "
		     "' ' || ns || ' ' || share AS x FROM hop_reason ORDER BY ns DESC, class)"),
		"futex futex wait 0x0000000000000010 200 0.4, on CPU on CPU 200 0.4, "
		"preempted other ran instead 100 0.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_classes, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_columns, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_sums, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_hops, begin, tables_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
