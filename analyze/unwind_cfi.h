/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind information of one module: what call frame information says about an address, in a form
 * that is cheap to apply and made once an address. Knows nothing of processes or stacks.
 */
#ifndef CW_UNWIND_CFI_H
#define CW_UNWIND_CFI_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include "records.h"

struct cw_cfi;
struct cw_elf;

enum cw_rule_kind {
	CW_RULE_SAME,      /* the caller's value is still in the register */
	CW_RULE_UNDEFINED, /* it is lost; for the return address: there is no caller */
	CW_RULE_AT_CFA,    /* in memory at CFA + offset */
	CW_RULE_CFA,       /* it is CFA + offset */
	CW_RULE_REG,       /* it is register reg + offset */
	CW_RULE_AT_EXPR,   /* in memory at the address that the expression yields */
	CW_RULE_EXPR       /* the expression yields it */
};

struct cw_rule {
	uint8_t kind; /* enum cw_rule_kind */
	uint8_t of;   /* the register that the rule is about; not for the CFA's */
	uint8_t reg;
	uint32_t nops;
	int64_t offset;
	Dwarf_Op *ops;
};

/* Rules at one address. Registers without a rule keep their value; the stack pointer becomes the
 * canonical frame address (CFA). */
struct cw_rules {
	bool found;  /* false: no information covers the address */
	bool signal; /* the frame of a signal handler's return: its caller was interrupted */
	bool go;     /* of code that keeps frame pointers, whatever the rules use */
	bool linked; /* the caller's frame pointer is saved where the frame pointer points to */
	uint8_t ra;  /* register whose caller's value is the return address */
	uint8_t n;
	struct cw_rule cfa;
	struct cw_rule *rules;
};

/* Take over elf, of which .eh_frame and .debug_frame are used. Never NULL. */
struct cw_cfi *cw_cfi_new(struct cw_elf *elf);
void cw_cfi_free(struct cw_cfi *c);

/* Go's functions keep frame pointers, which its .debug_frame does not say; many of its programs
 * have no unwind information. */
bool cw_cfi_is_go(struct cw_elf *elf);

/* Whether there is unwind information at all. */
bool cw_cfi_any(const struct cw_cfi *c);

/* Registers' DWARF numbers by machine: stack pointer, frame pointer, instruction pointer. */
struct cw_machine {
	uint8_t sp, fp, ip;
};
const struct cw_machine *cw_machine_of(bool arm64);

/*
 * Rules at an offset in the file, which is the instruction itself (for a return address, one byte
 * before). Stays valid as long as c. NULL when no loadable segment holds the offset.
 */
const struct cw_rules *cw_cfi_rules(struct cw_cfi *c, uint64_t file_offset);

#endif
