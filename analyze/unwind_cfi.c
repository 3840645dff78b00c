/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns libdw's frames: translates what it says about an address into rules, once. A file may be
 * hostile: what would take all memory is not run, and the time spent on one module is limited, as
 * one long program of instructions could be gone through again for each address.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "cfi_check.h"
#include "clock.h"
#include "hash.h"
#include "symbolize_elf.h"
#include "unwind_cfi.h"

#define MAX_NS  10000000000ull /* of decoding; a large library takes some milliseconds */
#define MAX_OPS 256            /* of one expression; compilers and libraries use up to 20 */

struct cached {
	struct cw_hnode by_pc;
	struct cached *next;
	uint64_t pc;
	struct cw_rules row;
};

struct cw_cfi {
	struct cw_elf *elf;
	Dwarf_CFI *eh; /* of .eh_frame; ours */
	struct cw_cfi_section eh_section;
	Dwarf_CFI *debug; /* of .debug_frame; belongs to elf */
	struct cw_htab rows;
	struct cached *all;
	uint64_t spent_ns;
	bool go;
};

const struct cw_machine *cw_machine_of(bool arm64)
{
	static const struct cw_machine machines[] = {{7, 6, 16}, {31, 29, 32}};

	return &machines[arm64];
}

bool cw_cfi_is_go(struct cw_elf *elf)
{
	GElf_Shdr sh;

	return cw_elf_find_section(elf, ".gopclntab", &sh) ||
	       cw_elf_find_section(elf, ".data.rel.ro.gopclntab", &sh);
}

struct cw_cfi *cw_cfi_new(struct cw_elf *elf)
{
	struct cw_cfi *c = cw_zalloc(sizeof(*c));
	Dwarf *dwarf = NULL;
	GElf_Shdr sh;

	c->elf = elf;
	c->go = cw_cfi_is_go(elf);
	if (cw_cfi_check_eh(&c->eh_section, cw_elf_handle(elf)))
		c->eh = dwarf_getcfi_elf(cw_elf_handle(elf));
	/* All of it is decompressed for that. */
	if (cw_elf_find_section(elf, ".debug_frame", &sh) ||
	    cw_elf_find_section(elf, ".zdebug_frame", &sh))
		dwarf = cw_elf_dwarf(elf);
	if (dwarf && cw_cfi_check_debug(dwarf_getelf(dwarf)))
		c->debug = dwarf_getcfi(dwarf);
	return c;
}

bool cw_cfi_any(const struct cw_cfi *c)
{
	return c->eh || c->debug;
}

/* ---- rules --------------------------------------------------------------------------------------
 */

static bool base_register(const Dwarf_Op *op, struct cw_rule *r)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		r->reg = op->atom - DW_OP_breg0;
		r->offset = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx && op->number < CW_NREGS) {
		r->reg = op->number;
		r->offset = (int64_t)op->number2;
	} else {
		return false;
	}
	r->kind = CW_RULE_REG;
	return true;
}

static void keep_expression(struct cw_rule *r, const Dwarf_Op *ops, size_t nops, bool value)
{
	if (nops > MAX_OPS) {
		r->kind = CW_RULE_UNDEFINED;
		return;
	}
	r->kind = value ? CW_RULE_EXPR : CW_RULE_AT_EXPR;
	r->ops = cw_grow(NULL, nops, sizeof(*ops));
	memcpy(r->ops, ops, nops * sizeof(*ops));
	r->nops = nops;
}

/* A register's: libdw gives a location, or a value when the last operation says so. */
static void set_rule(struct cw_rule *r, const Dwarf_Op *ops, size_t nops)
{
	bool value = ops[nops - 1].atom == DW_OP_stack_value;
	size_t n = nops - value;

	if (n == 1 && !value && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		r->kind = CW_RULE_REG;
		r->reg = ops[0].atom - DW_OP_reg0;
	} else if (n == 1 && !value && ops[0].atom == DW_OP_regx && ops[0].number < CW_NREGS) {
		r->kind = CW_RULE_REG;
		r->reg = ops[0].number;
	} else if (n >= 1 && n <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		   (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
		r->kind = value ? CW_RULE_CFA : CW_RULE_AT_CFA;
		r->offset = n == 2 ? (int64_t)ops[1].number : 0;
	} else {
		keep_expression(r, ops, n, value);
	}
}

static bool read_cfa(struct cw_rules *row, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nops;

	if (dwarf_frame_cfa(frame, &ops, &nops) || !nops)
		return false;
	if (nops != 1 || !base_register(ops, &row->cfa))
		keep_expression(&row->cfa, ops, nops, true);
	return row->cfa.kind != CW_RULE_UNDEFINED;
}

/* GCC's functions that align their stack have no other rule for the frame pointer. libdw writes out
 * the CFA that an expression begins with. */
static bool links_frames(const struct cw_machine *m, const struct cw_rule *r)
{
	const Dwarf_Op *op = r->ops ? &r->ops[r->nops - 1] : NULL;

	return r->of == m->fp && r->kind == CW_RULE_AT_EXPR && op && r->nops <= 2 &&
	       (r->nops < 2 || op[-1].atom == DW_OP_call_frame_cfa) &&
	       op->atom == DW_OP_breg0 + m->fp && op->number == 0;
}

static void read_rules(struct cw_rules *row, Dwarf_Frame *frame)
{
	struct cw_rule rules[CW_NREGS] = {};
	Dwarf_Op mem[3], *ops;
	size_t nops;

	for (int reg = 0; reg < CW_NREGS; reg++) {
		struct cw_rule *r = &rules[row->n];

		if (dwarf_frame_register(frame, reg, mem, &ops, &nops))
			continue;
		if (!nops && !ops)
			continue;
		r->of = reg;
		if (!nops)
			r->kind = CW_RULE_UNDEFINED;
		else
			set_rule(r, ops, nops);
		row->linked |= links_frames(cw_machine_of(row->ra != 16), r);
		row->n++;
	}
	row->rules = cw_grow(NULL, row->n ? row->n : 1, sizeof(rules[0]));
	memcpy(row->rules, rules, row->n * sizeof(rules[0]));
}

/* C code of Go's programs is in .eh_frame. */
static Dwarf_Frame *frame_at(struct cw_cfi *c, uint64_t pc, bool *go)
{
	Dwarf_Frame *frame = NULL;
	uint64_t start;

	if (c->spent_ns > MAX_NS)
		return NULL;
	start = cw_clock_ns(CLOCK_MONOTONIC);
	if (!c->eh || !cw_cfi_check_at(&c->eh_section, pc) ||
	    dwarf_cfi_addrframe(c->eh, pc, &frame))
		frame = NULL;
	*go = c->go && !frame;
	if (!frame && c->debug && dwarf_cfi_addrframe(c->debug, pc, &frame))
		frame = NULL;
	c->spent_ns += cw_clock_ns(CLOCK_MONOTONIC) - start;
	return frame;
}

static void read_row(struct cw_cfi *c, uint64_t pc, struct cw_rules *row)
{
	Dwarf_Frame *frame = frame_at(c, pc, &row->go);
	int ra;

	if (!frame)
		return;
	ra = dwarf_frame_info(frame, NULL, NULL, &row->signal);
	if (ra >= 0 && ra < CW_NREGS && read_cfa(row, frame)) {
		row->ra = ra;
		row->found = true;
		read_rules(row, frame);
	}
	free(frame);
}

const struct cw_rules *cw_cfi_rules(struct cw_cfi *c, uint64_t file_offset)
{
	uint64_t pc, hash;
	struct cached *x;

	if (!cw_elf_address(c->elf, file_offset, &pc))
		return NULL;
	hash = cw_hash(0, pc);
	for (struct cw_hnode *n = cw_htab_first(&c->rows, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		x = cw_container(n, struct cached, by_pc);
		if (x->pc == pc)
			return &x->row;
	}
	x = cw_zalloc(sizeof(*x));
	x->pc = pc;
	x->next = c->all;
	c->all = x;
	read_row(c, pc, &x->row);
	cw_htab_insert(&c->rows, &x->by_pc, hash);
	return &x->row;
}

void cw_cfi_free(struct cw_cfi *c)
{
	if (!c)
		return;
	for (struct cached *x = c->all, *next; x; x = next) {
		next = x->next;
		for (unsigned i = 0; i < x->row.n; i++)
			free(x->row.rules[i].ops);
		free(x->row.cfa.ops);
		free(x->row.rules);
		free(x);
	}
	cw_htab_free(&c->rows);
	if (c->eh)
		dwarf_cfi_end(c->eh);
	cw_elf_free(c->elf);
	free(c);
}
