/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modules of a recording: ELF files and other objects mapped executable. Gives each a number,
 * keeps a descriptor from first sight, and embeds symbol tables and unwind sections of those that
 * appear in stacks. Also owns which process has what mapped where, and kernel symbols seen.
 */
#ifndef CW_MODULES_H
#define CW_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include "capture.h"
#include "modtab.h"

struct cw_modules;

struct cw_modules *cw_modules_new(struct cw_writer *w);
void cw_modules_free(struct cw_modules *m);

/*
 * Number of the module for an open ELF file (a probe's); writes its module record on first sight.
 * Its symbols will be embedded, and those of its separate debug file, which is held from now on.
 * pid: of a process that path is meant in, in the recorder's namespace; 0 none. Errors: -ENOMEM and
 * the writer's.
 */
int cw_modules_add_fd(struct cw_modules *m, int fd, const char *path, uint32_t pid,
		      uint32_t *module_id);

/*
 * Snapshot a process from /proc: process, process_args, thread and map records (ts is now), those
 * that say something new since the last time. pid is in the recorder's namespace, global_pid the
 * kernel's own (BPF knows it; equal outside of containers). start_boottime is rounded down to
 * /proc's clock tick (10 ms). -ESRCH when the process is gone; what it mapped may be known even so.
 */
int cw_modules_snapshot(struct cw_modules *m, uint32_t pid, uint32_t global_pid);

/*
 * The life of a process (kernel-global pid) began then. True when it is not the one that is known:
 * that is forgotten, as if it had exited.
 */
bool cw_modules_born(struct cw_modules *m, uint32_t pid, uint64_t start_boottime);

/*
 * Start PERF_RECORD_MMAP2 of all CPUs; keep(pid), with pids of the recorder's namespace, says
 * whether a process is traced. -EACCES or -EPERM without the privilege: then mappings are looked
 * for in /proc when a stack shows an unknown address.
 *
 * What the kernel reports is to be taken when records of the same time go by: who is traced, whose
 * number it is, and what is mapped belong together. cw_modules_reach takes what happened until ts,
 * with what a stack shows it is called by cw_modules_note_stack; cw_modules_drain takes all there
 * is. Reach the present at least every 100 ms; cw_modules_make_room before a while without.
 */
void cw_modules_set_room(struct cw_modules *m, size_t bytes); /* a CPU, see cw_mmapwatch_new */
int cw_modules_watch(struct cw_modules *m, bool (*keep)(void *arg, uint32_t pid), void *arg);
int cw_modules_reach(struct cw_modules *m, uint64_t ts);
int cw_modules_drain(struct cw_modules *m);
int cw_modules_make_room(struct cw_modules *m);
int cw_modules_drain_last(struct cw_modules *m); /* with what was lost, at the end */

/*
 * Look in /proc for memory that processes have moved over their text, when it is time to; last: in
 * all of them. Right after cw_modules_reach. Costs no more than 0.05 % of a CPU, but the last time,
 * some 50 us a process then.
 */
int cw_modules_look_again(struct cw_modules *m, bool last);

/* Reports that found no room so far. Lost records say when, and /proc what is mapped since. */
uint64_t cw_modules_lost(const struct cw_modules *m);

/* Read what the kernel's own functions are called before the recording begins. */
void cw_modules_know_kernel(struct cw_modules *m);

/*
 * Call text for each executable mapping of a process (kernel-global pid) that becomes known, and
 * with start = end = 0 when the process is forgotten. Before anything else.
 */
void cw_modules_on_text(struct cw_modules *m,
			void (*text)(void *arg, uint32_t pid, uint64_t start, uint64_t end),
			void *arg);

/*
 * A traced process created another at ts (kernel-global pids): the child has the same mappings,
 * which no mmap event says and /proc no longer once it is gone. What either has mapped since stays
 * its own.
 */
int cw_modules_fork(struct cw_modules *m, uint32_t parent, uint32_t child, uint64_t ts);

/* A stack record went by: remember which modules and kernel addresses it shows. Cheap. */
void cw_modules_note_stack(struct cw_modules *m, const struct cw_stack *s);

/* Memory saved with a stack went by: words in it may be return addresses. */
void cw_modules_note_saved(struct cw_modules *m, const struct cw_stack_regs *r);

/*
 * A module whose functions were entered and keep no frame pointers, so that their stacks are not
 * whole; NULL: no more. *id is where to go on, at first 0.
 */
const char *cw_modules_without_fp(const struct cw_modules *m, uint32_t *id);

/* Did a traced process ever have the module mapped, as far as is known? */
bool cw_modules_was_mapped(const struct cw_modules *m, uint32_t module_id);

/* What of modules' files goes into the capture; see cw_modtab_set_embed. Symbols, if not called. */
void cw_modules_set_embed(struct cw_modules *m, enum cw_embed what, uint64_t max_bytes);
const char *cw_modules_left_out(const struct cw_modules *m, uint32_t *id, uint64_t *size);

/* Write payloads and kernel symbols of what was noted since; about once a second and at the end. */
int cw_modules_embed(struct cw_modules *m);

/* Write perf maps again that grew since they were written; at the end. */
int cw_modules_embed_last(struct cw_modules *m);

/*
 * A process (kernel-global pid) exited and its last stacks were noted: forget its mappings.
 */
void cw_modules_forget(struct cw_modules *m, uint32_t pid);

/* Write every module, process, thread, map and ksym record again, for a new epoch. */
int cw_modules_repeat(struct cw_modules *m);

/*
 * Go on in another capture, where all of that is written, too, and payloads anew.
 * cw_modules_keep_files, right after cw_modules_new, keeps what that takes.
 */
void cw_modules_keep_files(struct cw_modules *m);
int cw_modules_restart(struct cw_modules *m, struct cw_writer *w);

#endif
