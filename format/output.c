/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing all of a buffer: short writes, interruptions, full pipes and closed ones. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "output.h"

int cw_write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done > 0) {
			p += done;
			n -= done;
		} else if (done < 0 && errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};

			poll(&pfd, 1, -1);
		} else if (done < 0 && errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

int cw_write_quietly(int fd, const uint8_t *p, size_t n)
{
	static const struct timespec now;
	sigset_t pipe_only, old, pending;
	int err;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
	err = cw_write_all(fd, p, n);
	if (err == -EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}
