/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run a command and write what it used: measure FILE COMMAND [ARGUMENT...]. FILE gets "pid N" at
 * once and "wall S cpu S rss KIB status N" (seconds, peak resident size) at the end. The exit
 * status is the command's. SIGINT and SIGTERM are passed on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

static volatile pid_t child;

static void pass_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = pass_on};
	struct rusage ru;
	int status, code;
	double begin;
	FILE *f;

	if (argc < 3 || !(f = fopen(argv[1], "we"))) {
		fprintf(stderr, "usage: measure FILE COMMAND [ARGUMENT...]\n");
		return 2;
	}
	begin = now();
	child = fork();
	if (!child) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	fprintf(f, "pid %d\n", child);
	fflush(f);
	while (wait4(child, &status, 0, &ru) < 0)
		if (errno != EINTR)
			return 2;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(f, "wall %.6f cpu %.6f rss %ld status %d\n", now() - begin,
		seconds(&ru.ru_utime) + seconds(&ru.ru_stime), ru.ru_maxrss, code);
	fclose(f);
	return code;
}
