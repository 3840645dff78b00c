/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program that means ill with whoever traces it, by its names, files and mappings. The main
 * thread hands tasks to threads with odd names; each is done by code in one of the files of a
 * folder, which are broken ELF files with a function at offset 4096, in a memfd with an odd name,
 * or in nameless memory. Some files are deleted or replaced once they are mapped. It leaves a perf
 * map of nonsense. The test gives its symbols odd names after it is linked.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "queue.h"
#include "truth.h"

#define CODE_AT   4096
#define MAX_CODES 32
#define THREADS   6

typedef void (*code)(void (*call)(void *), void *arg);

struct task {
	struct truth_hop truth;
	code by;
};

static struct queue tasks;
static code codes[MAX_CODES];
static size_t ncodes;
static char map_path[64];

TRACED void evil_submit(struct task *task)
{
	task->truth.submit_ns = truth_now();
	task->truth.source_tid = truth_tid();
	queue_put(&tasks, task);
}

TRACED void evil_leaf(void *arg)
{
	__asm__ volatile("" ::"r"(arg) : "memory");
	workload_sleep_us(200);
}

TRACED void evil_take(struct task *task)
{
	task->truth.start_ns = truth_now();
	task->truth.target_tid = truth_tid();
	task->by(evil_leaf, task);
	task->truth.end_ns = truth_now();
}

TRACED void *evil_worker(void *name)
{
	struct task *task;

	prctl(PR_SET_NAME, name);
	while ((task = queue_get(&tasks))) {
		evil_take(task);
		truth_add_hop(&task->truth);
		free(task);
	}
	return NULL;
}

/* ---- code in odd places -------------------------------------------------------------------------
 */

/* Calls its first argument with its second: push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi;
 * call rax; pop rbp; ret. And the same for arm64. */
static const uint8_t call_it[] = {
#ifdef __aarch64__
	0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe2, 0x03, 0x00, 0xaa, 0xe0, 0x03,
	0x01, 0xaa, 0x40, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#else
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
#endif
};

static void add_code(int fd)
{
	char *p = mmap(NULL, 2 * CODE_AT, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (p != MAP_FAILED && ncodes < MAX_CODES)
		codes[ncodes++] = (code)(p + CODE_AT);
}

/* The same file name, another content. */
static void replace(int dir, const char *name)
{
	int fd = openat(dir, "new", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, "\177ELF something else", 19) != 19 ||
	    renameat(dir, "new", dir, name))
		perror("cannot replace a file");
	close(fd);
}

static void add_file(int dir, const char *name)
{
	struct stat st;
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	if (pwrite(fd, call_it, sizeof(call_it), CODE_AT) != sizeof(call_it) ||
	    (st.st_size < 2 * CODE_AT && ftruncate(fd, 2 * CODE_AT)))
		abort();
	add_code(fd);
	close(fd);
	if (!strncmp(name, "deleted", 7))
		unlinkat(dir, name, 0);
	if (!strncmp(name, "replaced", 8))
		replace(dir, name);
}

static void add_folder(const char *path)
{
	DIR *d = path ? opendir(path) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		add_file(dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

static void add_memory(void)
{
	int fd = memfd_create("\033[31m</script>\n\xff", MFD_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || p == MAP_FAILED ||
	    pwrite(fd, call_it, sizeof(call_it), CODE_AT) != sizeof(call_it))
		abort();
	add_code(fd);
	close(fd);
	memcpy(p, call_it, sizeof(call_it));
	__builtin___clear_cache(p, p + sizeof(call_it));
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	codes[ncodes++] = (code)p;
}

static void write_perf_map(void)
{
	static const char lines[] = "zzzz 10 no number\n\n0 0\n%llx ffffffffffffffff all of it\n"
				    "%llx 40 \033[31mjit</script>\xff\x01\n%llx";
	unsigned long long at = (unsigned long long)codes[ncodes - 1];
	FILE *f;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	f = fopen(map_path, "we");
	if (!f)
		return;
	fprintf(f, lines, at - 0x100, at, at);
	for (int i = 0; i < 100000; i++)
		fputc(i * 7919 >> 3 & 0xff, f);
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "evil_test",
		.about = "odd names everywhere, and code in broken files of the folder $EVIL_FILES",
		.trace = "--async-hop evil_submit,1,evil_take evil_leaf",
		.count = 60,
	};
	static const char *const names[THREADS] = {
		"\033[31mred\n",
		"</script><b>",
		"\xe2\x80\xae"
		"rtl",
		"\xff\xfe\x01\x02",
		"\"quote',;",
		"a\tb\r\x9b"
		"31m",
	};
	pthread_t threads[THREADS];
	uint64_t i;

	workload_begin(&me, argc, argv);
	add_folder(getenv("EVIL_FILES"));
	add_memory();
	write_perf_map();
	queue_init(&tasks, 16);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, evil_worker, (void *)names[i]);
	for (i = 0; workload_goes_on(i); i++) {
		struct task *task = calloc(1, sizeof(*task));

		if (!task)
			abort();
		task->truth = (struct truth_hop){.request = i + 1,
						 .key = (uint64_t)task,
						 .source = "evil_submit",
						 .target = "evil_take"};
		task->by = codes[i % ncodes];
		evil_submit(task);
		workload_sleep_us(2000);
	}
	queue_close(&tasks);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	unlink(map_path);
	return workload_end();
}
