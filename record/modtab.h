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
/* pid: of a process that path is meant in; 0 none. Its separate debug file is held from now on. */
uint32_t cw_modtab_add_fd(struct cw_modtab *t, int fd, const char *path, uint32_t pid, uint64_t ts);
/* What has no file: [vdso], [anon], [vsyscall] ... */
uint32_t cw_modtab_add_named(struct cw_modtab *t, const char *name, uint64_t ts);
/* Memory without a file is a module of its own in each process (kernel-global pid). */
uint32_t cw_modtab_add_memory(struct cw_modtab *t, const char *name, uint32_t pid, uint64_t ts);
/* Whether the module may hold code made at run time; *pid is then the process's, 0 any. */
bool cw_modtab_is_memory(const struct cw_modtab *t, uint32_t id, uint32_t *pid);

/* The module's file, for the caller to close; negative errno when it cannot be had. */
int cw_modtab_file(struct cw_modtab *t, uint32_t id);

/* The module appeared in a stack: its symbols are wanted. */
void cw_modtab_want(struct cw_modtab *t, uint32_t id);

/* A traced process has the module mapped; and whether one ever had. */
void cw_modtab_map(struct cw_modtab *t, uint32_t id);
bool cw_modtab_was_mapped(const struct cw_modtab *t, uint32_t id);

/* Functions of the module keep no frame pointers; and which modules that was said of, after *id. */
void cw_modtab_no_fp(struct cw_modtab *t, uint32_t id);
const char *cw_modtab_without_fp(const struct cw_modtab *t, uint32_t *id);

enum cw_embed { CW_EMBED_SYMBOLS, CW_EMBED_NONE, CW_EMBED_ALL };

/* What of the files goes into the capture, and how many bytes of that, uncompressed, at most. */
void cw_modtab_set_embed(struct cw_modtab *t, enum cw_embed what, uint64_t max_bytes);
/* Bytes that may still go there, and account for some that did; 0 also when nothing is wanted. */
uint64_t cw_modtab_room(const struct cw_modtab *t);
void cw_modtab_used(struct cw_modtab *t, uint64_t bytes);
/* The next module whose symbols found no room, after *id; NULL: no more. *size in bytes. */
const char *cw_modtab_left_out(const struct cw_modtab *t, uint32_t *id, uint64_t *size);

/* Write the payloads of wanted modules that were not written yet. */
int cw_modtab_embed(struct cw_modtab *t);

/* Keep files open that are embedded already: they may be wanted again. */
void cw_modtab_keep_files(struct cw_modtab *t);
/* Go on in another capture: nothing was embedded there yet. The records are to be repeated. */
void cw_modtab_restart(struct cw_modtab *t, struct cw_writer *w);

/* Write all module records again. */
int cw_modtab_repeat(struct cw_modtab *t);

#endif
