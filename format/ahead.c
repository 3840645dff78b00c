/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the thread that decodes frames and the ring of items between it and the reader. Must not
 * know what is in a frame, nor what is wrong with it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "ahead.h"

#define AHEAD 3 /* frames decoded ahead */

struct cw_ahead {
	struct cw_frames *frames; /* the thread's while it runs */
	int stop_fd;
	struct cw_item *item; /* the last one given out, or NULL */
	pthread_t thread;
	bool running;
	/* between the two threads */
	pthread_mutex_t lock;
	pthread_cond_t filled, freed;
	struct cw_item items[AHEAD];
	unsigned head, tail; /* items[head..tail) are decoded */
	bool stop;
};

struct cw_ahead *cw_ahead_new(int fd)
{
	struct cw_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->filled, NULL);
	pthread_cond_init(&a->freed, NULL);
	a->stop_fd = eventfd(0, EFD_CLOEXEC);
	a->frames = a->stop_fd >= 0 ? cw_frames_new(fd, a->stop_fd) : NULL;
	if (a->frames)
		return a;
	cw_ahead_free(a);
	return NULL;
}

struct cw_frames *cw_ahead_frames(struct cw_ahead *a)
{
	return a->frames;
}

static void *decode_thread(void *arg)
{
	struct cw_ahead *a = arg;
	bool more = true;

	while (more) {
		struct cw_item *item;

		pthread_mutex_lock(&a->lock);
		while (a->tail - a->head == AHEAD && !a->stop)
			pthread_cond_wait(&a->freed, &a->lock);
		more = !a->stop;
		item = &a->items[a->tail % AHEAD];
		pthread_mutex_unlock(&a->lock);
		if (!more)
			break;
		cw_frames_next(a->frames, item);
		more = item->kind != CW_ITEM_END;
		pthread_mutex_lock(&a->lock);
		a->tail++;
		pthread_cond_signal(&a->filled);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

int cw_ahead_start(struct cw_ahead *a)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&a->thread, NULL, decode_thread, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	a->running = !err;
	return -err;
}

static void stop_thread(struct cw_ahead *a)
{
	uint64_t one = 1;

	if (!a->running)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->freed);
	pthread_mutex_unlock(&a->lock);
	if (write(a->stop_fd, &one, sizeof(one)) < 0)
		pthread_cancel(a->thread); /* an eventfd that was just made always has room */
	pthread_join(a->thread, NULL);
	a->running = false;
}

struct cw_item *cw_ahead_next(struct cw_ahead *a)
{
	struct cw_item *item;

	if (!a->running) {
		a->item = &a->items[0];
		cw_frames_next(a->frames, a->item);
		return a->item;
	}
	pthread_mutex_lock(&a->lock);
	if (a->item) {
		a->head++;
		pthread_cond_signal(&a->freed);
	}
	while (a->head == a->tail)
		pthread_cond_wait(&a->filled, &a->lock);
	item = a->item = &a->items[a->head % AHEAD];
	pthread_mutex_unlock(&a->lock);
	return item;
}

bool cw_ahead_ready(struct cw_ahead *a, const struct timespec *until)
{
	unsigned taken = a->item ? 1 : 0;
	int err = 0;

	if (!a->running)
		return true;
	pthread_mutex_lock(&a->lock);
	while (!err && a->tail - a->head == taken)
		err = pthread_cond_clockwait(&a->filled, &a->lock, CLOCK_MONOTONIC, until);
	pthread_mutex_unlock(&a->lock);
	return !err;
}

void cw_ahead_free(struct cw_ahead *a)
{
	if (!a)
		return;
	stop_thread(a);
	cw_frames_free(a->frames);
	for (int i = 0; i < AHEAD; i++)
		free(a->items[i].mem);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->filled);
	pthread_cond_destroy(&a->freed);
	free(a);
}
