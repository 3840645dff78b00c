/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the application of rules, and DWARF expressions in them. Every value may be hostile: all
 * that is read lies in saved memory, and expressions end.
 */
#include <dwarf.h>
#include "unwind.h"
#include "wire.h"

#define MAX_STEPS 512 /* operations carried out by one expression */
#define DEPTH     32

struct eval {
	const struct cw_saved *mem;
	const struct cw_regs *regs;
	uint64_t cfa;
	uint64_t stack[DEPTH];
	unsigned n;
	enum cw_unwind_result err; /* CW_UNWIND_CALLER: none */
};

bool cw_saved_word(const struct cw_saved *mem, uint64_t address, uint64_t *word)
{
	uint64_t off = address - mem->address;

	if (!mem->data || off > mem->size || mem->size - off < sizeof(*word))
		return false;
	*word = cw_get64(mem->data + off);
	return true;
}

/* Why a word could not be read. Memory ends where the recorder could read no more, or where it was
 * not asked to. */
static enum cw_unwind_result missing(const struct cw_saved *mem, uint64_t address)
{
	return mem->data && address - mem->address < mem->wanted ? CW_UNWIND_UNREADABLE
								 : CW_UNWIND_NO_MEMORY;
}

static bool known(const struct cw_regs *regs, unsigned reg)
{
	return reg < CW_NREGS && regs->known >> reg & 1;
}

/* ---- expressions --------------------------------------------------------------------------------
 */

static void push(struct eval *e, uint64_t v)
{
	if (e->n == DEPTH)
		e->err = CW_UNWIND_BAD;
	else
		e->stack[e->n++] = v;
}

static uint64_t pop(struct eval *e)
{
	if (!e->n) {
		e->err = CW_UNWIND_BAD;
		return 0;
	}
	return e->stack[--e->n];
}

static void push_register(struct eval *e, uint64_t reg, uint64_t offset)
{
	if (reg < CW_NREGS && known(e->regs, (unsigned)reg))
		push(e, e->regs->r[reg] + offset);
	else
		e->err = CW_UNWIND_BAD;
}

static void load(struct eval *e, uint64_t size)
{
	uint64_t address = pop(e), word;

	if (size < 1 || size > 8) {
		e->err = CW_UNWIND_BAD;
		return;
	}
	if (!cw_saved_word(e->mem, address, &word)) {
		e->err = missing(e->mem, address);
		return;
	}
	push(e, size == 8 ? word : word & ((1ull << 8 * size) - 1));
}

static void pick(struct eval *e, uint64_t index)
{
	if (index >= e->n)
		e->err = CW_UNWIND_BAD;
	else
		push(e, e->stack[e->n - 1 - index]);
}

static void two(struct eval *e, unsigned atom)
{
	uint64_t b = pop(e), a = pop(e);
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (atom) {
	case DW_OP_plus:
		return push(e, a + b);
	case DW_OP_minus:
		return push(e, a - b);
	case DW_OP_mul:
		return push(e, a * b);
	case DW_OP_and:
		return push(e, a & b);
	case DW_OP_or:
		return push(e, a | b);
	case DW_OP_xor:
		return push(e, a ^ b);
	case DW_OP_shl:
		return push(e, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(e, b < 64 ? a >> b : 0);
	case DW_OP_shra:
		return push(e, (uint64_t)(sa >> (b < 63 ? b : 63)));
	case DW_OP_eq:
		return push(e, a == b);
	case DW_OP_ne:
		return push(e, a != b);
	case DW_OP_ge:
		return push(e, sa >= sb);
	case DW_OP_gt:
		return push(e, sa > sb);
	case DW_OP_le:
		return push(e, sa <= sb);
	case DW_OP_lt:
		return push(e, sa < sb);
	case DW_OP_swap:
		push(e, b);
		return push(e, a);
	default:
		e->err = CW_UNWIND_BAD;
	}
}

static void one(struct eval *e, const Dwarf_Op *op)
{
	unsigned atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(e, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(e, atom - DW_OP_breg0, op->number);
	switch (atom) {
	case DW_OP_nop:
		return;
	case DW_OP_addr:
	case DW_OP_const1u ... DW_OP_consts:
		return push(e, op->number);
	case DW_OP_bregx:
		return push_register(e, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(e, e->cfa);
	case DW_OP_plus_uconst:
		return push(e, pop(e) + op->number);
	case DW_OP_deref:
		return load(e, 8);
	case DW_OP_deref_size:
		return load(e, op->number);
	case DW_OP_dup:
		return pick(e, 0);
	case DW_OP_over:
		return pick(e, 1);
	case DW_OP_pick:
		return pick(e, op->number);
	case DW_OP_drop:
		pop(e);
		return;
	case DW_OP_neg:
		return push(e, -pop(e));
	case DW_OP_not:
		return push(e, ~pop(e));
	default:
		two(e, atom);
	}
}

/* Index of the operation that a branch leads to; n when there is none. */
static uint32_t target(const struct cw_rule *r, uint32_t i)
{
	/* A branch is three bytes long; libdw keeps where each operation begins. */
	Dwarf_Word to = r->ops[i].offset + 3 + (Dwarf_Word)(int16_t)r->ops[i].number;
	uint32_t j = 0;

	while (j < r->nops && r->ops[j].offset != to)
		j++;
	return j;
}

static uint64_t evaluate(struct eval *e, const struct cw_rule *r)
{
	uint32_t i = 0, steps = 0;

	e->n = 0;
	/* A register's expression starts with the CFA on the stack, which libdw writes out. */
	while (i < r->nops && e->err == CW_UNWIND_CALLER) {
		const Dwarf_Op *op = &r->ops[i];

		if (++steps > MAX_STEPS)
			e->err = CW_UNWIND_BAD;
		else if (op->atom == DW_OP_skip || (op->atom == DW_OP_bra && pop(e)))
			i = target(r, i);
		else if (op->atom == DW_OP_bra)
			i++;
		else
			one(e, &r->ops[i++]);
	}
	return e->err == CW_UNWIND_CALLER ? pop(e) : 0;
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static enum cw_unwind_result find_cfa(const struct cw_rules *row, const struct cw_saved *mem,
				      const struct cw_regs *regs, uint64_t *cfa)
{
	struct eval e = {.mem = mem, .regs = regs};

	if (row->cfa.kind == CW_RULE_REG) {
		if (!known(regs, row->cfa.reg))
			return CW_UNWIND_BAD;
		*cfa = regs->r[row->cfa.reg] + (uint64_t)row->cfa.offset;
		return CW_UNWIND_CALLER;
	}
	*cfa = evaluate(&e, &row->cfa);
	return e.err;
}

static enum cw_unwind_result apply(const struct cw_rule *r, const struct cw_saved *mem,
				   const struct cw_regs *regs, uint64_t cfa, uint64_t *value)
{
	struct eval e = {.mem = mem, .regs = regs, .cfa = cfa};
	uint64_t address = cfa + (uint64_t)r->offset;

	switch (r->kind) {
	case CW_RULE_CFA:
		*value = address;
		return CW_UNWIND_CALLER;
	case CW_RULE_REG:
		if (!known(regs, r->reg))
			return CW_UNWIND_BAD;
		*value = regs->r[r->reg] + (uint64_t)r->offset;
		return CW_UNWIND_CALLER;
	case CW_RULE_EXPR:
		*value = evaluate(&e, r);
		return e.err;
	case CW_RULE_AT_EXPR:
		address = evaluate(&e, r);
		if (e.err != CW_UNWIND_CALLER)
			return e.err;
		break;
	}
	return cw_saved_word(mem, address, value) ? CW_UNWIND_CALLER : missing(mem, address);
}

/* Addresses without the bits that pointer authentication puts there; stacks grow towards 0. */
static enum cw_unwind_result arrive(const struct cw_machine *m, struct cw_regs *to, uint64_t ra,
				    bool signal, uint64_t old_sp, struct cw_regs *regs)
{
	if (m->ip == 32)
		ra &= (1ull << 48) - 1;
	if (!ra)
		return CW_UNWIND_END;
	/* A handler may have had a stack of its own; else every caller is further up. */
	if (!signal && to->r[m->sp] <= old_sp && m->ip != 32)
		return CW_UNWIND_BAD;
	to->pc = ra;
	to->exact = signal;
	to->r[m->ip] = ra;
	to->known |= 1ull << m->ip;
	*regs = *to;
	return CW_UNWIND_CALLER;
}

enum cw_unwind_result cw_unwind_step(const struct cw_machine *m, const struct cw_rules *row,
				     const struct cw_saved *mem, struct cw_regs *regs)
{
	struct cw_regs to = *regs;
	bool have_ra = known(regs, row->ra) && row->ra != m->ip;
	uint64_t cfa, ra = have_ra ? regs->r[row->ra] : 0, value;
	enum cw_unwind_result step = find_cfa(row, mem, regs, &cfa);

	if (step != CW_UNWIND_CALLER)
		return step;
	to.r[m->sp] = cfa;
	to.known |= 1ull << m->sp;
	for (unsigned i = 0; i < row->n; i++) {
		const struct cw_rule *r = &row->rules[i];

		if (r->kind == CW_RULE_UNDEFINED) {
			if (r->of == row->ra)
				return CW_UNWIND_END;
			to.known &= ~(1ull << r->of);
			continue;
		}
		step = apply(r, mem, regs, cfa, &value);
		/* Without the return address nothing goes on; without another one, it may. */
		if (step != CW_UNWIND_CALLER && r->of == row->ra)
			return step;
		if (step != CW_UNWIND_CALLER) {
			to.known &= ~(1ull << r->of);
			continue;
		}
		to.r[r->of] = value;
		to.known |= 1ull << r->of;
		if (r->of == row->ra) {
			ra = value;
			have_ra = true;
		}
	}
	if (!have_ra || !known(&to, m->sp))
		return CW_UNWIND_BAD;
	return arrive(m, &to, ra, row->signal, regs->r[m->sp], regs);
}

enum cw_unwind_result cw_unwind_fp_step(const struct cw_machine *m, const struct cw_saved *mem,
					struct cw_regs *regs)
{
	struct cw_regs to = *regs;
	uint64_t fp = regs->r[m->fp], ra, caller_fp;

	if (!known(regs, m->fp) || !known(regs, m->sp) || fp < regs->r[m->sp] || fp & 7)
		return CW_UNWIND_BAD;
	if (!cw_saved_word(mem, fp, &caller_fp) || !cw_saved_word(mem, fp + 8, &ra))
		return missing(mem, fp + 8);
	/* What the others hold now is anybody's guess. */
	to.known = 1ull << m->sp | 1ull << m->fp;
	to.r[m->fp] = caller_fp;
	to.r[m->sp] = fp + 16;
	return arrive(m, &to, ra, false, regs->r[m->sp], regs);
}

/*
 * What a signal interrupted, as the kernel keeps it for rt_sigreturn (struct ucontext of x86): the
 * C libraries that describe the code behind a handler by rules are glibc only. The selectors of
 * 64-bit user code, and flags that are always set there, tell it from other words.
 */
enum cw_unwind_result cw_unwind_signal_step(const struct cw_machine *m, const struct cw_saved *mem,
					    struct cw_regs *regs)
{
	/* From r8 on, in the order of the structure: registers by their DWARF numbers. */
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
	const uint64_t at = regs->r[m->sp], flags_on = 0x202, selectors = 0x002b000000000033;
	uint64_t uc_flags, uc_link, eflags, words;
	struct cw_regs to = {0};

	if (m->ip != 16 || !known(regs, m->sp) || regs->exact ||
	    !cw_saved_word(mem, at, &uc_flags) || !cw_saved_word(mem, at + 8, &uc_link) ||
	    !cw_saved_word(mem, at + 176, &eflags) || !cw_saved_word(mem, at + 184, &words))
		return CW_UNWIND_BAD;
	if (uc_flags > 7 || uc_link || words != selectors || (eflags & flags_on) != flags_on ||
	    eflags >> 22)
		return CW_UNWIND_BAD;
	for (unsigned i = 0; i < sizeof(order); i++) {
		cw_saved_word(mem, at + 40 + 8 * i, &to.r[order[i]]);
		to.known |= 1ull << order[i];
	}
	return arrive(m, &to, to.r[m->ip], true, at, regs);
}
