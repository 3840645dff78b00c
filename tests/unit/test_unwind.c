/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/unwind.o analyze/unwind_cfi.o analyze/unwind_stack.o analyze/hash.o */
/* LINK: analyze/symbolize_elf.o analyze/symbolize_table.o */
/*
 * Unwinding: rules and expressions on made-up registers and memory, this program's own stack by its
 * own unwind tables, and how frame pointers and rules are put together.
 */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <cmocka.h>
#include "symbolize_elf.h"
#include "unwind_stack.h"

#define STACK  0x7fff00001000ull
#define CODE   0x400000ull
#define BIT(n) (1ull << (n))

static const struct cw_machine *x86(void)
{
	return cw_machine_of(false);
}

/* ---- steps --------------------------------------------------------------------------------------
 */

/* Words from STACK on. */
static struct cw_saved memory(const uint64_t *words, size_t n, size_t wanted)
{
	return (struct cw_saved){
		.data = (const void *)words, .address = STACK, .size = n * 8, .wanted = wanted * 8};
}

static struct cw_regs at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct cw_regs r = {.known = BIT(6) | BIT(7) | BIT(16), .pc = pc, .exact = true};

	r.r[6] = fp;
	r.r[7] = sp;
	r.r[16] = pc;
	return r;
}

/* CFA = sp + 16, return address and frame pointer below it. */
static struct cw_rule plain_rules[] = {
	{.kind = CW_RULE_AT_CFA, .of = 16, .offset = -8},
	{.kind = CW_RULE_AT_CFA, .of = 6, .offset = -16},
	{.kind = CW_RULE_UNDEFINED, .of = 0},
};
static const struct cw_rules by_sp = {
	.found = true,
	.ra = 16,
	.n = 3,
	.cfa = {.kind = CW_RULE_REG, .reg = 7, .offset = 16},
	.rules = plain_rules,
};
static const struct cw_rules by_fp = {
	.found = true,
	.ra = 16,
	.n = 3,
	.cfa = {.kind = CW_RULE_REG, .reg = 6, .offset = 16},
	.rules = plain_rules,
};
static struct cw_rule end_rules[] = {{.kind = CW_RULE_UNDEFINED, .of = 16}};
static const struct cw_rules outermost = {
	.found = true,
	.ra = 16,
	.n = 1,
	.cfa = {.kind = CW_RULE_REG, .reg = 7, .offset = 8},
	.rules = end_rules,
};

static void plain_step(void **state)
{
	const uint64_t words[] = {0x1234, CODE + 1};
	struct cw_saved mem = memory(words, 2, 2);
	struct cw_regs r = at(CODE, STACK, 0);

	(void)state;
	r.known |= BIT(0) | BIT(3);
	r.r[3] = 77;
	assert_int_equal(cw_unwind_step(x86(), &by_sp, &mem, &r), CW_UNWIND_CALLER);
	assert_int_equal(r.pc, CODE + 1);
	assert_int_equal(r.r[6], 0x1234);
	assert_int_equal(r.r[7], STACK + 16);
	assert_false(r.exact);
	assert_int_equal(r.known, BIT(3) | BIT(6) | BIT(7) | BIT(16));
	assert_int_equal(r.r[3], 77);
	assert_int_equal(cw_unwind_step(x86(), &outermost, &mem, &r), CW_UNWIND_END);
}

/* Why a step fails, and that it changes nothing. */
static void failed_steps(void **state)
{
	const uint64_t words[] = {0x1234, 0};
	struct cw_saved mem = memory(words, 2, 2), shorter = memory(words, 1, 1),
			unread = memory(words, 1, 2);
	struct cw_regs r = at(CODE, STACK, STACK - 16), was = r;

	(void)state;
	assert_int_equal(cw_unwind_step(x86(), &by_sp, &mem, &r), CW_UNWIND_END); /* to 0 */
	assert_int_equal(cw_unwind_step(x86(), &by_sp, &shorter, &r), CW_UNWIND_NO_MEMORY);
	assert_int_equal(cw_unwind_step(x86(), &by_sp, &unread, &r), CW_UNWIND_UNREADABLE);
	assert_int_equal(cw_unwind_step(x86(), &by_fp, &mem, &r), CW_UNWIND_NO_MEMORY);
	r.known &= ~BIT(7);
	was.known = r.known;
	assert_int_equal(cw_unwind_step(x86(), &by_sp, &mem, &r), CW_UNWIND_BAD);
	assert_memory_equal(&r, &was, sizeof(r));
}

static void stacks_only_grow(void **state)
{
	const uint64_t words[] = {STACK, CODE + 1};
	struct cw_saved mem = memory(words, 2, 2);
	struct cw_regs r = at(CODE, STACK + 16, STACK);

	(void)state;
	assert_int_equal(cw_unwind_step(x86(), &by_fp, &mem, &r), CW_UNWIND_BAD);
	r = at(CODE, STACK, STACK);
	assert_int_equal(cw_unwind_fp_step(x86(), &mem, &r), CW_UNWIND_CALLER);
	assert_int_equal(r.pc, CODE + 1);
	assert_int_equal(cw_unwind_fp_step(x86(), &mem, &r), CW_UNWIND_BAD); /* fp below sp */
}

static void signal_frames_are_exact(void **state)
{
	const uint64_t words[] = {0, CODE + 1};
	struct cw_saved mem = memory(words, 2, 2);
	struct cw_regs r = at(CODE, STACK, 0);
	struct cw_rules signal = by_sp;

	(void)state;
	signal.signal = true;
	assert_int_equal(cw_unwind_step(x86(), &signal, &mem, &r), CW_UNWIND_CALLER);
	assert_true(r.exact);
}

static void link_registers(void **state)
{
	/* An arm64 leaf: the return address is still in its register, with a signature on top. */
	struct cw_rules leaf = {.found = true, .ra = 30, .cfa = {.kind = CW_RULE_REG, .reg = 31}};
	struct cw_regs r = {.known = BIT(29) | BIT(30) | BIT(31) | BIT(32)};
	struct cw_saved none = {0};

	(void)state;
	r.r[30] = 0xab12000000400123;
	r.r[31] = STACK;
	assert_int_equal(cw_unwind_step(cw_machine_of(true), &leaf, &none, &r), CW_UNWIND_CALLER);
	assert_int_equal(r.pc, 0x400123);
	assert_int_equal(r.r[31], STACK);
}

/* ---- expressions --------------------------------------------------------------------------------
 */

#define OPS(...) ((Dwarf_Op[]){__VA_ARGS__}), sizeof((Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op)

/* The CFA that an expression yields; 0 when the step fails with err. */
static uint64_t cfa_of(Dwarf_Op *ops, size_t n, enum cw_unwind_result err)
{
	const uint64_t words[] = {STACK + 8, 0x1122334455667788};
	struct cw_saved mem = memory(words, 2, 2);
	struct cw_regs r = at(CODE, STACK - 64, 0);
	struct cw_rule ra = {.kind = CW_RULE_REG, .of = 16, .reg = 16};
	struct cw_rules rules = {.found = true, .ra = 16, .n = 1, .rules = &ra};

	rules.cfa = (struct cw_rule){.kind = CW_RULE_EXPR, .ops = ops, .nops = (uint32_t)n};
	assert_int_equal(cw_unwind_step(x86(), &rules, &mem, &r), err);
	return err == CW_UNWIND_CALLER ? r.r[7] : 0;
}

static void expressions(void **state)
{
	(void)state;
	/* What the linker writes for a PLT: sp + 8 + (((ip & 15) >= 11) << 3). */
	assert_int_equal(
		cfa_of(OPS({.atom = DW_OP_breg7, .number = 8, .offset = 0},
			   {.atom = DW_OP_breg16, .number = 11, .offset = 2},
			   {.atom = DW_OP_lit15, .offset = 4}, {.atom = DW_OP_and, .offset = 5},
			   {.atom = DW_OP_lit11, .offset = 6}, {.atom = DW_OP_ge, .offset = 7},
			   {.atom = DW_OP_lit3, .offset = 8}, {.atom = DW_OP_shl, .offset = 9},
			   {.atom = DW_OP_plus, .offset = 10}),
		       CW_UNWIND_CALLER),
		STACK - 64 + 16);
	assert_int_equal(
		cfa_of(OPS({.atom = DW_OP_const8u, .number = STACK}, {.atom = DW_OP_deref}),
		       CW_UNWIND_CALLER),
		STACK + 8);
	assert_int_equal(cfa_of(OPS({.atom = DW_OP_const8u, .number = STACK + 8},
				    {.atom = DW_OP_deref_size, .number = 2},
				    {.atom = DW_OP_breg7, .number = 0}, {.atom = DW_OP_swap},
				    {.atom = DW_OP_plus}),
				CW_UNWIND_CALLER),
			 STACK - 64 + 0x7788);
	/* A branch over one operation. */
	assert_int_equal(
		cfa_of(OPS({.atom = DW_OP_breg7, .number = 8, .offset = 0},
			   {.atom = DW_OP_lit1, .offset = 2},
			   {.atom = DW_OP_bra, .number = 1, .offset = 3},
			   {.atom = DW_OP_neg, .offset = 6}, {.atom = DW_OP_nop, .offset = 7}),
		       CW_UNWIND_CALLER),
		STACK - 56);
}

static void hostile_expressions(void **state)
{
	Dwarf_Op many[200];

	(void)state;
	for (size_t i = 0; i < 200; i++)
		many[i] = (Dwarf_Op){.atom = DW_OP_lit1, .offset = i};
	assert_int_equal(cfa_of(many, 200, CW_UNWIND_BAD), 0);
	assert_int_equal(cfa_of(OPS({.atom = DW_OP_skip, .number = (Dwarf_Word)-3}), CW_UNWIND_BAD),
			 0);
	assert_int_equal(cfa_of(OPS({.atom = DW_OP_plus}), CW_UNWIND_BAD), 0);
	assert_int_equal(cfa_of(OPS({.atom = DW_OP_skip, .number = 1000}), CW_UNWIND_BAD), 0);
	assert_int_equal(
		cfa_of(OPS({.atom = DW_OP_lit0}, {.atom = DW_OP_deref}), CW_UNWIND_NO_MEMORY), 0);
	assert_int_equal(cfa_of(OPS({.atom = DW_OP_bregx, .number = 99}), CW_UNWIND_BAD), 0);
	assert_int_equal(
		cfa_of(OPS({.atom = DW_OP_lit1}, {.atom = DW_OP_pick, .number = 7}), CW_UNWIND_BAD),
		0);
	assert_int_equal(cfa_of(OPS({.atom = 0xff}), CW_UNWIND_BAD), 0);
}

/* ---- this program's own stack -------------------------------------------------------------------
 */

extern const char __executable_start[], etext[];

static struct cw_cfi *own;
static uint64_t truth[8];
static unsigned ntruth;
static struct cw_unwound found;

static enum cw_code_info find_own(void *arg, uint64_t pc, const struct cw_rules **rules)
{
	uint64_t start = (uint64_t)__executable_start;

	(void)arg;
	if (pc < start || pc >= (uint64_t)etext)
		return CW_CODE_NONE;
	*rules = cw_cfi_rules(own, pc - start);
	return *rules && (*rules)->found ? CW_CODE_RULES : CW_CODE_NO_RULES;
}

/* Across variables of others and what the sanitizer keeps between them. */
static __attribute__((noinline, no_sanitize("address"))) void copy_stack(uint8_t *to, uint64_t from,
									 size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile uint8_t *)to)[i] = ((volatile uint8_t *)from)[i];
}

static __attribute__((noinline)) void look(size_t bytes)
{
	struct cw_unwind_source source = {find_own, NULL, x86()};
	static uint64_t rec[(sizeof(struct cw_stack_regs) + 65536) / 8];
	struct cw_stack_regs *begin = (void *)rec;
	uint64_t buf[(sizeof(struct cw_stack) + 8) / 8 + 1] = {0};
	struct cw_stack *s = (void *)buf;
	ucontext_t here;

	getcontext(&here);
	for (unsigned i = 0; i < 17; i++) {
		static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

		begin->regs[i] = (uint64_t)here.uc_mcontext.gregs[order[i]];
	}
	begin->known = BIT(17) - 1;
	begin->address = begin->regs[7];
	begin->wanted = (uint32_t)bytes;
	begin->h.size = (uint16_t)(sizeof(*begin) + bytes);
	copy_stack(begin->memory, begin->address, bytes);
	s->h.size = sizeof(*s) + 8;
	s->flags = CW_STACK_DWARF;
	s->frames[0] = begin->regs[16];
	assert_true(cw_unwind_stack(&source, s, begin, NULL, &found));
}

#define NOTE() (truth[ntruth++] = (uint64_t)__builtin_return_address(0))

static __attribute__((noinline)) void inner(size_t bytes)
{
	NOTE();
	look(bytes);
	asm volatile("");
}

static __attribute__((noinline)) void variable(size_t bytes, size_t n)
{
	volatile char *room = __builtin_alloca(n);

	NOTE();
	room[0] = 1;
	inner(bytes);
	asm volatile("" ::"r"(room));
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return 0;
}

static __attribute__((noinline)) void outer(size_t bytes)
{
	int values[] = {2, 1};

	NOTE();
	qsort(values, 2, sizeof(*values), compare);
	variable(bytes, 300 + (size_t)values[0]);
	asm volatile("");
}

static void own_stack(void **state)
{
	const char *why;
	struct cw_elf *elf = cw_elf_open("/proc/self/exe", &why);

	(void)state;
	assert_non_null(elf);
	own = cw_cfi_new(elf);
	assert_true(cw_cfi_any(own));
	ntruth = 0;
	outer(4096);
	/* Out of this program into the test library, whose rules are not here. */
	assert_true(found.n > ntruth + 1);
	for (unsigned i = 0; i < ntruth; i++)
		assert_int_equal(found.pc[2 + i], truth[ntruth - 1 - i]);
	assert_true(found.exact[0]);
	assert_false(found.exact[1]);
	assert_true(found.by_rules);
	assert_false(found.complete);
	assert_true(found.broken);
	/* Less memory than it takes is said. */
	ntruth = 0;
	outer(64);
	assert_true(found.n <= 2);
	assert_true(found.truncated);
	assert_false(found.complete);
	assert_non_null(strstr(found.problem, "saved"));
	cw_cfi_free(own);
}

/* Any bytes as an ELF file's unwind information give rules or none. */
static void damaged_tables(void **state)
{
	const char *why;
	uint64_t random = 1;
	FILE *f = fopen("/proc/self/exe", "re");
	size_t size = 0;
	char *image = malloc(64u << 20);

	(void)state;
	assert_non_null(f);
	size = fread(image, 1, 64u << 20, f);
	fclose(f);
	for (unsigned round = 0; round < 20; round++) {
		struct cw_elf *elf;
		struct cw_cfi *cfi;

		for (unsigned i = 0; i < 2000; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			image[(random >> 20) % size] ^= (char)(random >> 60);
		}
		elf = cw_elf_open_memory(image, size, &why);
		if (!elf)
			continue;
		cfi = cw_cfi_new(elf);
		for (uint64_t off = 0; off < size; off += 509)
			cw_cfi_rules(cfi, off);
		cw_cfi_free(cfi);
	}
	free(image);
}

/* ---- frame pointers and rules together ----------------------------------------------------------
 */

/*
 * Code by address: 0x401xxx keeps frame pointers, 0x402xxx does not, 0x403xxx begins threads,
 * 0x404xxx has no rules, 0x405xxx may still get some. Nothing else is mapped.
 */
static enum cw_code_info find_made_up(void *arg, uint64_t pc, const struct cw_rules **rules)
{
	(void)arg;
	*rules = NULL;
	switch (pc >> 12) {
	case 0x401:
		*rules = &by_fp;
		return CW_CODE_RULES;
	case 0x402:
		*rules = &by_sp;
		return CW_CODE_RULES;
	case 0x403:
		*rules = &outermost;
		return CW_CODE_RULES;
	case 0x404:
		return CW_CODE_NO_RULES;
	case 0x405:
		return CW_CODE_LATER;
	default:
		return CW_CODE_NONE;
	}
}

static struct cw_stack *stack_of(uint32_t flags, uint64_t caller, unsigned n,
				 const uint64_t *frames)
{
	static uint64_t buf[256];
	struct cw_stack *s = (void *)buf;

	memset(buf, 0, sizeof(buf));
	s->h.size = (uint16_t)(sizeof(*s) + n * 8);
	s->flags = flags;
	s->caller = caller;
	memcpy(s->frames, frames, n * 8);
	return s;
}

static struct cw_stack_regs *regs_of(unsigned frame, uint64_t pc, uint64_t sp, uint64_t fp,
				     uint64_t address, unsigned n, const uint64_t *words)
{
	static uint64_t bufs[2][256];
	struct cw_stack_regs *r = (void *)bufs[frame > 0];

	memset(r, 0, sizeof(bufs[0]));
	r->h.size = (uint16_t)(sizeof(*r) + n * 8);
	r->frame = frame;
	r->known = BIT(6) | BIT(7) | BIT(16);
	r->regs[6] = fp;
	r->regs[7] = sp;
	r->regs[16] = pc;
	r->address = address;
	r->wanted = n * 8;
	memcpy(r->memory, words, n * 8);
	return r;
}

static bool unwind(const struct cw_stack *s, const struct cw_stack_regs *begin,
		   const struct cw_stack_regs *end)
{
	struct cw_unwind_source source = {find_made_up, NULL, x86()};

	return cw_unwind_stack(&source, s, begin, end, &found);
}

static void expect_frames(unsigned n, const uint64_t *pcs)
{
	assert_int_equal(found.n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(found.pc[i], pcs[i]);
}

/*
 * A system call: wrapper 0x402010 called by 0x402020 called by 0x401030, which has a frame pointer,
 * called by 0x401040, called by what begins threads. The walk saw 0x402010, 0x401040, 0x403050.
 */
static const uint64_t gap_words[] = {1, 0x402021, 2, 0x401031, STACK + 48, 0x401041};
static const uint64_t tail_words[] = {STACK + 48, 0x401041, 0, 0x403051, 0, 0};

static void joins_frame_pointers(void **state)
{
	const uint64_t fp[] = {0x402010, 0x401041, 0x403051},
		       all[] = {0x402010, 0x402021, 0x401031, 0x401041, 0x403051};
	struct cw_stack *s = stack_of(0, 0, 3, fp);
	struct cw_stack_regs *begin, *end;

	(void)state;
	/* The caller's frame pointer is untouched by those without: rules must not restore it. */
	plain_rules[1].kind = CW_RULE_UNDEFINED;
	plain_rules[1].of = 0;
	begin = regs_of(0, 0x402010, STACK, STACK + 32, STACK, 6, gap_words);
	end = regs_of(1, 0x401041, STACK + 48, STACK + 48, STACK + 32, 6, tail_words);
	assert_true(unwind(s, begin, end));
	expect_frames(5, all);
	assert_true(found.complete && found.repaired);
	assert_false(found.truncated || found.broken);
	assert_null(found.problem);
	assert_true(found.exact[0] && !found.exact[1]);
	/* Without the end nothing says that the thread began there. */
	assert_true(unwind(s, begin, NULL));
	expect_frames(5, all);
	assert_false(found.complete);
	assert_true(found.broken);
	plain_rules[1].kind = CW_RULE_AT_CFA;
	plain_rules[1].of = 6;
}

/* Without what was saved, the wrapper is known to hide its caller. */
static void says_what_is_hidden(void **state)
{
	const uint64_t fp[] = {0x402010, 0x401041, 0x403051};

	(void)state;
	assert_true(unwind(stack_of(CW_STACK_FP_END, 0, 3, fp), NULL, NULL));
	expect_frames(3, fp);
	assert_false(found.complete);
	assert_true(found.broken);
	assert_non_null(strstr(found.problem, "hides"));
	/* At entry the caller is known, and only a caller without frame pointer hides one. */
	assert_true(unwind(stack_of(CW_STACK_ENTRY, 0x401061, 3, fp), NULL, NULL));
	assert_int_equal(found.n, 4);
	assert_int_equal(found.pc[1], 0x401061);
	assert_null(strstr(found.problem, "hides"));
	assert_true(unwind(stack_of(CW_STACK_ENTRY, 0x402061, 3, fp), NULL, NULL));
	assert_non_null(strstr(found.problem, "hides"));
}

/* What is saved ends before the first frame pointer. */
static void gap_is_too_large(void **state)
{
	const uint64_t fp[] = {0x402010, 0x401041, 0x403051},
		       some[] = {0x402010, 0x402021, 0x401041, 0x403051};

	(void)state;
	assert_true(unwind(stack_of(0, 0, 3, fp),
			   regs_of(0, 0x402010, STACK, STACK + 32, STACK, 2, gap_words), NULL));
	expect_frames(4, some);
	assert_true(found.broken && !found.complete);
}

static void false_frames_go(void **state)
{
	const uint64_t fp[] = {0x401010, 0x401041, 0x7f0000001000};

	(void)state;
	assert_true(unwind(stack_of(0, 0, 3, fp), NULL, NULL));
	expect_frames(2, fp);
	assert_true(found.broken && found.repaired && !found.complete);
}

static void code_without_rules(void **state)
{
	const uint64_t fp[] = {0x404010, 0x404041};

	(void)state;
	/* Only the chain's own word counts. */
	assert_true(unwind(stack_of(CW_STACK_FP_END, 0, 2, fp), NULL, NULL));
	assert_true(found.complete);
	assert_true(unwind(stack_of(0, 0, 2, fp), NULL, NULL));
	assert_false(found.complete);
	assert_true(unwind(stack_of(CW_STACK_TRUNCATED | CW_STACK_FP_END, 0, 2, fp), NULL, NULL));
	assert_true(found.truncated && !found.complete);
	assert_true(unwind(stack_of(CW_STACK_NO_FP | CW_STACK_ENTRY, 0x404061, 1, fp), NULL, NULL));
	assert_int_equal(found.n, 2);
	assert_false(found.complete || found.broken || found.truncated);
	assert_non_null(found.problem);
}

/* --stack dwarf where the first module has no rules: frame pointers serve. */
static void falls_back(void **state)
{
	const uint64_t fp[] = {0x404010, 0x401041, 0x403051}, words[] = {0, 0, 0, 0, 0, 0};
	struct cw_stack *s = stack_of(CW_STACK_DWARF, 0, 3, fp);

	(void)state;
	assert_true(unwind(s, regs_of(0, 0x404010, STACK, 1, STACK, 6, words), NULL));
	expect_frames(3, fp);
	assert_true(found.by_fp && !found.by_rules && !found.complete);
}

/* The loader is entered by code without rules, with all of the stack above it. */
static void begins_without_rules(void **state)
{
	const uint64_t fp[] = {0x402010}, words[] = {1, 0x402021, 2, 0x404001};
	const uint64_t want[] = {0x402010, 0x402021, 0x404001};
	struct cw_stack_regs *r = regs_of(0, 0x402010, STACK, 1, STACK, 4, words);

	(void)state;
	assert_true(unwind(stack_of(0, 0, 1, fp), r, NULL));
	expect_frames(3, want);
	assert_true(found.broken && !found.complete);
	r->flags = CW_SAVED_ALL;
	assert_true(unwind(stack_of(0, 0, 1, fp), r, NULL));
	expect_frames(3, want);
	assert_true(found.complete && !found.broken && !found.truncated && !found.problem);
	/* There is more above: it was not the first one. */
	r->wanted += 8;
	assert_true(unwind(stack_of(0, 0, 1, fp), r, NULL));
	assert_false(found.complete);
}

static void waits(void **state)
{
	const uint64_t fp[] = {0x401010, 0x405041, 0x403051};

	(void)state;
	assert_false(unwind(stack_of(0, 0, 3, fp), NULL, NULL));
}

/* Numbers in records are what they like. */
static void hostile_records(void **state)
{
	uint64_t random = 7, words[64], frames[8];

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct cw_stack_regs *begin, *end;
		struct cw_stack *s;

		for (unsigned i = 0; i < 64; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			words[i] = random >> 40 & 1   ? 0x400000 + (random >> 50)
				   : random >> 41 & 1 ? STACK + (random >> 54)
						      : random;
		}
		memcpy(frames, words, sizeof(frames));
		s = stack_of((uint32_t)words[9], words[10], words[11] % 9, frames);
		begin = regs_of(0, words[12], STACK + words[13] % 64 * 8,
				STACK + words[14] % 64 * 8, STACK, words[15] % 64, words);
		end = regs_of(1, words[16], words[17], words[18], STACK, words[19] % 64, words);
		end->frame = (uint32_t)words[20] % 12;
		begin->known ^= words[21] & BIT(6);
		begin->wanted = (uint32_t)words[22];
		unwind(s, words[23] & 1 ? begin : NULL, words[23] & 2 ? end : NULL);
		assert_true(found.n <= CW_MAX_UNWOUND);
		assert_false(found.complete && (found.broken || found.truncated));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_step),
		cmocka_unit_test(failed_steps),
		cmocka_unit_test(stacks_only_grow),
		cmocka_unit_test(signal_frames_are_exact),
		cmocka_unit_test(link_registers),
		cmocka_unit_test(expressions),
		cmocka_unit_test(hostile_expressions),
		cmocka_unit_test(own_stack),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(joins_frame_pointers),
		cmocka_unit_test(says_what_is_hidden),
		cmocka_unit_test(gap_is_too_large),
		cmocka_unit_test(false_frames_go),
		cmocka_unit_test(code_without_rules),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(begins_without_rules),
		cmocka_unit_test(waits),
		cmocka_unit_test(hostile_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
