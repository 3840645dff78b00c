/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a function through eight bytes of code that it makes at run time, in memory of some kind:
 * code_maker anonymous|shared|memfd|huge [LINE]. LINE, a format for where they are and how many,
 * goes to /tmp/perf-PID.map. Prints its PID and goes on when it gets a line.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "truth.h"

#define SIZE  (2ul << 20)
#define PLACE 64

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

TRACED void leaf(void)
{
	__asm__ volatile("");
}

static unsigned char *get_memory(const char *kind)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	void *memory;

	if (!strcmp(kind, "shared"))
		how = MAP_SHARED | MAP_ANONYMOUS;
	if (!strcmp(kind, "huge"))
		how |= MAP_HUGETLB;
	if (!strcmp(kind, "memfd")) {
		how = MAP_SHARED;
		fd = memfd_create("code", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, SIZE))
			return NULL;
	}
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, how, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void write_perf_map(const char *line, const void *place)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return;
	fprintf(map, line, (unsigned long)place, (unsigned long)sizeof(code));
	fclose(map);
}

int main(int argc, char **argv)
{
	unsigned char *memory = argc > 1 ? get_memory(argv[1]) : NULL;
	void (*made)(void (*)(void));
	char line[8];

	if (!memory) {
		fprintf(stderr, "give a kind of memory that there is\n");
		return 1;
	}
	memcpy(memory + PLACE, code, sizeof(code));
	mprotect(memory, SIZE, PROT_READ | PROT_EXEC);
	made = (void (*)(void (*)(void)))(void *)(memory + PLACE);
	if (argc > 2)
		write_perf_map(argv[2], memory + PLACE);
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 20; i++) {
		made(leaf);
		usleep(1000);
	}
	return 0;
}
