/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of frames. cw_symbolize itself is declared in database.h. */
#ifndef CW_SYMBOLIZE_H
#define CW_SYMBOLIZE_H

#include <signal.h>

/* Set it (a signal handler may) to stop symbolizing: what is named so far is kept. */
extern volatile sig_atomic_t cw_symbolize_cancel;

#endif
