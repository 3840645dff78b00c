/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF programs emitted and lost, turned into lost and counter records. */
#ifndef CW_LOSSES_H
#define CW_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"
#include "probes.h"

struct cw_losses;

struct cw_losses *cw_losses_new(struct cw_probes *pr, struct cw_writer *w);
/* Write lost records for what was lost since the last call. */
int cw_losses_poll(struct cw_losses *l);
/* A record of this type from this CPU was thrown away on purpose: it is as if it had not happened.
 */
void cw_losses_discard(struct cw_losses *l, uint32_t kind, uint32_t cpu);
/* A probe is detached: nothing is known of its function from ts on. */
int cw_losses_detached(struct cw_losses *l, uint32_t probe, uint64_t ts);
/* Say so again, for a part of the capture that stands alone: a new epoch or file. */
int cw_losses_repeat(struct cw_losses *l);
/*
 * Where the recording goes on in several files, each gets counter records of its own.
 * cw_losses_count_files comes first (-ENOMEM); then tell of every record, to which of the files it
 * went; next_file when there is another one, end_file when nothing goes to the old one any more.
 */
int cw_losses_count_files(struct cw_losses *l);
void cw_losses_wrote(struct cw_losses *l, const struct cw_rec *rec, bool old, bool present);
void cw_losses_next_file(struct cw_losses *l, struct cw_writer *w);
int cw_losses_end_file(struct cw_losses *l, struct cw_writer *old);

/* The same, then counter records; nothing may be emitted any more. */
int cw_losses_finish(struct cw_losses *l);
/* Of one record type, on all CPUs, as of the last poll. */
uint64_t cw_losses_emitted(const struct cw_losses *l, uint32_t kind);
uint64_t cw_losses_lost(const struct cw_losses *l, uint32_t kind);
uint64_t cw_losses_missed(const struct cw_losses *l, uint32_t kind);
size_t cw_losses_ndetached(const struct cw_losses *l);
void cw_losses_free(struct cw_losses *l);

#endif
