/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/placement.o record/x86code.o record/resolve.o record/debugfile.o record/elffile.o */
/* LINK: record/nearest.o record/cxxname.o */
/*
 * Placement: hand-written code first, then what compilers really make. The latter runs here under
 * breakpoints, once at the entry and once where the probe was placed: both must see the same calls
 * with the same arguments and return addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../format/records.h"
#include "../../record/placement.h"
#include "../../record/x86code.h"

#ifdef __x86_64__

#define PLACE(bytes, ret) place((const uint8_t *)(bytes), sizeof(bytes) - 1, ret, 0)
#define KEEP(bytes, keep) place((const uint8_t *)(bytes), sizeof(bytes) - 1, false, keep)
#define ADDR              0x1000

static struct cw_placement place(const uint8_t *code, size_t size, bool want_return, uint8_t keep)
{
	struct cw_placement at;

	cw_place_code(code, size, ADDR,
		      &(struct cw_placement_wish){.with_return = want_return, .keep = keep}, &at);
	return at;
}

static void expect(struct cw_placement at, uint64_t moved, int32_t adjust, uint32_t flags)
{
	assert_int_equal(at.placed, ADDR + moved);
	assert_int_equal(at.sp_adjust, adjust);
	assert_int_equal(at.flags, flags);
}

static void test_cheap_entries(void **state)
{
	(void)state;
	expect(PLACE("\x55\xc3", false), 0, 0, 0);                           /* push rbp */
	expect(PLACE("\x41\x57\x41\x5f\xc3", true), 0, 0, 0);                /* push r15 */
	expect(PLACE("\x90\xc3", false), 0, 0, 0);                           /* nop */
	expect(PLACE("\xe9\x10\x00\x00\x00", true), 0, 0, 0);                /* jmp */
	expect(PLACE("\x31\xc0\xc3", false), 0, 0, CW_PROBE_SINGLE_STEPPED); /* xor; ret */
	expect(PLACE("", false), 0, 0, 0);
	expect(PLACE("\x06", false), 0, 0, 0); /* not an instruction */
}

/* Nops of several bytes are cheap from Linux 6.18 on, and in the way before. */
static void test_wide_nops(void **state)
{
	struct cw_placement at = PLACE("\x0f\x1f\x44\x00\x00\x55\x5d\xc3", false);

	(void)state;
	assert_false(cw_x86_is_emulated((const uint8_t *)"\x0f\x1f\x44\x00\x00", 5, false));
	assert_true(cw_x86_is_emulated((const uint8_t *)"\x0f\x1f\x44\x00\x00", 5, true));
	assert_true(cw_x86_is_emulated((const uint8_t *)"\x66\x90", 2, false));
	assert_true(at.placed == ADDR || (at.placed == ADDR + 5 && at.flags == CW_PROBE_MOVED));
}

static void test_moves(void **state)
{
	(void)state;
	/* endbr64; push rbp; ret, with and without a return probe */
	expect(PLACE("\xf3\x0f\x1e\xfa\x55\xc3", false), 4, 0, CW_PROBE_MOVED);
	expect(PLACE("\xf3\x0f\x1e\xfa\x55\xc3", true), 4, 0, CW_PROBE_MOVED);
	/* xor eax,eax; push rbx; pop rbx; ret */
	expect(PLACE("\x31\xc0\x53\x5b\xc3", true), 2, 0, CW_PROBE_MOVED);
	/* sub rsp,0x18; jmp +0 ...: the stack pointer moved, so not with a return probe */
	expect(PLACE("\x48\x83\xec\x18\xeb\x00\xc3", false), 4, 0x18, CW_PROBE_MOVED);
	expect(PLACE("\x48\x83\xec\x18\xeb\x00\xc3", true), 0, 0, CW_PROBE_SINGLE_STEPPED);
	/* mov [rsp-8],rbx; push rax; pop rax; ret: the red zone */
	expect(PLACE("\x48\x89\x5c\x24\xf8\x50\x58\xc3", true), 5, 0, CW_PROBE_MOVED);
	/* push 1 (not emulated); call +0 ... */
	expect(PLACE("\x6a\x01\xe8\x00\x01\x00\x00\x58\xc3", false), 2, 8, CW_PROBE_MOVED);
	/* sub rsp,8; push rbp: there the kernel would take [rsp] for the caller, so behind it */
	expect(PLACE("\x48\x83\xec\x08\x55\x5d\x48\x83\xc4\x08\xc3", false), 0, 0,
	       CW_PROBE_SINGLE_STEPPED);
	expect(PLACE("\x48\x83\xec\x08\x55\x53\x5b\x5d\x48\x83\xc4\x08\xc3", false), 5, 16,
	       CW_PROBE_MOVED);
	/* cmovne eax,edi; sete al; cdqe; bswap eax; push */
	expect(PLACE("\x0f\x45\xc7\x0f\x94\xc0\x48\x98\x0f\xc8\x53\x5b\xc3", false), 10, 0,
	       CW_PROBE_MOVED);
}

#define NO_ARG(n) (CW_PROBE_MOVED | CW_PROBE_NO_ARG1 << ((n)-1))

/* A register that is overwritten before anybody looked at it holds no argument. */
static void test_free_registers(void **state)
{
	(void)state;
	/* xor edi,edi; push rbp */
	expect(PLACE("\x31\xff\x55\x5d\xc3", false), 2, 0, NO_ARG(1));
	/* xor ecx,ecx; jmp: the tail call of a function with three arguments */
	expect(PLACE("\x31\xc9\xe9\x00\x01\x00\x00", true), 2, 0, NO_ARG(4));
	/* lea rcx,[rip]; mov rax,[rdi+rsi]; test rax,rax; jne */
	expect(PLACE("\x48\x8d\x0d\x00\x00\x00\x00\x48\x8b\x04\x37\x48\x85\xc0\x75\x00\xc3", false),
	       14, 0, NO_ARG(4));
	/* mov r8d,1; add r8d,2; push: whatever happens to it later */
	expect(PLACE("\x41\xb8\x01\x00\x00\x00\x41\x83\xc0\x02\x55\x5d\xc3", false), 10, 0,
	       NO_ARG(5));
	/* unless it is a key */
	expect(KEEP("\x31\xff\x55\x5d\xc3", 1), 0, 0, CW_PROBE_SINGLE_STEPPED);
	expect(KEEP("\x31\xff\x55\x5d\xc3", 0xfe), 2, 0, NO_ARG(1));
	expect(KEEP("\xf3\x0f\x1e\xfa\x55\xc3", 0xff), 4, 0, CW_PROBE_MOVED);
	/* mov rdi,rsi; jmp: a second argument means that there is a first */
	expect(PLACE("\x48\x89\xf7\xe9\x00\x01\x00\x00", false), 0, 0, CW_PROBE_SINGLE_STEPPED);
	/* xor edi,edi; push rbx; mov rax,rdx: the same, seen behind the probe only */
	expect(PLACE("\x31\xff\x53\x48\x89\xd0\x5b\xc3", false), 0, 0, CW_PROBE_SINGLE_STEPPED);
	/* but not by what was put there since: xor edi,edi; push rbx; xor edx,edx; mov rax,rdx */
	expect(PLACE("\x31\xff\x53\x31\xd2\x48\x89\xd0\x5b\xc3", false), 2, 0, NO_ARG(1));
}

static void stays(const char *code, size_t size)
{
	expect(place((const uint8_t *)code, size, false, 0), 0, 0, CW_PROBE_SINGLE_STEPPED);
}
#define STAYS(bytes) stays(bytes, sizeof(bytes) - 1)

static void test_stays(void **state)
{
	(void)state;
	/* endbr64; push rbp; pop rbp; jmp to the push: a loop head behind the entry */
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xeb\xfc");
	/* the same by jne, by loop, by a 32-bit jne and by call */
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\x75\xfc\xc3");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xe2\xfc\xc3");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\x0f\x85\xf8\xff\xff\xff\xc3");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xe8\xf9\xff\xff\xff\xc3");
	/* into an instruction that is skipped */
	STAYS("\x31\xc0\x31\xdb\x55\x5d\xeb\xfa");
	/* jumps that may lead anywhere: jmp rax; notrack jmp rax; jmp [rax*8+table] */
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xff\xe0");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\x3e\xff\xe0");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xff\x24\xc5\x00\x10\x00\x00");
	/* bytes that are no instruction, and an instruction cut by the end */
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xc3\x06");
	STAYS("\xf3\x0f\x1e\xfa\x55\x5d\xc3\x48\x8b");
	/* arguments: mov rdi,[rdi]; mov sil,1; mov dl,1; and edi,-1; mov eax,r8d and back; */
	/* xor r9b,r9b; movsxd rdi,edi; imul rcx,rdx,8 */
	STAYS("\x48\x8b\x3f\x55\x5d\xc3");
	STAYS("\x40\xb6\x01\x55\x5d\xc3");
	STAYS("\xb2\x01\x55\x5d\xc3");
	STAYS("\x83\xe7\xff\x55\x5d\xc3");
	STAYS("\x44\x89\xc0\x41\x89\xc0\x55\x5d\xc3");
	STAYS("\x45\x30\xc9\x55\x5d\xc3");
	STAYS("\x48\x63\xff\x55\x5d\xc3");
	STAYS("\x48\x6b\xca\x08\x55\x5d\xc3");
	/* test rdx,rdx; mov rdx,rdi; push; cmove rdx,rdi: maybe it is kept */
	STAYS("\x48\x85\xd2\x48\x89\xfa\x55\x5d\xc3");
	STAYS("\x48\x0f\x44\xd7\x55\x5d\xc3");
	/* the frame pointer, by which the stack is walked: mov rbp,rdi; xor ebp,ebp */
	STAYS("\x48\x89\xfd\x53\x5b\xc3");
	STAYS("\x31\xed\x53\x5b\xc3");
	/* memory: [rsp] holds the return address, [rsp+8] an argument, [rdi] whatever it points to
	 */
	STAYS("\x48\x89\x04\x24\x55\x5d\xc3");
	STAYS("\x48\x89\x44\x24\x08\x55\x5d\xc3");
	STAYS("\x48\x89\x07\x55\x5d\xc3");
	/* sub rsp,8; mov [rsp+8],rax; jmp +0: that is the return address again */
	STAYS("\x48\x83\xec\x08\x48\x89\x44\x24\x08\xeb\x00\xc3");
	/* and rsp,-16; push: not a constant; sub rsp,rax; push */
	STAYS("\x48\x83\xe4\xf0\x50\x58\xc3");
	STAYS("\x48\x29\xc4\x50\x58\xc3");
	/* pop rax; push rax: pop is not skipped; xchg rdi,rax */
	STAYS("\x58\x50\xc3");
	STAYS("\x48\x97\x55\x5d\xc3");
	/* ret before the push; syscall before it; cqo writes rdx */
	STAYS("\xc3\x55\x5d\xc3");
	STAYS("\x0f\x05\x55\x5d\xc3");
	STAYS("\x48\x99\x55\x5d\xc3");
}

static void test_reach(void **state)
{
	uint8_t code[80];

	(void)state;
	/* xor eax,eax thirty times, then push: 60 bytes; thirty-two times are too far. */
	memset(code, 0x31, sizeof(code));
	for (size_t i = 1; i < sizeof(code); i += 2)
		code[i] = 0xc0;
	memcpy(code + 60, "\x50\x58\xc3", 3);
	expect(place(code, 63, false, 0), 60, 0, CW_PROBE_MOVED);
	memcpy(code + 60, "\x31\xc0\x31\xc0", 4);
	memcpy(code + 64, "\x50\x58\xc3", 3);
	expect(place(code, 67, false, 0), 0, 0, CW_PROBE_SINGLE_STEPPED);
}

/* ---- code that runs ----------------------------------------------------------------------------
 */

static const char source[] =
	"long plain(long a, long b, long c) { return a * b + c; }\n"
	"long length(const char *s) { long n = 0; while (*s++) n++; return n; }\n"
	"long loop(long a, long n) { do a = a * 3 + n; while (--n > 0); return a; }\n"
	"long spin(const char *s, long n, long c) { long r = 0;\n"
	"	for (;;) { if (*s == c) r++; if (!*s++) return r + n; } }\n"
	"long sw(const char *p, long b, long x) { switch (x & 15) { case 0: return b; case 1: "
	"return 7;\n"
	"	case 2: return *p; case 3: return b * 3; case 4: return b ^ x; case 5: return b - "
	"x;\n"
	"	case 6: return b << 2; case 7: return b >> 3; case 8: return b | x; default: "
	"return x; } }\n"
	"__attribute__((noinline)) long callee(volatile long *p) { return *p + 1; }\n"
	"long frame(long a, long b) { volatile long v[40]; v[3] = b; return callee(&v[3]) + b; }\n"
	"long fact(const char *p, long n) { return n < 2 ? *p : n * fact(p, n - 1) + n; }\n"
	"long tail(const char *p, long n) { return n <= 0 ? *p : tail(p + (n & 1), n - 2); }\n"
	"long many(long a, long b, long c, long d, long e, long f, long g, long h) {\n"
	"	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (g ^ h); }\n"
	"long dbl(long a, long b, long c) { double x = b; for (long i = 0; i < (c & 7); i++) x *= "
	"1.5;\n"
	"	return (long)x; }\n"
	"long big(const char *p, long n) { struct { char c[300]; } s; __builtin_memcpy(&s, p, "
	"16);\n"
	"	return callee((long *)&s.c[n & 8]) + s.c[1]; }\n"
	"long cold(const char *p, long n) { if (__builtin_expect(n > 1000, 0)) __builtin_trap();\n"
	"	long r = 0; while (n--) r += p[n & 7]; return r; }\n"
	/* What is done to argument registers before a first jump or push. */
	"long pass(const char *p, long n) { return many((long)p, n, 7, 8, 9, 10, 11, 12); }\n"
	"long turn(long a, long b, long c, long d) { return many(d, c, b, a, 1, 2, 3, 4); }\n"
	"long ignore(long a, long b, long c) { (void)b; return plain(c, a, 5); }\n"
	"long second(long a, long b) { (void)a; return plain(b, 3, 5); }\n"
	"long after(long a, long b, long c) { (void)a; return b > 4 ? callee(&(long){c}) : 9; }\n"
	"#include <stdarg.h>\n"
	"long varied(const char *p, long n, ...) { va_list v; long r = *p; va_start(v, n);\n"
	"	if (n & 1) r += va_arg(v, long); va_end(v); return r + callee(&n); }\n"
	"long all(long a, long b, long c, long d, long e, long f, long g, long h) { (void)b; "
	"(void)d;\n"
	"	(void)g; return a > 1 ? c + e + f : h; }\n"
	"long pick(const char *p, long b, long c) { static const char t[] = {1, 2, 3, 4};\n"
	"	long k = t[b & 3]; while (c-- > 90) k = k * 3 + *p; return k; }\n"
	"long guard(const char *p, long n) { char s[40]; __builtin_memcpy(s, p, 8);\n"
	"	s[n & 7] = 0; return length(s); }\n"
	/* The only way back to the loop's head is in a part that was put elsewhere. */
	"__asm__(\".text; .globl far; .type far,@function; far: xor %eax,%eax; .Lhead: add "
	"$3,%rax;\"\n"
	"	\"js 1f; sub $1,%rsi; jg .Lcold; 1: ret; .size far, . - far;\"\n"
	"	\".section .text.unlikely; .Lcold: jmp .Lhead; .text\");\n"
	/* Calls of inner do not enter outer. */
	"__asm__(\".globl outer; .type outer,@function; outer: xor %eax,%eax;\"\n"
	"	\".type inner,@function; inner: add $1,%eax; push %rbx; pop %rbx; ret;\"\n"
	"	\".size outer, . - outer; .size inner, . - inner\");\n"
	/* Go's way to make a frame, and what is none. */
	"asm(\".globl go, go_large, go_not; .type go,@function; .type go_large,@function\");\n"
	"asm(\".type go_not,@function; go: sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp\");\n"
	"asm(\"nop; mov 16(%rsp),%rbp; add $24,%rsp; ret; .size go, . - go\");\n"
	"asm(\"go_large: sub $1032,%rsp; mov %rbp,1024(%rsp); lea 1024(%rsp),%rbp\");\n"
	"asm(\"mov 1024(%rsp),%rbp; add $1032,%rsp; ret; .size go_large, . - go_large\");\n"
	"asm(\"go_not: sub $24,%rsp; mov %rbp,16(%rsp); lea 8(%rsp),%rbp\");\n"
	"asm(\"mov 16(%rsp),%rbp; add $24,%rsp; ret; .size go_not, . - go_not\");\n";

static const struct function {
	const char *name;
	unsigned int arguments; /* in registers */
} functions[] = {
	{"plain", 3}, {"length", 1}, {"loop", 2}, {"spin", 3}, {"sw", 3},     {"callee", 1},
	{"frame", 2}, {"fact", 2},   {"tail", 2}, {"many", 6}, {"dbl", 3},    {"big", 2},
	{"cold", 2},  {"far", 2},    {"pass", 2}, {"turn", 4}, {"ignore", 3}, {"second", 2},
	{"after", 3}, {"varied", 2}, {"all", 6},  {"pick", 3}, {"guard", 2},
};

static const char *const compilers[] = {
	"gcc -O0",
	"gcc -O1",
	"gcc -O2",
	"gcc -O3",
	"gcc -Os",
	"gcc -O1 -fcf-protection=full",
	"gcc -O2 -fcf-protection=full -fno-omit-frame-pointer",
	"gcc -Os -fcf-protection=full",
	"clang -O0",
	"clang -O1",
	"clang -O2 -fcf-protection=full",
	"clang -Os",
	"clang -Os -fno-omit-frame-pointer",
};

/* The breakpoint: hits are logged, its instruction is stepped over. */
static struct {
	uint8_t *at;
	uint8_t byte;
	int32_t adjust;
	size_t hits;
	struct hit {
		uint64_t args[8], ret, sp;
	} log[1024];
} bp;

static void trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (r[REG_EFL] & 0x100) { /* stepped over */
		r[REG_EFL] &= ~0x100;
		*bp.at = 0xcc;
		return;
	}
	if (bp.hits < 1024) {
		struct hit *h = &bp.log[bp.hits];

		h->args[0] = (uint64_t)r[REG_RDI];
		h->args[1] = (uint64_t)r[REG_RSI];
		h->args[2] = (uint64_t)r[REG_RDX];
		h->args[3] = (uint64_t)r[REG_RCX];
		h->args[4] = (uint64_t)r[REG_R8];
		h->args[5] = (uint64_t)r[REG_R9];
		h->sp = (uint64_t)r[REG_RSP] + (uint64_t)bp.adjust;
		h->ret = *(uint64_t *)h->sp;
		h->args[6] = ((uint64_t *)h->sp)[1];
		h->args[7] = ((uint64_t *)h->sp)[2];
	}
	bp.hits++;
	*bp.at = bp.byte;
	r[REG_RIP] = (greg_t)(uintptr_t)bp.at;
	r[REG_EFL] |= 0x100;
}

typedef long (*any_fn)(const char *, long, long, long, long, long, long, long);
static const char text[] = "some text to look at";

static __attribute__((noinline)) long run(any_fn fn, uint8_t *at, int32_t adjust)
{
	uintptr_t page = (uintptr_t)at & ~4095ul;
	unsigned long r = 0;

	assert_int_equal(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	bp.at = at;
	bp.byte = *at;
	bp.adjust = adjust;
	bp.hits = 0;
	*at = 0xcc;
	for (long i = 0; i < 10; i++)
		r = r * 31 + (unsigned long)fn(text, i * 3, i + 'a', 4, 5, 6, 7, 8);
	*at = bp.byte;
	return (long)r;
}

static void check_function(const char *lib, int fd, void *handle, const struct function *f,
			   bool ret, int *moved, int *gave_up)
{
	const char *name = f->name;
	uint32_t lost;
	static struct hit truth[1024];
	struct cw_placement at;
	struct cw_func fn;
	char err[CW_ERR];
	uint8_t *entry = dlsym(handle, name);
	size_t hits;
	long result;

	assert_non_null(entry);
	assert_int_equal(cw_resolve_symbol(fd, lib, 0, name, &fn, err), 0);
	cw_place_probe(fd, &fn, &(struct cw_placement_wish){.with_return = ret}, &at);
	if (!(at.flags & CW_PROBE_MOVED)) {
		assert_int_equal(at.placed, fn.offset);
		return;
	}
	++*moved;
	assert_true(!ret || !at.sp_adjust);
	result = run((any_fn)(void *)entry, entry, 0);
	hits = bp.hits;
	assert_true(hits >= 10);
	memcpy(truth, bp.log, sizeof(truth));
	assert_int_equal(run((any_fn)(void *)entry, entry + (at.placed - fn.offset), at.sp_adjust),
			 result);
	assert_int_equal(bp.hits, hits);
	/* What was given up is no argument of any of these functions; all else is right. */
	lost = at.flags / CW_PROBE_NO_ARG1;
	if (lost & ((1u << f->arguments) - 1))
		fail_msg("%s of %s: arguments 0x%x are not there", f->name, lib, lost);
	for (size_t i = 0; i < (hits < 1024 ? hits : 1024); i++) {
		for (size_t a = 0; a < 6; a++)
			if (lost >> a & 1)
				bp.log[i].args[a] = truth[i].args[a];
	}
	*gave_up += lost != 0;
	assert_memory_equal(bp.log, truth, (hits < 1024 ? hits : 1024) * sizeof(truth[0]));
}

static void test_compiled(void **state)
{
	char dir[] = "/tmp/cw-place-XXXXXX", path[96], cmd[512];
	struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	int moved = 0, gave_up = 0;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	sigaction(SIGTRAP, &sa, NULL);
	for (size_t c = 0; c < sizeof(compilers) / sizeof(compilers[0]); c++) {
		void *handle;
		int fd;

		snprintf(path, sizeof(path), "%s/%zu.so", dir, c);
		snprintf(cmd, sizeof(cmd), "%s -w -fPIC -shared -o %s %s/a.c", compilers[c], path,
			 dir);
		assert_int_equal(system(cmd), 0);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		fd = open(path, O_RDONLY);
		assert_non_null(handle);
		assert_true(fd >= 0);
		for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
			check_function(path, fd, handle, &functions[i], false, &moved, &gave_up);
			check_function(path, fd, handle, &functions[i], true, &moved, &gave_up);
		}
		close(fd);
		dlclose(handle);
	}
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
	print_message("%d probes moved, %d of them over free registers\n", moved, gave_up);
	assert_true(moved > 60);
	assert_true(gave_up > 8);
}

/* A library made of source, and a function in it. then: a command on the library, or ":". */
struct built {
	int fd;
	struct cw_func fn;
};

static struct built build(const char *options, const char *name, const char *then)
{
	char path[] = "/tmp/cw-place-XXXXXX", cmd[512], err[CW_ERR];
	struct built b;
	FILE *cc;
	int fd = mkstemp(path);

	snprintf(cmd, sizeof(cmd), "gcc -w -fPIC -shared %s -x c -o %s - && %s %s", options, path,
		 then, path);
	cc = popen(cmd, "w");
	assert_non_null(cc);
	fputs(source, cc);
	assert_int_equal(pclose(cc), 0);
	close(fd); /* the linker made a new file */
	b.fd = open(path, O_RDONLY);
	assert_int_equal(cw_resolve_symbol(b.fd, path, 0, name, &b.fn, err), 0);
	unlink(path);
	return b;
}

static struct cw_placement place_after(const char *options, const char *name, const char *then)
{
	struct built b = build(options, name, then);
	struct cw_placement at;

	cw_place_probe(b.fd, &b.fn, &(struct cw_placement_wish){0}, &at);
	close(b.fd);
	return at;
}

static struct cw_placement place_in(const char *options, const char *name)
{
	return place_after(options, name, ":");
}

static void test_inner_function(void **state)
{
	(void)state;
	assert_int_equal(place_in("-O1", "outer").flags & CW_PROBE_MOVED, 0);
	assert_int_equal(place_in("-O1", "outer").flags & CW_PROBE_SINGLE_STEPPED,
			 CW_PROBE_SINGLE_STEPPED);
	assert_int_equal(place_in("-O1", "inner").flags & CW_PROBE_MOVED, CW_PROBE_MOVED);
}

static uint32_t fp_flag(const char *options, const char *name)
{
	return place_in(options, name).flags & CW_PROBE_NO_FP;
}

static void test_frame_pointers(void **state)
{
	(void)state;
	assert_int_equal(fp_flag("-O2 -fomit-frame-pointer", "frame"), CW_PROBE_NO_FP);
	assert_int_equal(fp_flag("-O2 -fno-omit-frame-pointer", "frame"), 0);
	assert_int_equal(fp_flag("-O2 -fomit-frame-pointer", "go"), 0);
	assert_int_equal(fp_flag("-O2 -fomit-frame-pointer", "go_large"), 0);
	assert_int_equal(fp_flag("-O2 -fomit-frame-pointer", "go_not"), CW_PROBE_NO_FP);
	/* A leaf has no frame; the others of its module say whether its caller has one. */
	assert_int_equal(fp_flag("-O1 -fno-omit-frame-pointer", "plain"), 0);
	assert_int_equal(fp_flag("-O1 -fomit-frame-pointer", "plain"), CW_PROBE_NO_FP);
}

/* Where symbols of the others were stripped, unwind tables know where they are. */
static uint32_t fp_flag_alone(const char *options)
{
	return place_after(options, "plain", "strip -K plain").flags & CW_PROBE_NO_FP;
}

static void test_frame_pointers_stripped(void **state)
{
	const char *without = "-fvisibility=hidden -O1 -fomit-frame-pointer";

	(void)state;
	assert_int_equal(fp_flag_alone("-fvisibility=hidden -O1 -fno-omit-frame-pointer"), 0);
	assert_int_equal(fp_flag_alone(without), CW_PROBE_NO_FP);
	/* Without both, nothing is said. */
	assert_int_equal(place_after(without, "plain", "strip -K plain -R .eh_frame_hdr").flags &
				 CW_PROBE_NO_FP,
			 0);
}

/* A place given by its offset: behind `endbr64` as well as on it. */
static void test_literally(void **state)
{
	const char *options = "-O1 -fcf-protection=full -fomit-frame-pointer";
	struct built b = build(options, "frame", ":");
	struct cw_placement at;

	(void)state;
	cw_place_literally(b.fd, &b.fn, b.fn.offset, &at);
	assert_int_equal(at.placed, b.fn.offset);
	assert_int_equal(at.flags, CW_PROBE_SINGLE_STEPPED | CW_PROBE_NO_FP);
	cw_place_literally(b.fd, &b.fn, b.fn.offset + 4, &at); /* push */
	assert_int_equal(at.placed, b.fn.offset + 4);
	assert_int_equal(at.flags, CW_PROBE_NO_FP);
	close(b.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literally),
		cmocka_unit_test(test_cheap_entries),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_wide_nops),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_free_registers),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_inner_function),
		cmocka_unit_test(test_frame_pointers_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else /* elsewhere a probe stays at the entry */

static void test_entry(void **state)
{
	struct cw_placement at;

	(void)state;
	cw_place_code((const uint8_t *)"\xff\x43\x00\xd1\xc0\x03\x5f\xd6", 8, 64, true, &at);
	assert_int_equal(at.placed, 64);
	assert_int_equal(at.sp_adjust, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_entry)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
