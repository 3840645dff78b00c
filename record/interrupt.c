/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals. A handler, not only a descriptor in the loop: while the reader of a pipe reads nothing
 * the loop is stuck in writing, and the second Ctrl-C must end the program all the same. Must not
 * know what is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "interrupt.h"

static volatile sig_atomic_t next_kills, child_group;
static int event_fd = -1, user_fd = -1;

static void die(int sig)
{
	if (child_group > 0)
		kill(-child_group, SIGKILL);
	signal(sig, SIG_DFL);
	raise(sig); /* when the handler returns */
}

static void on_signal(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	/* Without a word to the loop the first signal would be lost: then it is the last, too. */
	if (next_kills || write(event_fd, &one, sizeof(one)) < 0)
		die(sig);
	next_kills = 1;
	errno = saved;
}

int cw_interrupt_init(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
	size_t i;

	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event_fd < 0)
		return -errno;
	sigemptyset(&act.sa_mask);
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaddset(&act.sa_mask, signals[i]);
	}
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (signals[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		if (sigaction(signals[i], &act, NULL))
			return -errno;
	}
	return event_fd;
}

static void on_user(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)sig;
	if (write(user_fd, &one, sizeof(one)) < 0)
		errno = 0; /* as many are waiting as can be counted */
	errno = saved;
}

int cw_interrupt_user(void)
{
	struct sigaction act = {.sa_handler = on_user, .sa_flags = SA_RESTART};

	user_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (user_fd < 0)
		return -errno;
	sigemptyset(&act.sa_mask);
	return sigaction(SIGUSR1, &act, NULL) ? -errno : user_fd;
}

void cw_interrupt_child(pid_t group)
{
	child_group = group;
}

void cw_interrupt_next_kills(void)
{
	next_kills = 1;
}
