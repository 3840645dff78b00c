/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves two megabytes of its own text to other memory, as programs do to have it on huge pages:
 * text_mover before|during|last back|over [memory|memfd|huge]. back: other memory is put in the
 * text's place, and the text copied back; over: it is copied elsewhere, and that moved over it.
 * Prints its PID and goes on when it gets a line; moves before that, after it, or after its calls.
 * text_mover can over [KIND] moves other memory: exit status 1 where the kernel does not.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "truth.h"

#define SIZE  (2ul << 20)
#define MOVED TRACED __attribute__((section(".moved")))

void moved_inner(void);
void moved_outer(void);

static char room[SIZE];
static int how = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;

TRACED void leaf(void)
{
	__asm__ volatile("");
}

/* Some of the text stays where it was: before what is moved, and behind it. */
__asm__(".section .moved,\"ax\"\nnop\n.p2align 21\n.text");

MOVED void moved_inner(void)
{
	leaf();
	__asm__ volatile("");
}

MOVED void moved_outer(void)
{
	moved_inner();
	__asm__ volatile("");
}

__asm__(".section .moved,\"ax\"\n.p2align 21\nnop\n.text");

static void copy_back(char *from)
{
	memcpy(room, from, SIZE);
	mmap(from, SIZE, PROT_READ | PROT_WRITE, how | MAP_FIXED, fd, 0);
	madvise(from, SIZE, MADV_HUGEPAGE);
	memcpy(from, room, SIZE);
	mprotect(from, SIZE, PROT_READ | PROT_EXEC);
}

/* Room to lie on a boundary of huge pages, which those that are given out as such do. */
static char *aligned_room(void)
{
	char *at = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return (char *)(((unsigned long)at + SIZE - 1) & -SIZE);
}

/* Before 5.16 the kernel moves no huge pages, and has unmapped by then what lay there. */
static bool can_move(void)
{
	char *from = aligned_room(), *to = aligned_room();

	return mmap(from, SIZE, PROT_READ | PROT_WRITE, how | MAP_FIXED, fd, 0) == from &&
	       mremap(from, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

static void move_over(char *from)
{
	char *to = aligned_room();

	mmap(to, SIZE, PROT_READ | PROT_WRITE, how | MAP_FIXED, fd, 0);
	madvise(to, SIZE, MADV_HUGEPAGE);
	memcpy(to, from, SIZE);
	mprotect(to, SIZE, PROT_READ | PROT_EXEC);
	if (mremap(to, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, from) != from)
		perror("mremap");
}

static void move_text(bool over)
{
	char *from = (char *)((unsigned long)moved_inner & -SIZE);

	if (over)
		move_over(from);
	else
		copy_back(from);
}

static bool choose_memory(const char *kind)
{
	if (!strcmp(kind, "huge"))
		how |= MAP_HUGETLB;
	if (strcmp(kind, "memfd") != 0)
		return true;
	how = MAP_SHARED;
	fd = memfd_create("text", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, SIZE);
}

int main(int argc, char **argv)
{
	bool during = argc > 2 && !strcmp(argv[1], "during"),
	     over = argc > 2 && !strcmp(argv[2], "over");
	char line[8];

	if (argc < 3 || (argc > 3 && !choose_memory(argv[3]))) {
		fprintf(stderr, "say when and how to move the text\n");
		return 1;
	}
	if (!strcmp(argv[1], "can"))
		return !can_move();
	if (!strcmp(argv[1], "before"))
		move_text(over);
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (during)
		move_text(over);
	/* Memory that is moved over text is looked for in growing distances, here of 1.6 s. */
	usleep(during && over ? 2500000 : 300000);
	for (int i = 0; i < 20; i++) {
		moved_outer();
		usleep(1000);
	}
	if (!strcmp(argv[1], "last")) {
		move_text(over);
		puts("MOVED");
		fflush(stdout);
		sleep(60);
	}
	return 0;
}
