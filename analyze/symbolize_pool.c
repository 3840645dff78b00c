/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the threads. libelf and libdw handles are never shared between them. */
#include <pthread.h>
#include <stdatomic.h>
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
};

static void *run(void *arg)
{
	struct pool *p = arg;
	size_t i;

	while (!*p->cancel && (i = atomic_fetch_add(&p->next, 1)) < p->count) {
		int err = cw_module_symbolize(p->works[i], p->where, p->cancel);

		if (err)
			atomic_store(&p->err, err);
	}
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

int cw_symbolize_all(struct cw_module_work **works, size_t count,
		     const struct cw_source_places *where, const volatile sig_atomic_t *cancel)
{
	struct pool p = {.works = works, .count = count, .where = where, .cancel = cancel};
	pthread_t threads[MAX_THREADS];
	size_t want = threads_worth(&p), started = 0;

	/* This thread works too. */
	while (started + 1 < want && !pthread_create(&threads[started], NULL, run, &p))
		started++;
	run(&p);
	while (started)
		pthread_join(threads[--started], NULL);
	return atomic_load(&p.err);
}
