/* SPDX-License-Identifier: GPL-2.0-only */
/* Options, start, stop and truth of the test programs; see truth.h. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "truth.h"

#define MAX_OPTIONS 24
#define MAX_HOPS    (1u << 20)
#define MAX_NOTES   4096

uint64_t workload_count;
uint64_t workload_seed = 1;
atomic_bool workload_stop;

static const struct workload *self;
static const char *truth_path;
static struct truth_hop *hops;
static atomic_uint nhops;
static char *notes[MAX_NOTES];
static atomic_uint nnotes;
static uint64_t begin_ns;
static struct rusage begin_usage;

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t truth_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t truth_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint32_t truth_tid(void)
{
	static __thread uint32_t tid;

	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

void truth_add_hop(const struct truth_hop *h)
{
	unsigned int i;

	if (!truth_path)
		return;
	i = atomic_fetch_add(&nhops, 1);
	if (i < MAX_HOPS)
		hops[i] = *h;
}

void truth_note(const char *format, ...)
{
	unsigned int i;
	va_list ap;

	if (!truth_path)
		return;
	i = atomic_fetch_add(&nnotes, 1);
	if (i >= MAX_NOTES)
		return;
	va_start(ap, format);
	if (vasprintf(&notes[i], format, ap) < 0)
		notes[i] = NULL;
	va_end(ap);
}

static void write_hop(FILE *f, const struct truth_hop *h)
{
	fprintf(f,
		"{\"event\":\"hop\",\"request\":%" PRIu64 ",\"tag\":%" PRIu64 ",\"hop\":%u,"
		"\"source\":\"%s\",\"target\":\"%s\",\"key\":\"0x%016" PRIx64
		"\",\"key_int\":%" PRId64 ",\"submit_ns\":%" PRIu64 ",\"source_tid\":%u",
		h->request, h->tag, h->hop, h->source, h->target, h->key, (int64_t)h->key,
		h->submit_ns, h->source_tid);
	if (h->start_ns)
		fprintf(f,
			",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
			",\"target_tid\":%u",
			h->start_ns, h->end_ns, h->cpu_ns, h->target_tid);
	fprintf(f, ",\"cancelled\":%u,\"doubled\":%u}\n", h->cancelled, h->doubled);
}

static int write_truth(void)
{
	unsigned int n = atomic_load(&nhops), i;
	uint64_t end_ns = truth_now();
	struct rusage ru;
	FILE *f;

	getrusage(RUSAGE_SELF, &ru);
	if (!truth_path)
		return 0;
	if (n > MAX_HOPS || atomic_load(&nnotes) > MAX_NOTES) {
		fprintf(stderr, "%s: more events than --truth has room for\n", self->name);
		return 1;
	}
	f = fopen(truth_path, "w");
	if (!f) {
		fprintf(stderr, "%s: cannot write %s: %s\n", self->name, truth_path,
			strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++)
		write_hop(f, &hops[i]);
	for (i = 0; i < atomic_load(&nnotes); i++)
		if (notes[i])
			fprintf(f, "{%s}\n", notes[i]);
	fprintf(f,
		"{\"event\":\"end\",\"workload\":\"%s\",\"pid\":%d,\"hops\":%u,"
		"\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
		",\"voluntary_switches\":%ld,\"involuntary_switches\":%ld}\n",
		self->name, getpid(), n, begin_ns, end_ns, ru.ru_nvcsw - begin_usage.ru_nvcsw,
		ru.ru_nivcsw - begin_usage.ru_nivcsw);
	return fclose(f) ? 1 : 0;
}

int workload_end(void)
{
	int ret = write_truth();

	fflush(stdout);
	return ret;
}

bool workload_goes_on(uint64_t i)
{
	return !atomic_load(&workload_stop) && (!workload_count || i < workload_count);
}

uint64_t workload_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x >> 11;
}

void workload_sleep_us(uint64_t us)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

void workload_spin_us(uint64_t us)
{
	uint64_t until = truth_cpu() + us * 1000;

	while (truth_cpu() < until)
		;
}

static void on_stop(int sig)
{
	(void)sig;
	atomic_store(&workload_stop, true);
}

static void print_help(const struct workload *w)
{
	const struct workload_option *o;

	printf("%s: %s\n", w->name, w->about);
	printf("  --count N          do N rounds (default %" PRIu64 "; 0: until Ctrl-C)\n",
	       w->count);
	printf("  --truth FILE       write what really happened as JSON lines\n");
	printf("  --wait SECONDS     wait before starting\n");
	printf("  --start-file FILE  start when FILE exists\n");
	printf("  --seed N           seed of the pseudo-random numbers (default 1)\n");
	for (o = w->options; o && o->name; o++) {
		if (o->flag)
			printf("  --%-16s %s\n", o->name, o->help);
		else
			printf("  --%-16s %s (default %" PRIu64 ")\n", o->name, o->help, *o->value);
	}
}

static uint64_t number(const struct workload *w, const char *name, const char *text)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end || end == text) {
		fprintf(stderr, "%s: --%s wants a number, not '%s'\n", w->name, name, text);
		exit(2);
	}
	return v;
}

enum { OPT_COUNT, OPT_TRUTH, OPT_WAIT, OPT_START, OPT_SEED, OPT_HELP, OPT_OWN };

static void parse(const struct workload *w, int argc, char **argv, uint64_t *wait,
		  const char **file)
{
	struct option longs[MAX_OPTIONS] = {
		[OPT_COUNT] = {"count", 1, NULL, OPT_COUNT},
		[OPT_TRUTH] = {"truth", 1, NULL, OPT_TRUTH},
		[OPT_WAIT] = {"wait", 1, NULL, OPT_WAIT},
		[OPT_START] = {"start-file", 1, NULL, OPT_START},
		[OPT_SEED] = {"seed", 1, NULL, OPT_SEED},
		[OPT_HELP] = {"help", 0, NULL, OPT_HELP},
	};
	int c, n;

	for (n = 0; w->options && w->options[n].name && OPT_OWN + n < MAX_OPTIONS - 1; n++)
		longs[OPT_OWN + n] = (struct option){w->options[n].name, w->options[n].flag ? 0 : 1,
						     NULL, OPT_OWN + n};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == OPT_COUNT)
			workload_count = number(w, "count", optarg);
		else if (c == OPT_TRUTH)
			truth_path = optarg;
		else if (c == OPT_WAIT)
			*wait = number(w, "wait", optarg);
		else if (c == OPT_START)
			*file = optarg;
		else if (c == OPT_SEED)
			workload_seed = number(w, "seed", optarg) | 1;
		else if (c >= OPT_OWN && c < OPT_OWN + n)
			*w->options[c - OPT_OWN].value =
				w->options[c - OPT_OWN].flag
					? 1
					: number(w, w->options[c - OPT_OWN].name, optarg);
		else {
			print_help(w);
			exit(c == OPT_HELP ? 0 : 2);
		}
	}
}

void workload_begin(const struct workload *w, int argc, char **argv)
{
	struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	const char *file = NULL;
	uint64_t wait = 0, i;

	self = w;
	workload_count = w->count;
	parse(w, argc, argv, &wait, &file);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	if (truth_path) {
		hops = mmap(NULL, MAX_HOPS * sizeof(*hops), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (hops == MAP_FAILED) {
			fprintf(stderr, "%s: no memory for the truth\n", w->name);
			exit(1);
		}
	}
	printf("PID %d\n", getpid());
	printf("try: sudo callweave-record -p %d %s -o trace.cwc\n", getpid(), w->trace);
	fflush(stdout);
	for (i = 0; i < wait * 100 && !atomic_load(&workload_stop); i++)
		workload_sleep_us(10000);
	while (file && access(file, F_OK) && !atomic_load(&workload_stop))
		workload_sleep_us(5000);
	getrusage(RUSAGE_SELF, &begin_usage);
	begin_ns = truth_now();
}
