/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that was just created, and may be about to execute the program that is meant. */
#ifndef CW_NEWBORN_H
#define CW_NEWBORN_H

#include <stdint.h>

/*
 * When a process (in the recorder's namespace) is younger than 100 ms and runs its parent's program
 * still, as a shell's child does at first, wait until it executes another, is gone, or 50 ms are
 * over.
 */
void cw_newborn_wait(uint32_t pid);

#endif
