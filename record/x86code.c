/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What x86-64 instructions do to a probe on them or behind them. Owns the knowledge of encodings
 * and registers; it must not know files or functions.
 */
#include <string.h>
#include "x86code.h"

/* Where the opcode starts, behind legacy prefixes and REX; rex gets that byte or 0. */
static size_t opcode_at(const uint8_t *code, size_t len, uint8_t *rex)
{
	size_t i = 0;

	while (i < len && code[i] &&
	       strchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", code[i]))
		i++;
	*rex = i < len && (code[i] & 0xf0) == 0x40 ? code[i] : 0;
	return *rex ? i + 1 : i;
}

/* The forms of nop that the kernel itself writes; it knows them by their bytes. */
static bool is_kernel_nop(const uint8_t *code, size_t len)
{
	static const uint8_t nops[][9] = {
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	return len >= 3 && len <= 8 && !memcmp(code, nops[len - 3], len);
}

/* Follows branch_setup_xol_ops and push_setup_xol_ops of arch/x86/kernel/uprobes.c. */
bool cw_x86_is_emulated(const uint8_t *code, size_t len, bool wide_nops)
{
	uint8_t rex, op;
	size_t at = opcode_at(code, len, &rex);

	if (at >= len)
		return false;
	if (is_kernel_nop(code, len))
		return wide_nops;
	op = code[at];
	if (op == 0x90)
		return !(rex & 1); /* with REX.B it is an exchange */
	if (op >= 0x50 && op <= 0x57)
		return len == 1 || (len == 2 && rex == 0x41);
	if (memchr(code, 0x66, at))
		return false;
	if (op == 0x0f)
		return at + 1 < len && (code[at + 1] & 0xf0) == 0x80;
	return op == 0xeb || op == 0xe9 || op == 0xe8 || (op & 0xf0) == 0x70;
}

static uint64_t rel_target(const uint8_t *code, size_t len, uint64_t addr, size_t rel_size)
{
	int32_t rel32;

	if (rel_size == 1)
		return addr + len + (uint64_t)(int64_t)(int8_t)code[len - 1];
	memcpy(&rel32, code + len - 4, 4);
	return addr + len + (uint64_t)(int64_t)rel32;
}

enum cw_x86_flow cw_x86_flow(const uint8_t *code, size_t len, uint64_t addr, uint64_t *target)
{
	uint8_t rex, op;
	size_t at = opcode_at(code, len, &rex);

	if (at >= len)
		return CW_FLOW_NONE;
	op = code[at];
	/* jcc, loop and jrcxz, jmp with 8 bits. */
	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) || op == 0xeb) {
		*target = rel_target(code, len, addr, 1);
		return CW_FLOW_DIRECT;
	}
	/* call, jmp, jcc and xbegin with 32 bits. */
	if (((op == 0xe8 || op == 0xe9) && len >= at + 5) ||
	    (op == 0x0f && len >= at + 6 && (code[at + 1] & 0xf0) == 0x80) ||
	    (op == 0xc7 && len >= at + 6 && code[at + 1] == 0xf8)) {
		*target = rel_target(code, len, addr, 4);
		return CW_FLOW_DIRECT;
	}
	if (op == 0xff && at + 1 < len) {
		unsigned int reg = code[at + 1] >> 3 & 7;

		return reg == 4 || reg == 5 ? CW_FLOW_INDIRECT : CW_FLOW_NONE;
	}
	return CW_FLOW_NONE;
}

/* clang-format off */
static const x86_reg arguments[][5] = {
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
};
/* clang-format on */

/* The bit of the argument whose register this is, or is a part of; *whole: a write changes all. */
static uint8_t argument_bit(x86_reg reg, bool *whole)
{
	size_t arg, part;

	for (arg = 0; reg != X86_REG_INVALID && arg < 6; arg++) {
		for (part = 0; part < 5; part++) {
			if (arguments[arg][part] != reg)
				continue;
			*whole = part < 2;
			return (uint8_t)(1u << arg);
		}
	}
	return 0;
}

static bool is_stack_pointer(x86_reg reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

static bool is_frame_pointer(x86_reg reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
}

/*
 * Instructions whose only effect is on their first operand and the flags. A list of what is known
 * rather than the decoder's access tables, which leave out some effects.
 */
/* clang-format off */
static bool writes_first_operand_only(unsigned int id)
{
	switch (id) {
	case X86_INS_MOV: case X86_INS_MOVABS: case X86_INS_MOVZX: case X86_INS_MOVSX:
	case X86_INS_MOVSXD: case X86_INS_LEA: case X86_INS_ADD: case X86_INS_SUB: case X86_INS_ADC:
	case X86_INS_SBB: case X86_INS_AND: case X86_INS_OR: case X86_INS_XOR: case X86_INS_SHL:
	case X86_INS_SHR: case X86_INS_SAR: case X86_INS_ROL: case X86_INS_ROR: case X86_INS_NEG:
	case X86_INS_NOT: case X86_INS_INC: case X86_INS_DEC: case X86_INS_BSWAP: case X86_INS_BSF:
	case X86_INS_BSR: case X86_INS_TZCNT: case X86_INS_LZCNT: case X86_INS_POPCNT:
	/* conditional moves and flags to a byte */
	case X86_INS_CMOVA: case X86_INS_CMOVAE: case X86_INS_CMOVB: case X86_INS_CMOVBE:
	case X86_INS_CMOVE: case X86_INS_CMOVG: case X86_INS_CMOVGE: case X86_INS_CMOVL:
	case X86_INS_CMOVLE: case X86_INS_CMOVNE: case X86_INS_CMOVNS: case X86_INS_CMOVS:
	case X86_INS_SETA: case X86_INS_SETAE: case X86_INS_SETB: case X86_INS_SETBE:
	case X86_INS_SETE: case X86_INS_SETG: case X86_INS_SETGE: case X86_INS_SETL:
	case X86_INS_SETLE: case X86_INS_SETNE: case X86_INS_SETNS: case X86_INS_SETS:
	/* vector registers */
	case X86_INS_PXOR: case X86_INS_XORPS: case X86_INS_XORPD: case X86_INS_MOVAPS:
	case X86_INS_MOVAPD: case X86_INS_MOVUPS: case X86_INS_MOVUPD: case X86_INS_MOVDQA:
	case X86_INS_MOVDQU: case X86_INS_MOVD: case X86_INS_MOVQ: case X86_INS_MOVSS:
	case X86_INS_MOVHPS: case X86_INS_MOVLPS: case X86_INS_MOVHPD: case X86_INS_MOVLPD:
	case X86_INS_ANDPS: case X86_INS_ANDPD: case X86_INS_ORPS: case X86_INS_ORPD:
	case X86_INS_PUNPCKLDQ: case X86_INS_PUNPCKLQDQ: case X86_INS_SHUFPS: case X86_INS_SHUFPD:
	case X86_INS_UNPCKLPS: case X86_INS_UNPCKLPD: case X86_INS_PMOVMSKB: case X86_INS_MOVMSKPD:
	case X86_INS_MOVMSKPS: case X86_INS_PCMPEQB: case X86_INS_CVTSS2SD: case X86_INS_CVTSD2SS:
		return true;
	default:
		return false;
	}
}

/* Nothing but flags and the floating-point stack. */
static bool has_no_effect(unsigned int id)
{
	switch (id) {
	case X86_INS_ENDBR64: case X86_INS_NOP: case X86_INS_TEST: case X86_INS_CMP:
	case X86_INS_BT: case X86_INS_COMISS: case X86_INS_COMISD: case X86_INS_UCOMISS:
	case X86_INS_UCOMISD: case X86_INS_FLD: case X86_INS_FILD: case X86_INS_FLDZ: case X86_INS_FLD1:
	case X86_INS_CDQE: case X86_INS_CWDE: /* and rax */
		return true;
	default:
		return false;
	}
}
/* clang-format on */

static bool makes_zero(const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	return (insn->id == X86_INS_XOR || insn->id == X86_INS_SUB) && op[0].type == X86_OP_REG &&
	       op[1].type == X86_OP_REG && op[0].reg == op[1].reg;
}

/* Whether what the first operand was does not matter. */
static bool overwrites(const cs_insn *insn)
{
	return insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS || insn->id == X86_INS_MOVZX ||
	       insn->id == X86_INS_MOVSX || insn->id == X86_INS_MOVSXD || insn->id == X86_INS_LEA ||
	       makes_zero(insn);
}

static void note_read(struct cw_x86_skipped *s, x86_reg reg)
{
	bool whole;

	s->read |= argument_bit(reg, &whole) & (uint8_t) ~(s->lost | s->gone);
}

static void note_reads(struct cw_x86_skipped *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	uint8_t i;

	if (insn->id == X86_INS_NOP || makes_zero(insn))
		return;
	for (i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM) {
			note_read(s, op->mem.base);
			note_read(s, op->mem.index);
		} else if (op->type == X86_OP_REG && (i || !overwrites(insn))) {
			note_read(s, op->reg);
		}
	}
}

/*
 * Arguments fill the registers in order: when one is read, none of a lower number is a register
 * that merely is free.
 */
static bool lost_an_argument(const struct cw_x86_skipped *s)
{
	unsigned int lost = s->lost;

	return lost && s->read > (lost & -lost);
}

/* Whether an argument's register may be written: the function has not looked at it, and will not.
 */
static bool give_up(struct cw_x86_skipped *s, uint8_t bit, bool all, uint8_t keep)
{
	if (s->lost & bit)
		return true;
	if (!all || (s->read & bit) || (keep & bit))
		return false;
	s->lost |= bit;
	return true;
}

/* sub and add of a constant to rsp. */
static bool move_stack_pointer(const cs_insn *insn, uint32_t *depth)
{
	const cs_x86 *x = &insn->detail->x86;
	int64_t by, to;

	if ((insn->id != X86_INS_SUB && insn->id != X86_INS_ADD) || x->op_count != 2 ||
	    x->operands[0].reg != X86_REG_RSP || x->operands[1].type != X86_OP_IMM)
		return false;
	by = x->operands[1].imm;
	if (by < -(1 << 24) || by > 1 << 24)
		return false;
	to = (int64_t)*depth + (insn->id == X86_INS_SUB ? by : -by);
	if (to < 0)
		return false;
	*depth = (uint32_t)to;
	return true;
}

/* A write below the entry's stack pointer: a saved register, a local variable, the red zone. */
static bool is_own_stack(const cs_x86_op *op, uint32_t depth)
{
	const x86_op_mem *m = &op->mem;

	return m->base == X86_REG_RSP && m->index == X86_REG_INVALID &&
	       m->segment == X86_REG_INVALID && m->disp - (int64_t)depth + op->size <= 0;
}

static bool may_write(const cs_insn *insn, uint8_t keep, struct cw_x86_skipped *s)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	bool whole = false;
	uint8_t bit;

	if (op->type == X86_OP_MEM)
		return is_own_stack(op, s->depth);
	if (op->type != X86_OP_REG || is_frame_pointer(op->reg))
		return false;
	if (is_stack_pointer(op->reg))
		return move_stack_pointer(insn, &s->depth);
	bit = argument_bit(op->reg, &whole);
	return !bit || give_up(s, bit, whole && overwrites(insn), keep);
}

bool cw_x86_may_skip(const cs_insn *insn, uint8_t keep, struct cw_x86_skipped *s)
{
	note_reads(s, insn);
	if (lost_an_argument(s))
		return false;
	if (has_no_effect(insn->id))
		return true;
	if (insn->id == X86_INS_PUSH && insn->bytes[0] != 0x66) {
		s->depth += 8;
		return true;
	}
	if (!insn->detail->x86.op_count || !writes_first_operand_only(insn->id))
		return false;
	return may_write(insn, keep, s) && !lost_an_argument(s);
}

bool cw_x86_tells_of_lost(csh handle, const cs_insn *insn, struct cw_x86_skipped *s)
{
	cs_regs read, written;
	uint8_t nread, nwritten, i;
	bool whole;

	if (insn->id == X86_INS_NOP || makes_zero(insn))
		nread = 0;
	else if (cs_regs_access(handle, insn, read, &nread, written, &nwritten))
		return false;
	for (i = 0; i < nread; i++)
		note_read(s, read[i]);
	/* What was written since is no argument any more. */
	if (!cs_regs_access(handle, insn, read, &nread, written, &nwritten)) {
		for (i = 0; i < nwritten; i++)
			s->gone |= argument_bit(written[i], &whole);
	}
	return lost_an_argument(s);
}

/* push of a register, or sub of a constant from rsp. */
static bool makes_frame(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	return (insn->size == 1 && (b[0] & 0xf8) == 0x50) ||
	       (insn->size == 2 && b[0] == 0x41 && (b[1] & 0xf8) == 0x50) ||
	       (insn->size > 3 && b[0] == 0x48 && (b[1] == 0x83 || b[1] == 0x81) && b[2] == 0xec);
}

/*
 * Go up to 1.20 makes room first: mov [rsp+N],rbp and then lea rbp,[rsp+N]. *kept is N plus 1, once
 * the first one was seen.
 */
static bool makes_go_frame(const cs_insn *insn, uint64_t *kept)
{
	const uint8_t *b = insn->bytes;
	bool small = insn->size == 5 && b[2] == 0x6c, large = insn->size == 8 && b[2] == 0xac;
	uint32_t n = 0;

	if (!(small || large) || b[0] != 0x48 || b[3] != 0x24)
		return false;
	memcpy(&n, b + 4, small ? 1 : 4);
	if (b[1] == 0x89)
		*kept = n + 1ull;
	return b[1] == 0x8d && *kept == n + 1ull;
}

enum cw_x86_frame cw_x86_frame(csh handle, const uint8_t *code, size_t size)
{
	cs_insn *insn = cs_malloc(handle);
	enum cw_x86_frame frame = CW_FRAME_UNKNOWN;
	uint64_t addr = 0, kept = 0;
	bool pushed = false;

	/* Straight on, also behind jumps: the frame may follow a quick way out. */
	while (insn && frame != CW_FRAME_POINTER &&
	       cs_disasm_iter(handle, &code, &size, &addr, insn)) {
		const uint8_t *b = insn->bytes;

		pushed |= insn->size == 1 && b[0] == 0x55;
		if (makes_frame(insn))
			frame = CW_FRAME_NONE;
		else if (pushed && insn->size == 3 &&
			 (!memcmp(b, "\x48\x89\xe5", 3) || !memcmp(b, "\x48\x8b\xec", 3)))
			frame = CW_FRAME_POINTER; /* mov rbp,rsp */
		else if (makes_go_frame(insn, &kept))
			frame = CW_FRAME_POINTER;
	}
	if (insn)
		cs_free(insn, 1);
	return frame;
}
