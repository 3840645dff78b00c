/* SPDX-License-Identifier: GPL-2.0-only */
/* What x86-64 instructions do to a probe on them or behind them. Pure; decoding is capstone's. */
#ifndef CW_X86CODE_H
#define CW_X86CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <capstone/capstone.h>

/*
 * Whether the kernel emulates the instruction under a uprobe instead of single-stepping it.
 * wide_nops: it is Linux 6.18 or newer, which knows nops of several bytes.
 */
bool cw_x86_is_emulated(const uint8_t *code, size_t len, bool wide_nops);

/* What control flow an instruction makes. */
enum cw_x86_flow { CW_FLOW_NONE, CW_FLOW_DIRECT, CW_FLOW_INDIRECT };

/* A jump or call at addr; *target for a direct one. Indirect calls and returns are CW_FLOW_NONE. */
enum cw_x86_flow cw_x86_flow(const uint8_t *code, size_t len, uint64_t addr, uint64_t *target);

/* What the instructions between the entry and a place behind it did. Starts zeroed. */
struct cw_x86_skipped {
	uint32_t depth; /* bytes the stack pointer is below the entry's */
	uint8_t read;   /* argument registers looked at: bit 0 the first */
	uint8_t lost;   /* overwritten, and never looked at before */
	uint8_t gone;   /* written behind that place */
};

/*
 * Whether a probe at the entry may be moved behind insn (decoded with details): it changes no
 * memory but the function's own stack, the stack pointer only by a constant, not the frame pointer,
 * and no register that holds an argument. A register that is overwritten before anybody looks at it
 * holds none, unless keep has its bit, or one of a higher number is looked at. s is brought up to
 * date; it is of no use any more when the answer is no.
 */
bool cw_x86_may_skip(const cs_insn *insn, uint8_t keep, struct cw_x86_skipped *s);

/* Look at an instruction behind: whether it shows that what was given up was an argument. */
bool cw_x86_tells_of_lost(csh handle, const cs_insn *insn, struct cw_x86_skipped *s);

/* What the beginning of a function says about frame pointers. */
enum cw_x86_frame {
	CW_FRAME_UNKNOWN, /* it needs no frame there: a leaf, or a quick way out first */
	CW_FRAME_POINTER, /* sets up rbp */
	CW_FRAME_NONE,    /* saves registers or makes room without */
};

enum cw_x86_frame cw_x86_frame(csh handle, const uint8_t *code, size_t size);

#endif
