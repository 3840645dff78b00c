/* SPDX-License-Identifier: GPL-2.0-only */
/* A bounded first-in first-out queue of pointers between threads, as ordinary programs have them.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty;
	pthread_cond_t not_full;
	void **items;
	size_t size, head, count;
	bool closed;
};

static inline void queue_init(struct queue *q, size_t size)
{
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->not_empty, NULL);
	pthread_cond_init(&q->not_full, NULL);
	q->items = calloc(size, sizeof(*q->items));
	if (!q->items)
		abort();
	q->size = size;
	q->head = q->count = 0;
	q->closed = false;
}

static inline void queue_put(struct queue *q, void *item)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == q->size)
		pthread_cond_wait(&q->not_full, &q->lock);
	q->items[(q->head + q->count++) % q->size] = item;
	pthread_cond_signal(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

/* The oldest item; NULL when the queue is closed and empty. */
static inline void *queue_get(struct queue *q)
{
	void *item = NULL;

	pthread_mutex_lock(&q->lock);
	while (!q->count && !q->closed)
		pthread_cond_wait(&q->not_empty, &q->lock);
	if (q->count) {
		item = q->items[q->head];
		q->head = (q->head + 1) % q->size;
		q->count--;
		pthread_cond_signal(&q->not_full);
	}
	pthread_mutex_unlock(&q->lock);
	return item;
}

/* Take back an item that nobody got yet. */
static inline bool queue_remove(struct queue *q, const void *item)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&q->lock);
	for (i = 0; i < q->count; i++) {
		if (!found && q->items[(q->head + i) % q->size] == item)
			found = true;
		if (found && i + 1 < q->count)
			q->items[(q->head + i) % q->size] = q->items[(q->head + i + 1) % q->size];
	}
	if (found) {
		q->count--;
		pthread_cond_signal(&q->not_full);
	}
	pthread_mutex_unlock(&q->lock);
	return found;
}

static inline void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

#endif
