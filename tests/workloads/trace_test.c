/* SPDX-License-Identifier: GPL-2.0-only */
/* The smallest handoff: the main thread passes tasks through a queue to a worker. */
#include <pthread.h>
#include <stdlib.h>
#include "queue.h"
#include "truth.h"

#define RESULT 0x123456

struct task {
	struct truth_hop truth;
};

static struct queue tasks;

TRACED void submit_async_task(struct task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
	queue_put(&tasks, task);
}

TRACED uint64_t function_to_trace(struct task *task)
{
	task->truth.start_ns = truth_now();
	task->truth.target_tid = truth_tid();
	task->truth.cpu_ns = truth_cpu();
	workload_sleep_us(1000);
	task->truth.cpu_ns = truth_cpu() - task->truth.cpu_ns;
	task->truth.end_ns = truth_now();
	return RESULT;
}

static void *worker_main(void *arg)
{
	uint64_t *wrong = arg;
	struct task *task;

	while ((task = queue_get(&tasks))) {
		*wrong += function_to_trace(task) != RESULT;
		truth_add_hop(&task->truth);
		free(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "trace_test",
		.about = "the main thread hands tasks to a worker",
		.trace = "--ret --time function_to_trace",
	};
	uint64_t i, wrong = 0;
	pthread_t worker;

	workload_begin(&me, argc, argv);
	queue_init(&tasks, 16);
	pthread_create(&worker, NULL, worker_main, &wrong);
	for (i = 0; workload_goes_on(i); i++) {
		struct task *task = calloc(1, sizeof(*task));

		if (!task)
			abort();
		task->truth = (struct truth_hop){
			.request = i + 1,
			.key = (uint64_t)task,
			.source = "submit_async_task",
			.target = "function_to_trace",
		};
		submit_async_task(task);
		workload_sleep_us(20000);
	}
	queue_close(&tasks);
	pthread_join(worker, NULL);
	return workload_end() || wrong;
}
