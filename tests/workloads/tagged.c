/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Uniquely tagged requests through two pools whose task structs come from a small free list, last
 * freed first used: pointers repeat all the time, and only the tag says which request a call is
 * about. Options cancel and free submissions before they run, submit a key twice, or submit
 * everything before the workers start.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "queue.h"
#include "truth.h"

#define COMPUTE_WORKERS 3
#define STORAGE_WORKERS 2

struct task {
	struct task *next; /* in the free list */
	unsigned int users;
};

struct task_store {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct task *tasks;
	struct task *first;
};

/* A place in a queue. One task can be in a queue twice, under two tags. */
struct entry {
	struct task *task;
	uint64_t tag;
	uint64_t request;
	struct truth_hop truth;
};

struct pool {
	struct queue queue;
	void (*run)(struct entry *entry);
	pthread_t threads[COMPUTE_WORKERS];
	unsigned int workers;
};

static struct pool compute_pool, storage_pool;
static struct task_store compute_tasks, storage_tasks;
static uint64_t cancel_percent, double_percent, backlog, pool_tasks = 16, work_us = 150;
static atomic_ullong next_storage_tag = 1000000000u;
static uint64_t cancelled, doubled;

static void store_init(struct task_store *store, uint64_t size)
{
	uint64_t i;

	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->freed, NULL);
	store->tasks = calloc(size, sizeof(*store->tasks));
	if (!store->tasks)
		abort();
	for (i = 0; i < size; i++) {
		store->tasks[i].next = store->first;
		store->first = &store->tasks[i];
	}
}

static struct task *task_alloc(struct task_store *store, unsigned int users)
{
	struct task *task;

	pthread_mutex_lock(&store->lock);
	while (!store->first)
		pthread_cond_wait(&store->freed, &store->lock);
	task = store->first;
	store->first = task->next;
	task->users = users;
	pthread_mutex_unlock(&store->lock);
	return task;
}

static void task_put(struct task_store *store, struct task *task)
{
	pthread_mutex_lock(&store->lock);
	if (!--task->users) {
		task->next = store->first;
		store->first = task;
		pthread_cond_signal(&store->freed);
	}
	pthread_mutex_unlock(&store->lock);
}

static struct entry *entry_new(struct task *task, uint64_t request, uint64_t tag, uint32_t hop)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		abort();
	entry->task = task;
	entry->tag = tag;
	entry->request = request;
	entry->truth = (struct truth_hop){
		.request = request,
		.tag = tag,
		.key = (uint64_t)task,
		.hop = hop,
		.source = hop ? "submit_storage_task" : "submit_compute_task",
		.target = hop ? "write_result" : "process_request",
	};
	return entry;
}

TRACED void submit_compute_task(struct pool *pool, struct task *task, uint64_t tag,
				struct entry *entry)
{
	entry->truth.submit_ns = truth_now();
	entry->truth.source_tid = truth_tid();
	(void)task;
	(void)tag;
	queue_put(&pool->queue, entry);
}

TRACED void submit_storage_task(struct pool *pool, struct task *task, uint64_t tag,
				struct entry *entry)
{
	entry->truth.submit_ns = truth_now();
	entry->truth.source_tid = truth_tid();
	(void)task;
	(void)tag;
	queue_put(&pool->queue, entry);
}

TRACED void process_request(struct task *task, uint64_t tag, struct entry *entry)
{
	uint64_t cpu;
	struct entry *next;

	entry->truth.start_ns = truth_now();
	cpu = truth_cpu();
	entry->truth.target_tid = truth_tid();
	(void)task;
	(void)tag;
	next = entry_new(task_alloc(&storage_tasks, 1), entry->request,
			 atomic_fetch_add(&next_storage_tag, 1), 1);
	workload_spin_us(work_us);
	entry->truth.cpu_ns = truth_cpu() - cpu;
	entry->truth.end_ns = truth_now();
	submit_storage_task(&storage_pool, next->task, next->tag, next);
}

TRACED void write_result(struct task *task, uint64_t tag, struct entry *entry)
{
	uint64_t cpu;

	entry->truth.start_ns = truth_now();
	cpu = truth_cpu();
	entry->truth.target_tid = truth_tid();
	(void)task;
	(void)tag;
	workload_sleep_us(work_us);
	entry->truth.cpu_ns = truth_cpu() - cpu;
	entry->truth.end_ns = truth_now();
}

static void run_compute(struct entry *entry)
{
	process_request(entry->task, entry->tag, entry);
	task_put(&compute_tasks, entry->task);
}

static void run_storage(struct entry *entry)
{
	write_result(entry->task, entry->tag, entry);
	task_put(&storage_tasks, entry->task);
}

static void *pool_worker_main(void *arg)
{
	struct pool *pool = arg;
	struct entry *entry;

	while ((entry = queue_get(&pool->queue))) {
		pool->run(entry);
		truth_add_hop(&entry->truth);
		free(entry);
	}
	return NULL;
}

static void pool_start(struct pool *pool, unsigned int workers)
{
	unsigned int i;

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

/* Take a submission back before a worker gets it, and free its task for the next one. */
static void cancel_compute_task(struct entry *entry)
{
	if (!queue_remove(&compute_pool.queue, entry))
		return;
	entry->truth.cancelled = 1;
	cancelled++;
	truth_add_hop(&entry->truth);
	task_put(&compute_tasks, entry->task);
	free(entry);
}

TRACED void http_handler(uint64_t number, uint64_t chance)
{
	bool twice = chance % 100 < double_percent;
	bool cancel = !twice && chance / 100 % 100 < cancel_percent;
	struct task *task = task_alloc(&compute_tasks, twice ? 2 : 1);
	struct entry *entry = entry_new(task, number, number * 2, 0);
	struct entry *again = twice ? entry_new(task, number, number * 2 + 1, 0) : NULL;

	if (twice) {
		entry->truth.doubled = again->truth.doubled = 1;
		doubled++;
	}
	submit_compute_task(&compute_pool, task, entry->tag, entry);
	if (twice)
		submit_compute_task(&compute_pool, task, again->tag, again);
	if (cancel)
		cancel_compute_task(entry);
}

int main(int argc, char **argv)
{
	static const struct workload_option options[] = {
		{"cancel-percent", &cancel_percent, false,
		 "of the submissions are taken back and freed"},
		{"double-percent", &double_percent, false, "of the keys are submitted twice"},
		{"backlog", &backlog, false, "submit that many before the workers start"},
		{"tasks", &pool_tasks, false, "task structs of each pool"},
		{"work-us", &work_us, false, "work of each stage"},
		{0},
	};
	static const struct workload me = {
		.name = "tagged",
		.about = "tagged requests through pools that reuse their task structs",
		.trace = "--async-hop submit_compute_task,2,process_request,1 "
			 "--async-hop submit_storage_task,2,write_result,1 write_result",
		.count = 400,
		.options = options,
	};
	uint64_t i, seed;

	workload_begin(&me, argc, argv);
	seed = workload_seed * 7919;
	if (backlog)
		workload_count = pool_tasks = backlog;
	store_init(&compute_tasks, pool_tasks);
	store_init(&storage_tasks, 16);
	queue_init(&compute_pool.queue, pool_tasks * 2);
	queue_init(&storage_pool.queue, 32);
	compute_pool.run = run_compute;
	storage_pool.run = run_storage;
	pool_start(&storage_pool, STORAGE_WORKERS);
	if (!backlog)
		pool_start(&compute_pool, COMPUTE_WORKERS);
	for (i = 0; workload_goes_on(i); i++) {
		http_handler(i + 1, workload_random(&seed));
		if (!backlog && workload_random(&seed) % 8 == 0)
			workload_sleep_us(workload_random(&seed) % 1500);
	}
	if (backlog)
		pool_start(&compute_pool, COMPUTE_WORKERS);
	pool_stop(&compute_pool);
	pool_stop(&storage_pool);
	truth_note("\"event\":\"tagged\",\"requests\":%" PRIu64 ",\"cancelled\":%" PRIu64
		   ",\"doubled\":%" PRIu64,
		   i, cancelled, doubled);
	return workload_end();
}
