/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a harness where libFuzzer is not wanted: every file given (or in a folder given) as it is,
 * then changed copies of them for a while: driver [-s SECONDS] [-S SEED] [-c FILE] FILE|FOLDER...
 * The input that ended in a crash or took longer than 20 s is left in FILE. The same seed makes the
 * same changes. Must not know what is fuzzed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>

#define INPUT_ROOM (1u << 16)
#define MAX_FILES  512
#define TOO_LONG   20 /* seconds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
const char *__asan_default_options(void);

static struct input {
	uint8_t *data;
	size_t size;
} files[MAX_FILES];
static size_t nfiles;
static uint8_t work[INPUT_ROOM];
static const uint8_t *now;
static size_t now_size;
static uint64_t state = 1;
static const char *crash_file = "crash-input";
static int err_fd = 2;

const char *__asan_default_options(void)
{
	return "handle_abort=1:hard_rss_limit_mb=2000:max_allocation_size_mb=1000:"
	       "quarantine_size_mb=32:malloc_context_size=8";
}

/* ---- what goes wrong ----------------------------------------------------------------------------
 */

static void keep_input(void)
{
	int fd = open(crash_file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, now, now_size) != (ssize_t)now_size)
		crash_file = "nowhere";
	dprintf(err_fd, "the input is kept in %s\n", crash_file);
	if (fd >= 0)
		close(fd);
}

static void on_alarm(int sig)
{
	(void)sig;
	dprintf(err_fd, "an input takes longer than %d s\n", TOO_LONG);
	keep_input();
	_exit(1);
}

/* ---- inputs -------------------------------------------------------------------------------------
 */

static void add_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct input *in = &files[nfiles];

	if (!f || nfiles == MAX_FILES) {
		perror(path);
		exit(2);
	}
	in->data = malloc(INPUT_ROOM);
	in->size = fread(in->data, 1, INPUT_ROOM, f);
	fclose(f);
	nfiles++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add(const char *path)
{
	struct dirent **list;
	struct stat st;
	char name[4096];
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	n = scandir(path, &list, NULL, by_name);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/%s", path, list[i]->d_name);
			add_file(name);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static uint64_t pick(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 11) % n : 0;
}

/* Put n bytes of from at a place of work, in place of what is there or between it. */
static size_t put(size_t size, const uint8_t *from, size_t n)
{
	size_t at = pick(size + 1), over = pick(2) ? n : 0;

	if (over > size - at)
		over = size - at;
	if (size - over + n > INPUT_ROOM)
		return size;
	memmove(work + at + n, work + at + over, size - at - over);
	memcpy(work + at, from, n);
	return size - over + n;
}

static size_t put_other(size_t size)
{
	const struct input *other = &files[pick(nfiles)];
	size_t at = pick(other->size), n = pick(other->size - at + (other->size > at)) % 512;

	return other->size ? put(size, other->data + at, n) : size;
}

static size_t put_number(size_t size)
{
	static const uint64_t numbers[] = {0,          1,          0x7f,       0x80,
					   0xff,       0x7fff,     0xffff,     INT32_MAX,
					   UINT32_MAX, INT64_MAX,  1ull << 63, UINT64_MAX,
					   1ull << 31, 1ull << 40, 4096,       0x400000};
	uint64_t v = numbers[pick(16)] + pick(3) - 1;

	return put(size, (const uint8_t *)&v, (size_t)1 << pick(4));
}

static size_t cut(size_t size)
{
	size_t at = pick(size), n = pick(size - at + 1);

	if (pick(4))
		n %= 32;
	memmove(work + at, work + at + n, size - at - n);
	return size - n;
}

static size_t change(size_t size)
{
	uint8_t byte = (uint8_t)pick(256);

	switch (pick(8)) {
	case 0:
	case 1:
		if (size)
			work[pick(size)] ^= (uint8_t)(1u << pick(8));
		return size;
	case 2:
	case 3:
		if (size)
			work[pick(size)] = byte;
		return size;
	case 4:
		return put(size, &byte, 1);
	case 5:
		return put_number(size);
	case 6:
		return size ? cut(size) : 0;
	default:
		return put_other(size);
	}
}

/* ---- running ------------------------------------------------------------------------------------
 */

static void run(const uint8_t *data, size_t size)
{
	/* A block of its own size, so that reading past it is seen. */
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	now = copy;
	now_size = size;
	alarm(TOO_LONG);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
}

static void run_changed(void)
{
	const struct input *in = &files[pick(nfiles)];
	size_t size = in->size;

	memcpy(work, in->data, size);
	for (uint64_t n = 1 + pick(pick(4) ? 4 : 24); n; n--)
		size = change(size);
	run(work, size);
}

/* What the harness prints would be millions of lines. */
static void be_quiet(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	err_fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
	__sanitizer_set_report_fd((void *)(intptr_t)err_fd);
	dup2(null, 1);
	dup2(null, 2);
	close(null);
}

int main(int argc, char **argv)
{
	double seconds = 0;
	struct timespec a, b;
	unsigned long runs = 0;
	int opt;

	while ((opt = getopt(argc, argv, "s:S:c:")) != -1) {
		if (opt == 's')
			seconds = strtod(optarg, NULL);
		else if (opt == 'S')
			state = strtoull(optarg, NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
		else if (opt == 'c')
			crash_file = optarg;
		else
			return 2;
	}
	while (optind < argc)
		add(argv[optind++]);
	signal(SIGALRM, on_alarm);
	__sanitizer_set_death_callback(keep_input);
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	if (seconds > 0)
		be_quiet();
	for (size_t i = 0; i < nfiles; i++, runs++)
		run(files[i].data, files[i].size);
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; seconds > 0 && i < 16; i++, runs++)
			run_changed();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
	dprintf(err_fd, "%lu inputs\n", runs);
	for (size_t i = 0; i < nfiles; i++)
		free(files[i].data);
	return 0;
}
