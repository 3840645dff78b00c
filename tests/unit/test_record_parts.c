/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/pidset.o record/exec.o record/output.o record/target.o record/mapped.o */
/* LINK: record/needed.o record/cgroup.o record/newborn.o record/modopen.o record/snapshot.o */
/* LINK: record/elffile.o */
/* LINK: record/resolve.o record/debugfile.o record/nearest.o record/cxxname.o */
/* The recorder's parts that need neither privileges nor a kernel: sets, children, files, targets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../record/exec.h"
#include "../../record/output.h"
#include "../../record/pidset.h"
#include "../../record/resolve.h"
#include "../../record/target.h"

static void pidset(void **state)
{
	struct cw_pidset s = {0};
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_true(cw_pidset_add(&s, i * 7919 % 1000));
	assert_false(cw_pidset_add(&s, 500));
	assert_int_equal(s.n, 1000);
	for (i = 1; i < s.n; i++)
		assert_true(s.ids[i - 1] < s.ids[i]);
	cw_pidset_remove(&s, 500);
	cw_pidset_remove(&s, 5000);
	assert_false(cw_pidset_has(&s, 500));
	assert_true(cw_pidset_has(&s, 499));
	assert_true(cw_pidset_has(&s, 999));
	assert_false(cw_pidset_has(&s, 1000));
	cw_pidset_free(&s);
	assert_false(cw_pidset_has(&s, 1));
}

static void finds_programs_as_a_shell_does(void **state)
{
	char *path;

	(void)state;
	path = cw_exec_find("sh");
	assert_non_null(path);
	assert_int_equal(access(path, X_OK), 0);
	free(path);
	assert_null(cw_exec_find("no-such-program-here"));
	assert_null(cw_exec_find("/etc/passwd"));
	assert_null(cw_exec_find("/nonexistent/x"));
}

/* The name of what a process executes; waits up to 10 s for one that is wanted. */
static const char *program_of(const char *path, const char *wanted)
{
	static char comm[64];
	FILE *f;

	for (int i = 0; i < 1000; i++) {
		f = fopen(path, "r");
		assert_non_null(f);
		assert_non_null(fgets(comm, sizeof(comm), f));
		fclose(f);
		if (!wanted || !strcmp(comm, wanted))
			break;
		usleep(10000);
	}
	return comm;
}

/* The child does nothing before it is told to, and is gone afterwards whatever it does. */
static void child_waits_and_is_stopped(void **state)
{
	char *argv[] = {"sh", "-c", "trap '' TERM; echo on >&2; exec sleep 100", NULL};
	char err[CW_ERR] = "", path[64];
	struct timespec begin, end;
	struct cw_child *c;

	(void)state;
	unsetenv("SUDO_UID");
	assert_int_equal(cw_child_start(&c, "/bin/sh", argv, false, err), 0);
	snprintf(path, sizeof(path), "/proc/%d/comm", cw_child_pid(c));
	usleep(50000);
	assert_string_not_equal(program_of(path, NULL), "sh\n");
	assert_int_equal(cw_child_go(c, err), 0);
	/* By then it ignores SIGTERM. */
	assert_string_equal(program_of(path, "sleep\n"), "sleep\n");
	assert_int_equal(kill(cw_child_pid(c), 0), 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	cw_child_stop(c);
	clock_gettime(CLOCK_MONOTONIC, &end);
	/* It ignored SIGTERM: two seconds of grace, then SIGKILL. */
	assert_in_range(end.tv_sec - begin.tv_sec, 1, 4);
	assert_int_equal(access(path, F_OK), -1);
	cw_child_free(c);
}

static void child_that_cannot_execute(void **state)
{
	char *argv[] = {"x", NULL}, err[CW_ERR] = "";
	struct cw_child *c;

	(void)state;
	assert_int_equal(cw_child_start(&c, "/etc/passwd", argv, false, err), 0);
	assert_int_equal(cw_child_go(c, err), -EACCES);
	assert_non_null(strstr(err, "ermission"));
	cw_child_free(c);
}

/* A recorder that fails before the target was let go leaves nothing behind. */
static void child_never_let_go(void **state)
{
	char *argv[] = {"sh", NULL}, err[CW_ERR] = "";
	struct cw_child *c;
	pid_t pid;

	(void)state;
	assert_int_equal(cw_child_start(&c, "/bin/sh", argv, false, err), 0);
	pid = cw_child_pid(c);
	cw_child_free(c);
	assert_int_equal(kill(pid, 0), -1);
	cw_child_free(NULL);
}

static void output_is_private_and_removed_when_unused(void **state)
{
	char dir[] = "/tmp/cw-output-XXXXXX", path[64], err[CW_ERR] = "";
	struct cw_output o;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.cwc", dir);
	assert_int_equal(cw_output_open(&o, path, err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(cw_output_close(&o, false), 0);
	assert_int_equal(access(path, F_OK), 0);
	/* What was there before is not the recorder's to remove. */
	assert_int_equal(cw_output_open(&o, path, err), 0);
	assert_int_equal(cw_output_close(&o, true), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cw_output_open(&o, path, err), 0);
	assert_int_equal(cw_output_close(&o, true), 0);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/no/b.cwc", dir);
	assert_int_equal(cw_output_open(&o, path, err), -ENOENT);
	assert_non_null(strstr(err, path));
	rmdir(dir);
}

static void targets_that_are_none(void **state)
{
	char err[CW_ERR] = "";
	pid_t pid = 0x3fffffff;
	struct cw_options o = {.output = "x", .pids = &pid, .npids = 1};
	struct cw_target_files files;
	struct cw_target t;

	(void)state;
	assert_int_equal(cw_target_open(&t, &o, err), -ESRCH);
	assert_non_null(strstr(err, "no such process: 1073741823"));
	cw_target_close(&t);
	o.npids = 0;
	o.binary = "/nonexistent/program";
	assert_int_equal(cw_target_open(&t, &o, err), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/program"));
	cw_target_close(&t);
	o.binary = "/";
	assert_int_equal(cw_target_open(&t, &o, err), -ENOEXEC);
	cw_target_close(&t);
	o.binary = NULL;
	pid = getpid();
	o.npids = 1;
	assert_int_equal(cw_target_open(&t, &o, err), 0);
	assert_int_equal(cw_target_modules(&t, "no-such-library.so", &files, err), -ENOENT);
	assert_non_null(strstr(err, "no-such-library.so"));
	cw_target_close(&t);
}

static void note_pid(void *arg, uint32_t pid)
{
	if (pid == (uint32_t)getpid())
		*(int *)arg += 1;
}

static void finds_itself_by_its_file_and_libraries(void **state)
{
	pid_t pid = getpid();
	struct cw_options o = {.output = "x", .pids = &pid, .npids = 1};
	char err[CW_ERR] = "";
	struct cw_target_files files;
	struct cw_target t;
	int found = 0;

	(void)state;
	assert_int_equal(cw_target_open(&t, &o, err), 0);
	assert_int_equal(t.own.n, 1);
	cw_target_scan(&t, note_pid, &found);
	assert_int_equal(found, 1);
	assert_int_equal(cw_target_modules(&t, "libc.so.6", &files, err), 0);
	assert_int_equal(files.n, 1);
	assert_non_null(strstr(files.at[0].path, "/libc.so.6"));
	cw_target_files_free(&files);
	cw_target_close(&t);
}

/* Before a program runs, its libraries are where the dynamic loader will find them. */
static void finds_libraries_of_a_program_that_does_not_run(void **state)
{
	struct cw_options o = {.output = "x", .binary = "/proc/self/exe"};
	char err[CW_ERR] = "";
	struct cw_target_files files;
	struct cw_target t;

	(void)state;
	assert_int_equal(cw_target_open(&t, &o, err), 0);
	assert_true(t.by_file);
	t.own.at[0].ino++; /* nobody runs that one */
	assert_int_equal(cw_target_modules(&t, "libcmocka.so.0", &files, err), 0);
	assert_non_null(strstr(files.at[0].path, "/libcmocka.so.0"));
	cw_target_files_free(&files);
	assert_int_equal(cw_target_modules(&t, "libnosuch.so.1", &files, err), -ENOENT);
	assert_non_null(strstr(err, "libnosuch.so.1"));
	cw_target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pidset),
		cmocka_unit_test(finds_programs_as_a_shell_does),
		cmocka_unit_test(child_waits_and_is_stopped),
		cmocka_unit_test(child_that_cannot_execute),
		cmocka_unit_test(child_never_let_go),
		cmocka_unit_test(output_is_private_and_removed_when_unused),
		cmocka_unit_test(targets_that_are_none),
		cmocka_unit_test(finds_itself_by_its_file_and_libraries),
		cmocka_unit_test(finds_libraries_of_a_program_that_does_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
