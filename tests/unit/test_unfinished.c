/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/unfinished.o */
/* A file with a temporary name ends as a whole one, or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unfinished.h"

static char dir[] = "/tmp/callweave-unfinished.XXXXXX";
static char path[sizeof(dir) + 8];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a", dir);
	return 0;
}

/* Fails when a test left anything behind. */
static int remove_folder(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void is_there_when_whole(void **state)
{
	struct stat st;
	char *name;
	int fd = cw_unfinished_new(&name, path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "whole", 5), 5);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	assert_int_equal(cw_unfinished_end(name, path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5);
	unlink(path);
}

static void is_gone_when_given_up(void **state)
{
	char *name;

	(void)state;
	close(cw_unfinished_new(&name, path));
	assert_int_equal(cw_unfinished_end(name, NULL), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	close(cw_unfinished_new(&name, path));
	assert_int_equal(cw_unfinished_end(name, "/nonexistent/a"), -ENOENT);
}

static void no_folder_no_file(void **state)
{
	char *name = dir;

	(void)state;
	assert_int_equal(cw_unfinished_new(&name, "/nonexistent/a"), -ENOENT);
	assert_null(name);
}

/* How a child ends that gets sig while a file is unfinished. */
static int killed_by(int sig, sighandler_t before)
{
	int status = -1;
	char *name;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		signal(sig, before);
		cw_unfinished_new(&name, path);
		raise(sig);
		cw_unfinished_end(name, NULL);
		_exit(7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void is_gone_after_a_signal(void **state)
{
	(void)state;
	assert_int_equal(killed_by(SIGINT, SIG_DFL), SIGINT);
	assert_int_equal(killed_by(SIGTERM, SIG_DFL), SIGTERM);
	assert_int_equal(killed_by(SIGHUP, SIG_DFL), SIGHUP);
}

static void nohup_stays(void **state)
{
	(void)state;
	assert_int_equal(killed_by(SIGHUP, SIG_IGN), -7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_there_when_whole), cmocka_unit_test(is_gone_when_given_up),
		cmocka_unit_test(no_folder_no_file),   cmocka_unit_test(is_gone_after_a_signal),
		cmocka_unit_test(nohup_stays),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
