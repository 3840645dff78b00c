/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that unwind information says nothing about, as assembly and the C library of some systems
 * have it: between two functions, on top, and behind a signal handler. It keeps no frame pointer.
 * And a stack that begins with the address of a function that nobody calls, as makecontext makes
 * it, and a function that aligns its stack, for which GCC writes rules of its own.
 */
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
#define NOINLINE __attribute__((noipa))

void calls_bare(void (*fn)(void));
long bare_leaf(long n);
void bare_restorer(void);

__asm__(".text\n"
	".type calls_bare,@function\n"
	"calls_bare: sub $24,%rsp; call *%rdi; add $24,%rsp; ret\n"
	".size calls_bare, . - calls_bare\n"
	".type bare_leaf,@function\n"
	"bare_leaf: push %rbx; mov %rdi,%rbx; lea 1(%rbx),%rax; pop %rbx; ret\n"
	".size bare_leaf, . - bare_leaf\n"
	"nop\n"
	".type bare_restorer,@function\n"
	"bare_restorer: mov $15,%eax; syscall\n"
	".size bare_restorer, . - bare_restorer\n");

/* As the kernel has it. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static volatile long count;

NOINLINE void behind_bare(void)
{
	count++;
}

NOINLINE void through_bare(void)
{
	calls_bare(behind_bare);
	count++;
}

NOINLINE void asks_leaf(void)
{
	count += bare_leaf(count);
}

NOINLINE void handled(void)
{
	count++;
}

NOINLINE void on_signal(int sig)
{
	(void)sig;
	handled();
	count++;
}

/* The signal comes on the way back from the system call, here. */
NOINLINE void interrupted(void)
{
	long ret, pid = getpid();

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_kill), "D"(pid), "S"(SIGUSR1)
			 : "rcx", "r11", "memory");
	count += ret;
}

static ucontext_t here, there;
static char stack[65536] __attribute__((aligned(16)));

NOINLINE void in_context(void)
{
	count++;
}

NOINLINE void context_main(void)
{
	in_context();
	count++;
}

NOINLINE void begins_context(void)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, context_main, 0);
	swapcontext(&here, &there);
}

NOINLINE void behind_aligned(const char *a, const char *b)
{
	count += a < b;
}

NOINLINE void aligned(long n)
{
	char large[256] __attribute__((aligned(64)));
	char *more = alloca(n * 16 + 16);

	large[n] = more[n] = 0;
	behind_aligned(large, more);
	count++;
}

NOINLINE void each_way(void)
{
	aligned(count & 7);
	begins_context();
	through_bare();
	asks_leaf();
	interrupted();
	count++;
}

int main(void)
{
	struct kernel_sigaction act = {on_signal, 0x04000000 /* SA_RESTORER */, bare_restorer, 0};

	syscall(SYS_rt_sigaction, SIGUSR1, &act, NULL, 8);
	for (int i = 0; i < 3; i++)
		each_way();
	printf("%ld\n", count);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
