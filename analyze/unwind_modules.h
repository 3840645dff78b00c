/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the unwind information of a capture's modules comes from: embedded in the capture, else a
 * file with the same build id. Knows nothing of stacks.
 */
#ifndef CW_UNWIND_MODULES_H
#define CW_UNWIND_MODULES_H

#include "images.h"
#include "symbol_sources.h"
#include "unwind_stack.h"

struct cw_unwind_modules;

/* places: where to look for files, kept by the caller; NULL: nowhere. */
struct cw_unwind_modules *cw_unwind_modules_new(bool arm64, const struct cw_source_places *places);
void cw_unwind_modules_free(struct cw_unwind_modules *u);

/* A module of the capture, and a payload that is complete. Only the first of each counts. */
void cw_unwind_modules_add(struct cw_unwind_modules *u, const struct cw_module *r);
void cw_unwind_modules_offer(struct cw_unwind_modules *u, uint32_t module_id, uint32_t kind,
			     const void *data, size_t size);

/* Rises with each payload that brought unwind information. */
uint64_t cw_unwind_modules_known(const struct cw_unwind_modules *u);

/* What to unwind stacks of a process from. */
struct cw_unwind_process {
	struct cw_unwind_modules *modules;
	const struct cw_maps *maps;  /* NULL unknown: addresses say nothing */
	const struct cw_maps *later; /* for what maps does not cover: it came late; NULL none */
	bool patient;                /* mappings and payloads may still come; no files yet */
};

/* The module and file offset of an address, by maps or, where those say nothing, by later. */
bool cw_unwind_process_find(const struct cw_unwind_process *p, uint64_t address,
			    uint32_t *module_id, uint64_t *offset);

/* What n addresses mean there: a hash of their modules and offsets. */
uint64_t cw_unwind_process_places(const struct cw_unwind_process *p, const uint64_t *pc, size_t n);

/* Call fn for each module that has unwind information or was searched for it; texts may be NULL. */
void cw_unwind_modules_each(const struct cw_unwind_modules *u,
			    void (*fn)(void *arg, uint32_t module_id, const char *from,
				       const char *tried),
			    void *arg);

/* The source's members find and machine; arg is process, which must stay. */
struct cw_unwind_source cw_unwind_source_of(struct cw_unwind_process *process);

#endif
