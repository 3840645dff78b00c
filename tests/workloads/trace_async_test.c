/* SPDX-License-Identifier: GPL-2.0-only */
/* Three threads and two queues: a request is accepted, processed and written, each by its own
 * thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "queue.h"
#include "truth.h"

struct request {
	uint64_t number;
	struct truth_hop truth;
};

struct storage_task {
	struct truth_hop truth;
};

static struct queue request_queue, storage_queue;

TRACED void enqueue_request(struct queue *queue, struct request *request)
{
	request->truth.submit_ns = truth_now();
	request->truth.source_tid = truth_tid();
	queue_put(queue, request);
}

TRACED void enqueue_storage_task(struct queue *queue, struct storage_task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
	queue_put(queue, task);
}

TRACED void process_request(struct request *request)
{
	uint64_t start = truth_now(), cpu = truth_cpu();
	struct storage_task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	workload_sleep_us(2000);
	workload_spin_us(300);
	task->truth = (struct truth_hop){
		.request = request->number,
		.key = (uint64_t)task,
		.hop = 1,
		.source = "enqueue_storage_task",
		.target = "write_result",
	};
	request->truth.start_ns = start;
	request->truth.target_tid = truth_tid();
	request->truth.cpu_ns = truth_cpu() - cpu;
	request->truth.end_ns = truth_now();
	enqueue_storage_task(&storage_queue, task);
}

TRACED void write_result(struct storage_task *task)
{
	task->truth.start_ns = truth_now();
	task->truth.target_tid = truth_tid();
	task->truth.cpu_ns = truth_cpu();
	workload_sleep_us(3000);
	workload_spin_us(100);
	task->truth.cpu_ns = truth_cpu() - task->truth.cpu_ns;
	task->truth.end_ns = truth_now();
}

static void *process_worker_main(void *arg)
{
	struct request *request;

	(void)arg;
	while ((request = queue_get(&request_queue))) {
		process_request(request);
		truth_add_hop(&request->truth);
		free(request);
	}
	queue_close(&storage_queue);
	return NULL;
}

static void *storage_worker_main(void *arg)
{
	struct storage_task *task;

	(void)arg;
	while ((task = queue_get(&storage_queue))) {
		write_result(task);
		truth_add_hop(&task->truth);
		free(task);
	}
	return NULL;
}

TRACED void http_handler(uint64_t number)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		abort();
	request->number = number;
	request->truth = (struct truth_hop){
		.request = number,
		.key = (uint64_t)request,
		.source = "enqueue_request",
		.target = "process_request",
	};
	enqueue_request(&request_queue, request);
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "trace_async_test",
		.about = "a request passes three threads and two queues",
		.trace = "--async-hop enqueue_request,2,process_request,1 "
			 "--async-hop enqueue_storage_task,2,write_result,1 write_result",
	};
	pthread_t processor, storage;
	uint64_t i, seed;

	workload_begin(&me, argc, argv);
	seed = workload_seed;
	queue_init(&request_queue, 64);
	queue_init(&storage_queue, 64);
	pthread_create(&processor, NULL, process_worker_main, NULL);
	pthread_create(&storage, NULL, storage_worker_main, NULL);
	for (i = 0; workload_goes_on(i); i++) {
		http_handler(i + 1);
		workload_sleep_us(1000 + workload_random(&seed) % 5000);
	}
	queue_close(&request_queue);
	pthread_join(processor, NULL);
	pthread_join(storage, NULL);
	return workload_end();
}
