/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that a process has moved from its file to other memory, as huge pages are often got. */
#ifndef CW_MOVED_H
#define CW_MOVED_H

#include <stdbool.h>
#include <stdint.h>
#include "missing_text.h"
#include "modtab.h"
#include "proctab.h"

/*
 * Whether memory [start, end) of a process (pid in the recorder's namespace) holds what the file fd
 * has from offset on. A sample decides, in which the breakpoints of probes may differ. False also
 * when the memory cannot be read.
 */
bool cw_moved_is_text(int fd, uint64_t offset, uint32_t pid, uint64_t start, uint64_t end);

/*
 * Is the new executable mapping f of p memory (cw_may_be_made) with the text of a file that was
 * mapped there, or is mapped right before or behind it? Sets e->module_id, e->pgoff and a flag
 * then.
 */
bool cw_moved_find(struct cw_modtab *t, const struct cw_proc *p, const struct cw_mapped_file *f,
		   struct cw_map_entry *e);

/*
 * Does memory f of p, as /proc shows it, lie where the text of a file was mapped, and is nothing
 * known of that yet? Makes f the first such part; the next is sought from f->end on, which is to
 * become f->start. end: of all of it. Not where what lies there cannot be compared with the file.
 */
bool cw_moved_over(struct cw_modtab *t, const struct cw_proc *p, struct cw_mapped_file *f,
		   uint64_t end);

/*
 * Is it such memory with the text of a file that has other parts mapped around it, when nothing is
 * known of what was mapped there before? missing: where text should be in p, read when it is NULL;
 * the caller frees it before p maps anything else. Sets the same of e; e->module_id is 0 when there
 * is no memory.
 */
bool cw_moved_deduce(struct cw_modtab *t, struct cw_missing_text **missing, const struct cw_proc *p,
		     const struct cw_mapped_file *f, struct cw_map_entry *e);

#endif
