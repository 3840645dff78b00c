/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Four threads and three queues. Each handoff has a key of its own, which the targets get as their
 * second, third and eighth argument; the last stage waits for a mutex that a passing thread holds.
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include "queue.h"
#include "truth.h"

#define HOLD_US 60000

struct task {
	uint64_t number;
	struct truth_hop truth;
};

struct record {
	uint32_t fields[8];
	uint64_t sum;
};

static struct queue decode_queue, enrich_queue, persist_queue;
static pthread_mutex_t storage_lock = PTHREAD_MUTEX_INITIALIZER;

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

static void started(struct task *task, uint64_t *cpu)
{
	task->truth.start_ns = truth_now();
	task->truth.target_tid = truth_tid();
	*cpu = truth_cpu();
}

static void ended(struct task *task, uint64_t cpu)
{
	task->truth.cpu_ns = truth_cpu() - cpu;
	task->truth.end_ns = truth_now();
}

static void submitted(struct task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
}

TRACED void submit_decode_task(struct queue *queue, struct task *task)
{
	submitted(task);
	queue_put(queue, task);
}

TRACED void submit_enrich_task(struct task *task, struct queue *queue)
{
	submitted(task);
	queue_put(queue, task);
}

TRACED void submit_persist_task(struct queue *queue, struct task *task)
{
	submitted(task);
	queue_put(queue, task);
}

/* ---- decode: the key is argument 2 --------------------------------------------------------------
 */

TRACED uint64_t read_header(struct record *record, uint64_t number)
{
	record->fields[0] = (uint32_t)number;
	return number ^ 0x5a5a;
}

TRACED void decode_payload(struct record *record, uint64_t number)
{
	for (unsigned int i = 1; i < 8; i++)
		record->fields[i] = (uint32_t)(read_header(record, number) * i);
	workload_spin_us(100);
}

TRACED void decode_request(uint32_t version, struct task *task, struct record *record)
{
	struct task *next;
	uint64_t cpu;

	started(task, &cpu);
	decode_payload(record, task->number + version);
	workload_sleep_us(10000);
	next = task_new(task->number, 1, "submit_enrich_task", "enrich_request");
	ended(task, cpu);
	submit_enrich_task(next, &enrich_queue);
}

/* ---- enrich: the key is argument 3 --------------------------------------------------------------
 */

TRACED uint64_t lookup_account(struct record *record)
{
	workload_sleep_us(15000);
	return record->fields[0];
}

TRACED void merge_account(struct record *record)
{
	record->sum += lookup_account(record);
	workload_spin_us(60);
}

TRACED void enrich_request(uint32_t version, struct record *record, struct task *task)
{
	struct task *next;
	uint64_t cpu;

	started(task, &cpu);
	record->sum = version;
	merge_account(record);
	next = task_new(task->number, 2, "submit_persist_task", "persist_result");
	ended(task, cpu);
	submit_persist_task(&persist_queue, next);
}

/* ---- persist: the key is argument 8 -------------------------------------------------------------
 */

struct holder {
	sem_t held;
	pthread_t thread;
	uint32_t tid;
};

/* Somebody else's work under the same lock. */
TRACED void *storage_lock_holder(void *arg)
{
	struct holder *holder = arg;

	pthread_mutex_lock(&storage_lock);
	holder->tid = truth_tid();
	sem_post(&holder->held);
	workload_sleep_us(HOLD_US);
	pthread_mutex_unlock(&storage_lock);
	return NULL;
}

TRACED void write_storage(struct record *record)
{
	pthread_mutex_lock(&storage_lock);
	record->sum++;
	pthread_mutex_unlock(&storage_lock);
	workload_sleep_us(20000);
}

TRACED void commit_storage(struct record *record)
{
	write_storage(record);
	workload_spin_us(50);
}

TRACED void persist_result(uint32_t shard, uint32_t replica, uint32_t flags, uint32_t version,
			   uint32_t checksum, uint32_t length, struct record *record,
			   struct task *task)
{
	uint64_t cpu;

	started(task, &cpu);
	record->sum += shard + replica + flags + version + checksum + length;
	commit_storage(record);
	ended(task, cpu);
}

/* ---- threads ------------------------------------------------------------------------------------
 */

static void done(struct task *task)
{
	truth_add_hop(&task->truth);
	free(task);
}

static void *decode_main(void *arg)
{
	struct record record = {0};
	struct task *task;

	(void)arg;
	while ((task = queue_get(&decode_queue))) {
		decode_request(1, task, &record);
		done(task);
	}
	queue_close(&enrich_queue);
	return NULL;
}

static void *enrich_main(void *arg)
{
	struct record record = {0};
	struct task *task;

	(void)arg;
	while ((task = queue_get(&enrich_queue))) {
		enrich_request(1, &record, task);
		done(task);
	}
	queue_close(&persist_queue);
	return NULL;
}

static void note_lock(const struct truth_hop *hop, uint32_t holder)
{
	truth_note("\"event\":\"lock\",\"round\":%" PRIu64 ",\"mutex\":\"0x%016" PRIx64 "\","
		   "\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"holder_tid\":%u,"
		   "\"waiter_tid\":%u",
		   hop->request, (uint64_t)&storage_lock, hop->start_ns, hop->end_ns, holder,
		   hop->target_tid);
}

static void *persist_main(void *arg)
{
	struct record record = {0};
	struct holder holder;
	struct task *task;

	(void)arg;
	sem_init(&holder.held, 0, 0);
	while ((task = queue_get(&persist_queue))) {
		pthread_create(&holder.thread, NULL, storage_lock_holder, &holder);
		while (sem_wait(&holder.held))
			;
		persist_result(1, 2, 3, 4, 5, 6, &record, task);
		pthread_join(holder.thread, NULL);
		note_lock(&task->truth, holder.tid);
		done(task);
	}
	return NULL;
}

TRACED void accept_request(uint64_t number)
{
	submit_decode_task(&decode_queue,
			   task_new(number, 0, "submit_decode_task", "decode_request"));
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "trace_complex_async_test",
		.about = "four threads and three queues, and a lock that is held by another",
		.trace = "--async-hop submit_decode_task,2,decode_request "
			 "--async-hop submit_enrich_task,1,enrich_request "
			 "--async-hop submit_persist_task,2,persist_result persist_result",
	};
	static void *(*const mains[3])(void *) = {decode_main, enrich_main, persist_main};
	pthread_t threads[3];
	uint64_t i;

	workload_begin(&me, argc, argv);
	queue_init(&decode_queue, 32);
	queue_init(&enrich_queue, 32);
	queue_init(&persist_queue, 32);
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, mains[i], NULL);
	for (i = 0; workload_goes_on(i); i++) {
		accept_request(i + 1);
		workload_sleep_us(100000);
	}
	queue_close(&decode_queue);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return workload_end();
}
