/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two thread pools with bounded queues. Requests come in bursts, faster than the pools work, so
 * that queues grow; the work of both stages is mostly sleeping.
 */
#include <pthread.h>
#include <stdlib.h>
#include "queue.h"
#include "truth.h"

#define COMPUTE_WORKERS 2
#define STORAGE_WORKERS 4
#define QUEUE_SIZE      8

struct task {
	uint64_t number;
	struct truth_hop truth;
};

struct pool {
	struct queue queue;
	void (*run)(struct task *task);
	pthread_t threads[STORAGE_WORKERS];
	unsigned int workers;
};

static struct pool compute_pool, storage_pool;

static struct task *task_new(uint64_t number, uint32_t hop, const char *source, const char *target)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->number = number;
	task->truth = (struct truth_hop){
		.request = number,
		.key = (uint64_t)task,
		.hop = hop,
		.source = source,
		.target = target,
	};
	return task;
}

TRACED void submit_compute_task(struct pool *pool, struct task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
	queue_put(&pool->queue, task);
}

TRACED void submit_storage_task(struct pool *pool, struct task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
	queue_put(&pool->queue, task);
}

TRACED void process_request(struct task *task)
{
	uint64_t cpu;
	struct task *next;

	task->truth.start_ns = truth_now();
	cpu = truth_cpu();
	task->truth.target_tid = truth_tid();
	next = task_new(task->number, 1, "submit_storage_task", "write_result");
	workload_sleep_us(20000);
	workload_spin_us(80);
	task->truth.cpu_ns = truth_cpu() - cpu;
	task->truth.end_ns = truth_now();
	submit_storage_task(&storage_pool, next);
}

TRACED void write_result(struct task *task)
{
	uint64_t cpu;

	task->truth.start_ns = truth_now();
	cpu = truth_cpu();
	task->truth.target_tid = truth_tid();
	workload_sleep_us(50000);
	workload_spin_us(60);
	task->truth.cpu_ns = truth_cpu() - cpu;
	task->truth.end_ns = truth_now();
}

static void *pool_worker_main(void *arg)
{
	struct pool *pool = arg;
	struct task *task;

	while ((task = queue_get(&pool->queue))) {
		pool->run(task);
		truth_add_hop(&task->truth);
		free(task);
	}
	return NULL;
}

static void pool_start(struct pool *pool, unsigned int workers, void (*run)(struct task *task))
{
	unsigned int i;

	queue_init(&pool->queue, QUEUE_SIZE);
	pool->run = run;
	pool->workers = workers;
	for (i = 0; i < workers; i++)
		pthread_create(&pool->threads[i], NULL, pool_worker_main, pool);
}

static void pool_stop(struct pool *pool)
{
	unsigned int i;

	queue_close(&pool->queue);
	for (i = 0; i < pool->workers; i++)
		pthread_join(pool->threads[i], NULL);
}

TRACED void handle_burst(uint64_t first, uint64_t requests)
{
	uint64_t i;

	for (i = 0; i < requests; i++)
		submit_compute_task(&compute_pool, task_new(first + i, 0, "submit_compute_task",
							    "process_request"));
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "trace_thread_pool_test",
		.about = "requests in bursts pass two thread pools with bounded queues",
		.trace = "--async-hop submit_compute_task,2,process_request,1 "
			 "--async-hop submit_storage_task,2,write_result,1 write_result",
	};
	uint64_t i, n, seed;

	workload_begin(&me, argc, argv);
	seed = workload_seed;
	pool_start(&storage_pool, STORAGE_WORKERS, write_result);
	pool_start(&compute_pool, COMPUTE_WORKERS, process_request);
	for (i = 0; workload_goes_on(i); i += n) {
		n = 3 + workload_random(&seed) % 6;
		if (workload_count && n > workload_count - i)
			n = workload_count - i;
		handle_burst(i + 1, n);
		workload_sleep_us(60000);
	}
	pool_stop(&compute_pool);
	pool_stop(&storage_pool);
	return workload_end();
}
