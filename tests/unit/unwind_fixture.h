/* SPDX-License-Identifier: GPL-2.0-only */
/* Unwind rules as compilers write them, for made-up x86-64 stacks that begin at STACK. */
#ifndef UNWIND_FIXTURE_H
#define UNWIND_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "unwind_stack.h"

#define STACK  0x7fff00001000ull
#define BIT(n) (1ull << (n))

static inline const struct cw_machine *x86(void)
{
	return cw_machine_of(false);
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

#endif
