/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the threads. libelf and libdw handles are never shared between them. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "symbolize_pool.h"

#define MAX_THREADS      8
#define CODES_PER_THREAD 256 /* starting a thread costs about what a hundred addresses cost */

struct pool {
	struct cw_module_work **works;
	size_t count;
	const struct cw_source_places *where;
	const volatile sig_atomic_t *cancel;
	atomic_size_t next;
	atomic_int err;
	atomic_size_t done; /* addresses */
	pthread_mutex_t lock;
	pthread_cond_t over;
	size_t running; /* threads; under lock */
};

static void work(struct pool *p)
{
	size_t i;

	while (!*p->cancel && (i = atomic_fetch_add(&p->next, 1)) < p->count) {
		struct cw_module_work *w = p->works[i];
		size_t before = atomic_load(&p->done);
		int err = cw_module_symbolize(w, p->where, p->cancel);

		if (err)
			atomic_store(&p->err, err);
		/* What debug information does not hold is done, too: nothing more will come of it.
		 */
		if (w->parts == 1 && !w->lines_from)
			atomic_compare_exchange_strong(&p->done, &before, before + w->code_count);
	}
}

static void *run(void *arg)
{
	struct pool *p = arg;

	work(p);
	pthread_mutex_lock(&p->lock);
	p->running--;
	pthread_cond_signal(&p->over);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static size_t threads_worth(const struct pool *p)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t i, codes = 0, threads;

	for (i = 0; i < p->count; i++)
		codes += p->works[i]->code_count;
	threads = codes / CODES_PER_THREAD;
	if (threads > p->count)
		threads = p->count;
	if (cpus > 0 && threads > (size_t)cpus)
		threads = cpus;
	return threads > MAX_THREADS ? MAX_THREADS : threads;
}

static void add_ms(struct timespec *t, unsigned ms)
{
	t->tv_sec += ms / 1000;
	t->tv_nsec += (ms % 1000) * 1000000l;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

/* Wait for the threads and show now and then how far they are. */
static void watch(struct pool *p, const struct cw_progress *progress, size_t total)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	add_ms(&next, progress->after_ms ? progress->after_ms : progress->every_ms);
	pthread_mutex_lock(&p->lock);
	/* The threads may be through before this one gets to run. */
	if (!progress->after_ms)
		progress->show(progress->arg, atomic_load(&p->done), total);
	while (p->running) {
		if (pthread_cond_timedwait(&p->over, &p->lock, &next) != ETIMEDOUT)
			continue;
		progress->show(progress->arg, atomic_load(&p->done), total);
		clock_gettime(CLOCK_MONOTONIC, &next);
		add_ms(&next, progress->every_ms);
	}
	pthread_mutex_unlock(&p->lock);
}

static void init(struct pool *p)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->over, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int cw_symbolize_all(struct cw_module_work **works, size_t count,
		     const struct cw_source_places *where, const struct cw_progress *progress,
		     const volatile sig_atomic_t *cancel)
{
	struct pool p = {.works = works, .count = count, .where = where, .cancel = cancel};
	size_t want = threads_worth(&p), started = 0, total = 0, i;
	pthread_t threads[MAX_THREADS];

	init(&p);
	for (i = 0; i < count; i++) {
		works[i]->done = &p.done;
		total += works[i]->part ? 0 : works[i]->code_count;
	}
	/* This thread works, too, unless it has to watch the others. */
	if (progress)
		want = want ? want : 1;
	else
		want = want ? want - 1 : 0;
	p.running = want < MAX_THREADS ? want : MAX_THREADS;
	want = p.running;
	while (started < want && !pthread_create(&threads[started], NULL, run, &p))
		started++;
	pthread_mutex_lock(&p.lock);
	p.running -= want - started;
	pthread_mutex_unlock(&p.lock);
	if (progress && started)
		watch(&p, progress, total);
	else
		work(&p);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_cond_destroy(&p.over);
	pthread_mutex_destroy(&p.lock);
	return atomic_load(&p.err);
}
