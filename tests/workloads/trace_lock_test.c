/* SPDX-License-Identifier: GPL-2.0-only */
/* A function waits for a mutex that another thread holds for about 250 ms. */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include "truth.h"

#define HOLD_US 250000

static pthread_mutex_t shared_resource = PTHREAD_MUTEX_INITIALIZER;
static sem_t go, held;
static uint64_t held_since, released_at;
static bool finished;

TRACED void release_shared_resource(void)
{
	released_at = truth_now();
	pthread_mutex_unlock(&shared_resource);
}

TRACED void *lock_holder_main(void *arg)
{
	uint32_t *tid = arg;

	*tid = truth_tid();
	for (;;) {
		while (sem_wait(&go))
			;
		if (finished)
			return NULL;
		pthread_mutex_lock(&shared_resource);
		held_since = truth_now();
		sem_post(&held);
		workload_sleep_us(HOLD_US);
		release_shared_resource();
	}
}

TRACED uint64_t function_to_trace(uint64_t round, uint64_t *start, uint64_t *end, uint64_t *cpu)
{
	uint64_t cpu_start;

	*start = truth_now();
	cpu_start = truth_cpu();
	pthread_mutex_lock(&shared_resource);
	pthread_mutex_unlock(&shared_resource);
	*cpu = truth_cpu() - cpu_start;
	*end = truth_now();
	return 0x123456 + round;
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "trace_lock_test",
		.about = "function_to_trace waits for a mutex that lock_holder_main holds",
		.trace = "--attribution --ret function_to_trace",
	};
	uint64_t i, start, end, cpu, ret;
	uint32_t holder_tid = 0;
	pthread_t holder;

	workload_begin(&me, argc, argv);
	sem_init(&go, 0, 0);
	sem_init(&held, 0, 0);
	pthread_create(&holder, NULL, lock_holder_main, &holder_tid);
	for (i = 0; workload_goes_on(i); i++) {
		sem_post(&go);
		while (sem_wait(&held))
			;
		ret = function_to_trace(i, &start, &end, &cpu);
		truth_note("\"event\":\"lock\",\"round\":%" PRIu64 ",\"mutex\":\"0x%016" PRIx64
			   "\",\"mutex_int\":%" PRId64 ",\"start_ns\":%" PRIu64
			   ",\"end_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"held_ns\":%" PRIu64
			   ",\"released_ns\":%" PRIu64
			   ",\"holder_tid\":%u,\"waiter_tid\":%u,\"ret\":%" PRIu64,
			   i, (uint64_t)&shared_resource, (int64_t)&shared_resource, start, end,
			   cpu, held_since, released_at, holder_tid, truth_tid(), ret);
		workload_sleep_us(20000);
	}
	finished = true;
	sem_post(&go);
	pthread_join(holder, NULL);
	return workload_end();
}
