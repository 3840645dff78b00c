/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A producer and a consumer at a high rate: about 45,000 handoffs a second with 20 us of work each.
 * The work is a leaf function that starts with a `mov`, the expensive case for a breakpoint.
 * --spin fixes the work in loop iterations, so that runs can be compared.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "queue.h"
#include "truth.h"

#define ITEMS      256 /* more than the queue and the two threads can hold */
#define QUEUE_SIZE 64

struct item {
	uint64_t value;
	uint64_t spin;
	uint64_t number; /* of the handoff: an item is used again and again */
};

static struct queue queue;
static struct item items[ITEMS];
static uint64_t handled;

TRACED void submit_item(struct queue *to, struct item *item, uint64_t number)
{
	item->number = number;
	queue_put(to, item);
}

static inline uint64_t work(struct item *item, uint64_t number)
{
	uint64_t x = item->value + number, n = item->spin;

	while (n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	item->value = x;
	return x;
}

/* A leaf: the compiler needs no frame for it. */
TRACED uint64_t handle_item(struct item *item, uint64_t number)
{
	return work(item, number);
}

TRACED uint64_t rehearse(struct item *item)
{
	return work(item, 0);
}

static void *consumer_main(void *arg)
{
	struct item *item;

	(void)arg;
	while ((item = queue_get(&queue))) {
		handle_item(item, item->number);
		handled++;
	}
	return NULL;
}

/* Loop iterations that take us microseconds here: the best of many tries, to leave interrupts out.
 */
static uint64_t calibrate(uint64_t us)
{
	struct item item = {.value = 1, .spin = 200000};
	uint64_t best = UINT64_MAX, start, took;
	int i;

	for (i = 0; i < 50; i++) {
		start = truth_now();
		rehearse(&item);
		took = truth_now() - start;
		if (took < best)
			best = took;
	}
	return item.spin * us * 1000 / best;
}

/* Wait until the i-th item is due at rate items a second. */
static void pace(uint64_t begin, uint64_t i, uint64_t rate)
{
	uint64_t due = begin + i * 1000000000u / rate;
	struct timespec ts = {.tv_sec = due / 1000000000u, .tv_nsec = due % 1000000000u};

	/* In small batches: a sleep for each item would cost more than the item. */
	if (i % 16 == 0 && truth_now() < due)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

int main(int argc, char **argv)
{
	static uint64_t rate, seconds = 5, spin, work_us = 20, calibrate_only;
	static const struct workload_option options[] = {
		{"rate", &rate, false, "handoffs a second; 0: as many as the consumer can take"},
		{"seconds", &seconds, false, "run that long"},
		{"spin", &spin, false, "loop iterations of work; 0: calibrate"},
		{"work-us", &work_us, false, "microseconds of work to calibrate for"},
		{"calibrate", &calibrate_only, true, "print the iterations for --work-us and exit"},
		{0},
	};
	static const struct workload me = {
		.name = "queue_bench",
		.about = "a producer and a consumer at a high rate",
		.trace = "--async-hop submit_item,2,handle_item,1 handle_item",
		.options = options,
	};
	uint64_t i, begin, end;
	pthread_t consumer;

	workload_begin(&me, argc, argv);
	if (!spin)
		spin = calibrate(work_us);
	if (calibrate_only) {
		printf("spin %" PRIu64 "\n", spin);
		return 0;
	}
	queue_init(&queue, QUEUE_SIZE);
	pthread_create(&consumer, NULL, consumer_main, NULL);
	begin = truth_now();
	end = begin + seconds * 1000000000u;
	for (i = 0; workload_goes_on(i) && truth_now() < end; i++) {
		if (rate)
			pace(begin, i, rate);
		items[i % ITEMS].spin = spin;
		submit_item(&queue, &items[i % ITEMS], i);
	}
	queue_close(&queue);
	pthread_join(consumer, NULL);
	end = truth_now();
	printf("handoffs %" PRIu64 " seconds %.6f rate %.1f\n", i, (double)(end - begin) / 1e9,
	       (double)i * 1e9 / (double)(end - begin));
	truth_note("\"event\":\"calls\",\"function\":\"submit_item\",\"calls\":%" PRIu64
		   ",\"returns\":%" PRIu64,
		   i, i);
	truth_note("\"event\":\"calls\",\"function\":\"handle_item\",\"calls\":%" PRIu64
		   ",\"returns\":%" PRIu64,
		   handled, handled);
	return workload_end();
}
