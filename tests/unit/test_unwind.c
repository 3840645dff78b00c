/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/cfi_check.o */
/* LINK: analyze/unwind.o analyze/unwind_cfi.o analyze/unwind_stack.o analyze/hash.o */
/* LINK: analyze/symbolize_elf.o analyze/plain_debug.o analyze/symbolize_table.o */
/*
 * Unwinding by rules: steps and expressions on made-up registers and memory, and this program's own
 * stack by its own unwind tables.
 */
#include <dwarf.h>
#include <stdio.h>
#include <ucontext.h>
#include "random.h"
#include "symbolize_elf.h"
#include "unwind_fixture.h"

#define CODE 0x400000ull

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

/* What a handler without rules returns through: known by what the kernel put on the stack. */
static void signal_frames_without_rules(void **state)
{
	uint64_t words[24] = {7};
	struct cw_saved mem = memory(words, 24, 24), shorter = memory(words, 23, 23);
	struct cw_regs r = at(CODE + 1, STACK, 0), was;

	(void)state;
	r.exact = false;
	was = r;
	words[5] = 8;                 /* r8 */
	words[15] = STACK + 512;      /* rbp */
	words[20] = STACK + 448;      /* rsp */
	words[21] = CODE + 77;        /* rip */
	words[22] = 0x246;            /* eflags */
	words[23] = 0x2b000000000033; /* cs, gs, fs, ss */
	assert_int_equal(cw_unwind_signal_step(x86(), &shorter, &r), CW_UNWIND_BAD);
	assert_memory_equal(&r, &was, sizeof(r));
	assert_int_equal(cw_unwind_signal_step(x86(), &mem, &r), CW_UNWIND_CALLER);
	assert_true(r.exact && r.pc == CODE + 77 && r.r[16] == CODE + 77);
	assert_int_equal(r.r[7], STACK + 448);
	assert_int_equal(r.r[6], STACK + 512);
	assert_int_equal(r.r[8], 8);
	assert_int_equal(r.known, BIT(17) - 1);
	/* Any other words. */
	for (unsigned i = 0; i < 4; i++) {
		const unsigned at_word[] = {0, 1, 22, 23};
		uint64_t kept = words[at_word[i]];

		words[at_word[i]] ^= 0x208;
		r = was;
		assert_int_equal(cw_unwind_signal_step(x86(), &mem, &r), CW_UNWIND_BAD);
		words[at_word[i]] = kept;
	}
	r.exact = true; /* no return address */
	assert_int_equal(cw_unwind_signal_step(x86(), &mem, &r), CW_UNWIND_BAD);
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
	uint64_t seed = 1;
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
			uint64_t random = random_next(&seed);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_step),
		cmocka_unit_test(failed_steps),
		cmocka_unit_test(stacks_only_grow),
		cmocka_unit_test(signal_frames_are_exact),
		cmocka_unit_test(signal_frames_without_rules),
		cmocka_unit_test(link_registers),
		cmocka_unit_test(expressions),
		cmocka_unit_test(hostile_expressions),
		cmocka_unit_test(own_stack),
		cmocka_unit_test(damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
