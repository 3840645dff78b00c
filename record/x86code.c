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
static bool is_argument(x86_reg reg)
{
	switch (reg) {
	case X86_REG_RDI: case X86_REG_EDI: case X86_REG_DI: case X86_REG_DIL:
	case X86_REG_RSI: case X86_REG_ESI: case X86_REG_SI: case X86_REG_SIL:
	case X86_REG_RDX: case X86_REG_EDX: case X86_REG_DX: case X86_REG_DL: case X86_REG_DH:
	case X86_REG_RCX: case X86_REG_ECX: case X86_REG_CX: case X86_REG_CL: case X86_REG_CH:
	case X86_REG_R8: case X86_REG_R8D: case X86_REG_R8W: case X86_REG_R8B:
	case X86_REG_R9: case X86_REG_R9D: case X86_REG_R9W: case X86_REG_R9B:
		return true;
	default:
		return false;
	}
}
/* clang-format on */

static bool is_stack_pointer(x86_reg reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
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
	case X86_INS_MOVSXD: case X86_INS_LEA: case X86_INS_ADD: case X86_INS_SUB:
	case X86_INS_AND: case X86_INS_OR: case X86_INS_XOR: case X86_INS_SHL: case X86_INS_SHR:
	case X86_INS_SAR: case X86_INS_NEG: case X86_INS_NOT: case X86_INS_INC: case X86_INS_DEC:
	case X86_INS_PXOR: case X86_INS_XORPS: case X86_INS_XORPD: case X86_INS_MOVAPS:
	case X86_INS_MOVUPS: case X86_INS_MOVDQA: case X86_INS_MOVDQU: case X86_INS_MOVD:
	case X86_INS_MOVQ: case X86_INS_MOVSS: case X86_INS_SETE: case X86_INS_SETNE:
		return true;
	default:
		return false;
	}
}
/* clang-format on */

static bool has_no_effect(unsigned int id)
{
	return id == X86_INS_ENDBR64 || id == X86_INS_NOP || id == X86_INS_TEST ||
	       id == X86_INS_CMP;
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

bool cw_x86_may_skip(const cs_insn *insn, uint32_t *depth)
{
	const cs_x86 *x = &insn->detail->x86;
	const cs_x86_op *op = &x->operands[0];

	if (has_no_effect(insn->id))
		return true;
	if (insn->id == X86_INS_PUSH && insn->bytes[0] != 0x66) {
		*depth += 8;
		return true;
	}
	if (!x->op_count || !writes_first_operand_only(insn->id))
		return false;
	if (op->type == X86_OP_MEM)
		return is_own_stack(op, *depth);
	if (op->type != X86_OP_REG || is_argument(op->reg))
		return false;
	return is_stack_pointer(op->reg) ? move_stack_pointer(insn, depth) : true;
}

/* push of a register, or sub of a constant from rsp. */
static bool makes_frame(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	return (insn->size == 1 && (b[0] & 0xf8) == 0x50) ||
	       (insn->size == 2 && b[0] == 0x41 && (b[1] & 0xf8) == 0x50) ||
	       (insn->size > 3 && b[0] == 0x48 && (b[1] == 0x83 || b[1] == 0x81) && b[2] == 0xec);
}

enum cw_x86_frame cw_x86_frame(csh handle, const uint8_t *code, size_t size)
{
	cs_insn *insn = cs_malloc(handle);
	enum cw_x86_frame frame = CW_FRAME_UNKNOWN;
	uint64_t addr = 0;
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
	}
	if (insn)
		cs_free(insn, 1);
	return frame;
}
