/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of modules: numbers, module records, open files, and which are still to be embedded.
 * Knows nothing of processes beyond where a file was found.
 */
#ifndef CW_MODTAB_H
#define CW_MODTAB_H

#include <stdbool.h>
#include <stdint.h>
#include "capture.h"
#include "modopen.h"

struct cw_modtab;

struct cw_modtab *cw_modtab_new(struct cw_writer *w);
void cw_modtab_free(struct cw_modtab *t);
struct cw_modopen *cw_modtab_opener(struct cw_modtab *t);

/*
 * Numbers from 1, the same for the same file; a module record is written on first sight, at ts.
 * 0: out of memory or the capture cannot be written.
 */
uint32_t cw_modtab_add_mapped(struct cw_modtab *t, const struct cw_mapped_file *f, uint64_t ts);
uint32_t cw_modtab_add_fd(struct cw_modtab *t, int fd, const char *path, uint64_t ts);
/* What has no file: [vdso], [anon], [vsyscall] ... */
uint32_t cw_modtab_add_named(struct cw_modtab *t, const char *name, uint64_t ts);

/* The module appeared in a stack: its symbols are wanted. */
void cw_modtab_want(struct cw_modtab *t, uint32_t id);

/* Functions of the module keep no frame pointers; and which modules that was said of, after *id. */
void cw_modtab_no_fp(struct cw_modtab *t, uint32_t id);
const char *cw_modtab_without_fp(const struct cw_modtab *t, uint32_t *id);

/* Write the payloads of wanted modules that were not written yet. */
int cw_modtab_embed(struct cw_modtab *t);

/* Keep files open that are embedded already: they may be wanted again. */
void cw_modtab_keep_files(struct cw_modtab *t);
/* Go on in another capture: nothing was embedded there yet. The records are to be repeated. */
void cw_modtab_restart(struct cw_modtab *t, struct cw_writer *w);

/* Write all module records again. */
int cw_modtab_repeat(struct cw_modtab *t);

#endif
