/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the input of follow. A file that grows becomes a pipe that a thread fills, so that reading
 * it is like reading a stream. Must not know what is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "follow.h"
#include "say.h"

#define LOOK_AGAIN_NS 50000000l
#define PIPE_SIZE     (1 << 20) /* what anybody may have; a second or two of a busy stream */
#define PIECE         65536u

struct cw_tail {
	int fd;      /* of the file or stream */
	int pipe[2]; /* -1 when the stream is read itself */
	pthread_t thread;
	bool running;
	atomic_bool last, stop;
};

/* A read lease is given only for files that nobody has open for writing. */
static bool nobody_writes(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

static bool put_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static void *copy_thread(void *arg)
{
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
	struct cw_tail *t = arg;
	char *piece = malloc(PIECE);
	bool over = false;

	while (piece && !t->stop) {
		ssize_t n = read(t->fd, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (n > 0 && !put_all(t->pipe[1], piece, (size_t)n)))
			break;
		if (n > 0)
			continue;
		/* What was written before the last writer went away is there when we look again. */
		if (over)
			break;
		over = t->last || nobody_writes(t->fd);
		nanosleep(&pause, NULL);
	}
	free(piece);
	close(t->pipe[1]);
	return NULL;
}

static int start(struct cw_tail *t)
{
	sigset_t all, old;
	int err;

	if (pipe2(t->pipe, O_CLOEXEC))
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&t->thread, NULL, copy_thread, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	t->running = !err;
	if (err)
		close(t->pipe[1]);
	return err;
}

int cw_tail_open(struct cw_tail **out, const char *path, int *fd)
{
	bool standard = !strcmp(path, "-");
	struct cw_tail *t = calloc(1, sizeof(*t));
	struct stat st = {0};
	int err = 0;

	if (!t)
		return cw_fail(-ENOMEM, "no memory to read %s", path);
	t->pipe[0] = t->pipe[1] = -1;
	t->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			 : open(path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0 || fstat(t->fd, &st))
		err = -errno;
	signal(SIGIO, SIG_IGN); /* somebody may open the file in the moment of the lease */
	if (!err && S_ISREG(st.st_mode))
		err = start(t);
	if (err) {
		cw_tail_free(t);
		return cw_fail(err, "cannot open %s: %s", *path ? path : "''", strerror(-err));
	}
	*fd = t->running ? t->pipe[0] : t->fd;
	fcntl(*fd, F_SETPIPE_SZ, PIPE_SIZE); /* fails on what is no pipe, which does no harm */
	*out = t;
	return 0;
}

void cw_tail_last(struct cw_tail *t)
{
	t->last = true;
}

void cw_tail_free(struct cw_tail *t)
{
	if (!t)
		return;
	t->stop = true;
	if (t->pipe[0] >= 0)
		close(t->pipe[0]); /* a thread that waits to write gets an error */
	if (t->running)
		pthread_join(t->thread, NULL);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}
