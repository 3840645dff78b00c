/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/cfi_check.o */
/* LINK: analyze/unwind.o analyze/unwind_cfi.o analyze/unwind_stack.o analyze/hash.o */
/* LINK: analyze/symbolize_elf.o analyze/plain_debug.o analyze/symbolize_table.o */
/* How a recorded stack is put together of frame pointers and rules, over made-up code. */
#include "random.h"
#include "unwind_fixture.h"

static struct cw_unwound found;

/* As Go's tables have it: by the stack pointer, of functions that keep frame pointers all the same.
 */
static struct cw_rules of_go;

/*
 * Code by address: 0x401xxx keeps frame pointers, 0x402xxx does not, 0x403xxx begins threads,
 * 0x404xxx has no rules, 0x405xxx may still get some, 0x406xxx has none and keeps frame pointers,
 * 0x407xxx is Go's. 0x408xxx has no rules, and 0x409000 is where a function begins. With
 * 0x40axxx stacks begin, and 0x40bxxx has its caller on another one. Nothing else is mapped.
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
	case 0x409:
		*rules = &by_sp;
		return CW_CODE_RULES;
	case 0x404:
	case 0x408:
		return CW_CODE_NO_RULES;
	case 0x405:
		return CW_CODE_LATER;
	case 0x406:
		return CW_CODE_FRAMES;
	case 0x40a:
		return CW_CODE_BEGINS;
	case 0x40b:
		return CW_CODE_SWITCHES;
	case 0x407:
		*rules = &of_go;
		return CW_CODE_RULES;
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
	const uint64_t fp[] = {0x404010, 0x404041}, kept[] = {0x406010, 0x406041};

	(void)state;
	/* The chain's own word counts where frame pointers are kept for sure. */
	assert_true(unwind(stack_of(CW_STACK_FP_END, 0, 2, kept), NULL, NULL));
	assert_true(found.complete && !found.broken && !found.problem);
	assert_true(unwind(stack_of(0, 0, 2, kept), NULL, NULL));
	assert_true(found.broken && !found.complete);
	assert_true(unwind(stack_of(CW_STACK_FP_END, 0, 2, fp), NULL, NULL));
	assert_true(found.broken && !found.complete);
	assert_non_null(strstr(found.problem, "no unwind information"));
	assert_true(unwind(stack_of(0, 0, 2, fp), NULL, NULL));
	assert_false(found.complete);
	assert_true(unwind(stack_of(CW_STACK_TRUNCATED | CW_STACK_FP_END, 0, 2, fp), NULL, NULL));
	assert_true(found.truncated && !found.complete);
	assert_true(unwind(stack_of(CW_STACK_NO_FP | CW_STACK_ENTRY, 0x404061, 1, fp), NULL, NULL));
	assert_int_equal(found.n, 2);
	assert_false(found.complete || found.broken || found.truncated);
	assert_non_null(found.problem);
}

/* Code without rules in the middle, and the thread's begin behind it. */
static void may_hide_its_caller(void **state)
{
	const uint64_t fp[] = {0x401010, 0x404041, 0x401031, 0x401041},
		       all[] = {0x401010, 0x404041, 0x401031, 0x401041, 0x403051};
	struct cw_stack_regs *end =
		regs_of(3, 0x401041, STACK + 48, STACK + 48, STACK + 32, 6, tail_words);

	(void)state;
	assert_true(unwind(stack_of(0, 0, 4, fp), NULL, end));
	expect_frames(5, all);
	assert_true(found.broken && !found.complete);
	assert_non_null(strstr(found.problem, "may hide"));
	/* It was just entered: its caller is known. */
	assert_true(
		unwind(stack_of(CW_STACK_ENTRY, fp[2], 3, fp + 1), NULL,
		       regs_of(2, 0x401041, STACK + 48, STACK + 48, STACK + 32, 6, tail_words)));
	assert_true(found.complete && !found.broken);
}

/* makecontext puts a function's begin where a return address would be, and data above. */
static void nobody_called_it(void **state)
{
	const uint64_t words[] = {0, 0x402021, 0, 0x409000, 0, 0x7f0000001000, 0, 0};
	const uint64_t fp[] = {0x402010}, all[] = {0x402010, 0x402021, 0x409000};
	const uint64_t chain[] = {0x401010, 0x401021, 0x409000};
	const uint64_t called[] = {0, 0x402021, 0, 0x7f0000001000};

	(void)state;
	assert_true(unwind(stack_of(CW_STACK_DWARF, 0, 1, fp),
			   regs_of(0, 0x402010, STACK, 1, STACK, 8, words), NULL));
	expect_frames(3, all);
	assert_true(found.complete && found.exact[2] && !found.exact[1]);
	/* By frame pointers, with the end saved. */
	assert_true(unwind(stack_of(0, 0, 3, chain), NULL,
			   regs_of(2, 0x409000, STACK + 32, 1, STACK, 8, words)));
	expect_frames(3, chain);
	assert_true(found.complete && found.exact[2] && !found.exact[1]);
	/* It returns to code, which what is above was not left by. */
	assert_true(unwind(stack_of(0, 0, 3, chain), NULL,
			   regs_of(2, 0x409000, STACK, 1, STACK, 4, called)));
	assert_true(found.broken && !found.complete);
}

/* A function that aligns its stack: its rules need an expression, and the frames are linked. */
static void aligned_stacks_are_linked(void **state)
{
	const uint64_t fp[] = {0x401010, 0x407041, 0x401041, 0x403051};
	struct cw_stack_regs *end =
		regs_of(2, 0x401041, STACK + 48, STACK + 48, STACK + 32, 6, tail_words);

	(void)state;
	of_go = by_sp;
	of_go.cfa.kind = CW_RULE_EXPR;
	assert_true(unwind(stack_of(0, 0, 4, fp), NULL, end));
	assert_non_null(strstr(found.problem, "hides"));
	of_go.linked = true;
	assert_true(unwind(stack_of(0, 0, 4, fp), NULL, end));
	expect_frames(4, fp);
	assert_true(found.complete && !found.broken);
}

/* Functions that go on on the stack of a thread: what lies above them is left over. */
static void left_over_words_are_no_frames(void **state)
{
	uint64_t words[] = {0, 0x402021, 0, 0x40a001, 0, 0x402051, 0, 0};
	uint64_t fp[] = {0x402010, 0x40a001, 0x402051}, all[] = {0x402010, 0x402021, 0x40a001};
	struct cw_stack_regs *r = regs_of(0, 0x402010, STACK, 1, STACK, 8, words);

	(void)state;
	assert_true(unwind(stack_of(CW_STACK_DWARF, 0, 1, fp), r, NULL));
	expect_frames(3, all);
	assert_true(found.complete && !found.broken);
	fp[0] = 0x401010;
	assert_true(unwind(stack_of(0, 0, 3, fp), NULL, NULL));
	expect_frames(2, fp);
	assert_true(found.complete && !found.broken);
	/* Called from another stack. */
	all[2] = 0x40b001;
	memcpy(&r->memory[3 * 8], &all[2], 8);
	fp[0] = 0x402010;
	assert_true(unwind(stack_of(CW_STACK_DWARF, 0, 1, fp), r, NULL));
	expect_frames(3, all);
	assert_true(found.broken && !found.complete);
	assert_non_null(strstr(found.problem, "another stack"));
	fp[0] = 0x401010;
	fp[1] = 0x40b001;
	assert_true(unwind(stack_of(CW_STACK_FP_END, 0, 3, fp), NULL, NULL));
	assert_true(found.broken && !found.complete);
}

static void go_keeps_frame_pointers(void **state)
{
	const uint64_t fp[] = {0x407010, 0x407041, 0x407051};
	struct cw_stack *s = stack_of(CW_STACK_FP_END, 0, 3, fp);

	(void)state;
	of_go = by_sp;
	of_go.go = true;
	assert_true(unwind(s, NULL, NULL));
	expect_frames(3, fp);
	assert_true(found.complete && !found.broken);
	s->flags = 0;
	assert_true(unwind(s, NULL, NULL));
	assert_true(found.broken && !found.complete);
	/* Before it made its frame. */
	s->flags = CW_STACK_FP_END;
	of_go.cfa.offset = 8;
	assert_true(unwind(s, NULL, NULL));
	assert_non_null(strstr(found.problem, "hides"));
}

/* What was saved begins in code without rules, on its entry: the frame pointer is its caller's. */
static void enters_without_rules(void **state)
{
	const uint64_t words[] = {7, 0x402021, 2, 0x401031, STACK + 48, 0x401041, 0, 0x403051};
	const uint64_t fp[] = {0x404010, 0x401041, 0x403051};
	const uint64_t all[] = {0x404010, 0x402021, 0x401031, 0x401041, 0x403051};
	struct cw_stack *s = stack_of(CW_STACK_DWARF | CW_STACK_ENTRY, 0x402021, 3, fp);
	struct cw_stack_regs *r = regs_of(0, 0x404010, STACK, STACK + 32, STACK, 8, words);

	(void)state;
	/* The second function leaves the frame pointer alone. */
	plain_rules[1].kind = CW_RULE_UNDEFINED;
	plain_rules[1].of = 0;
	assert_true(unwind(s, r, NULL));
	assert_int_equal(found.pc[1], all[1]);
	assert_int_equal(found.pc[2], all[2]);
	plain_rules[1].kind = CW_RULE_AT_CFA;
	plain_rules[1].of = 6;
	/* Its caller's address is not where it should be: no rules can go on. */
	s->caller = 0x402022;
	assert_true(unwind(s, r, NULL));
	assert_true(found.broken && !found.complete);
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
	uint64_t seed = 7, words[64], frames[8];

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct cw_stack_regs *begin, *end;
		struct cw_stack *s;

		for (unsigned i = 0; i < 64; i++) {
			uint64_t random = random_next(&seed);

			words[i] = random >> 40 & 1   ? 0x400000 + (random >> 48)
				   : random >> 41 & 1 ? STACK + (random >> 54)
						      : random;
		}
		memcpy(frames, words, sizeof(frames));
		s = stack_of((uint32_t)words[9], words[10], words[11] % 9, frames);
		begin = regs_of(0, words[12], STACK + words[13] % 64 * 8,
				STACK + words[14] % 64 * 8, STACK, words[15] % 64, words);
		end = regs_of(1, words[16], words[17], words[18], STACK, words[19] % 64, words);
		end->frame = (uint32_t)words[20] % 12;
		if (words[24] & 1 && end->frame < 8)
			end->regs[16] = frames[end->frame];
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
		cmocka_unit_test(joins_frame_pointers),
		cmocka_unit_test(says_what_is_hidden),
		cmocka_unit_test(gap_is_too_large),
		cmocka_unit_test(false_frames_go),
		cmocka_unit_test(code_without_rules),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(may_hide_its_caller),
		cmocka_unit_test(enters_without_rules),
		cmocka_unit_test(go_keeps_frame_pointers),
		cmocka_unit_test(nobody_called_it),
		cmocka_unit_test(aligned_stacks_are_linked),
		cmocka_unit_test(left_over_words_are_no_frames),
		cmocka_unit_test(begins_without_rules),
		cmocka_unit_test(waits),
		cmocka_unit_test(hostile_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
