/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the choice of the file that unwinds a module. The capture's own copy is preferred; other
 * files are looked for only when it is sure that none comes, as the search takes time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "symbol_links.h"
#include "unwind_go.h"
#include "unwind_modules.h"

static const char useless[] = "no unwind information that can be used";

struct module {
	struct cw_hnode by_id;
	struct module *next;
	uint32_t id;
	struct cw_cfi *cfi; /* NULL none yet */
	char *from;         /* where cfi came from: "capture" or a path */
	char *tried;        /* what did not serve, or NULL */
	bool searched;      /* for a file */
	bool offered;       /* something was embedded that did not serve */
	struct cw_go *go;   /* NULL none */
	bool frames;        /* its functions keep frame pointers, whatever it is made of */
	char *path;         /* NULL: no record described it */
	char build_id[2 * sizeof(((struct cw_module *)0)->build_id) + 1];
	char offered_id[CW_BUILD_ID_TEXT]; /* of what cfi was made from */
	char dev[32];
	uint64_t ino;
};

struct cw_unwind_modules {
	const struct cw_source_places *places;
	const struct cw_machine *machine;
	struct cw_htab by_id;
	struct module *all;
	uint64_t known;
};

struct cw_unwind_modules *cw_unwind_modules_new(bool arm64, const struct cw_source_places *places)
{
	struct cw_unwind_modules *u = cw_zalloc(sizeof(*u));

	u->machine = cw_machine_of(arm64);
	u->places = places;
	return u;
}

void cw_unwind_modules_free(struct cw_unwind_modules *u)
{
	if (!u)
		return;
	for (struct module *m = u->all, *next; m; m = next) {
		next = m->next;
		cw_cfi_free(m->cfi);
		free(m->from);
		free(m->tried);
		free(m->path);
		free(m->go);
		free(m);
	}
	cw_htab_free(&u->by_id);
	free(u);
}

static struct module *module_of(struct cw_unwind_modules *u, uint32_t id)
{
	uint64_t hash = cw_hash(0, id);
	struct module *m;

	for (struct cw_hnode *n = cw_htab_first(&u->by_id, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		m = cw_container(n, struct module, by_id);
		if (m->id == id)
			return m;
	}
	m = cw_zalloc(sizeof(*m));
	m->id = id;
	cw_htab_insert(&u->by_id, &m->by_id, hash);
	m->next = u->all;
	u->all = m;
	return m;
}

void cw_unwind_modules_add(struct cw_unwind_modules *u, const struct cw_module *r)
{
	struct module *m = module_of(u, r->module_id);

	if (m->path)
		return;
	m->path = cw_strndup(r->path, strnlen(r->path, r->h.size - sizeof(*r)));
	for (uint32_t i = 0; i < r->build_id_size && i < sizeof(r->build_id); i++)
		sprintf(m->build_id + 2 * i, "%02x", r->build_id[i]);
	if (r->dev_major || r->dev_minor)
		snprintf(m->dev, sizeof(m->dev), "%u:%u", r->dev_major, r->dev_minor);
	m->ino = r->ino;
	/* An archive gives files before it says which modules they are for. */
	if (m->cfi && *m->build_id && *m->offered_id && strcmp(m->build_id, m->offered_id) != 0) {
		cw_cfi_free(m->cfi);
		free(m->from);
		m->cfi = NULL;
		m->from = NULL;
	}
}

/* Take over elf; true when it has what is needed. */
static bool take(struct cw_unwind_modules *u, struct module *m, struct cw_elf *elf)
{
	const char *from = elf && cw_elf_path(elf) ? cw_elf_path(elf) : "capture";
	struct cw_cfi *cfi;

	if (!elf)
		return false;
	m->frames |= cw_cfi_is_go(elf);
	if (!m->go)
		m->go = cw_go_new(elf);
	m->from = cw_strndup(from, strlen(from));
	snprintf(m->offered_id, sizeof(m->offered_id), "%s", cw_elf_build_id(elf));
	cfi = cw_cfi_new(elf);
	if (!cw_cfi_any(cfi)) {
		cw_cfi_free(cfi);
		free(m->from);
		m->from = NULL;
		return false;
	}
	m->cfi = cfi;
	u->known++;
	return true;
}

void cw_unwind_modules_offer(struct cw_unwind_modules *u, uint32_t module_id, uint32_t kind,
			     const void *data, size_t size)
{
	struct module *m = module_of(u, module_id);
	struct cw_elf *elf;
	const char *why;

	if (m->cfi || kind == CW_BLOB_PERF_MAP || kind == CW_BLOB_ALTERNATE)
		return;
	elf = cw_elf_open_memory(data, size, &why);
	if (elf && *m->build_id && *cw_elf_build_id(elf) &&
	    strcmp(cw_elf_build_id(elf), m->build_id) != 0) {
		cw_elf_free(elf);
		return;
	}
	m->offered |= elf && !take(u, m, elf);
}

uint64_t cw_unwind_modules_known(const struct cw_unwind_modules *u)
{
	return u->known;
}

/* Code without a file: what is made at run time, and the old system call page. */
static bool has_file(const struct module *m)
{
	return m->path && (m->path[0] != '[' || !strcmp(m->path, "[vdso]"));
}

/* What did not serve is said. */
static void take_or_note(struct cw_unwind_modules *u, struct module *m, struct cw_elf *elf,
			 FILE *tried)
{
	const char *path = elf ? cw_elf_path(elf) : NULL;
	char *from = cw_strndup(path ? path : "capture", strlen(path ? path : "capture"));

	if (elf && !take(u, m, elf))
		cw_sources_note(tried, "%s: %s", from, useless);
	free(from);
}

static void search(struct cw_unwind_modules *u, struct module *m)
{
	struct cw_module_identity id = {.path = m->path, .build_id = m->build_id, .ino = m->ino};
	struct cw_module_files files = {0};
	struct cw_elf *both[2];
	size_t size;
	FILE *tried;

	m->searched = true;
	if (!u->places || m->path[0] == '[')
		return;
	tried = open_memstream(&m->tried, &size);
	if (!tried)
		return;
	id.dev = *m->dev ? m->dev : NULL;
	files.embedded_why = m->offered ? useless : NULL;
	cw_sources_find(&id, u->places, &files, tried);
	/* A separate debug file may have no more than .debug_frame, or no unwind information. */
	both[0] = files.image;
	both[1] = files.debug != files.image ? files.debug : NULL;
	for (int i = 0; i < 2; i++) {
		if (m->cfi)
			cw_elf_free(both[i]);
		else
			take_or_note(u, m, both[i], tried);
	}
	fclose(tried);
	cw_elf_free(files.alt);
	cw_elf_free(files.mini);
	free(files.looked);
}

void cw_unwind_modules_each(const struct cw_unwind_modules *u,
			    void (*fn)(void *arg, uint32_t module_id, const char *from,
				       const char *tried),
			    void *arg)
{
	for (const struct module *m = u->all; m; m = m->next)
		if (m->cfi || m->tried)
			fn(arg, m->id, m->from, m->cfi ? NULL : m->tried);
}

bool cw_unwind_process_find(const struct cw_unwind_process *p, uint64_t address,
			    uint32_t *module_id, uint64_t *offset)
{
	return cw_maps_find(p->maps, address, module_id, offset) ||
	       cw_maps_find(p->later, address, module_id, offset);
}

uint64_t cw_unwind_process_places(const struct cw_unwind_process *p, const uint64_t *pc, size_t n)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t offset = pc[i];
		uint32_t module = 0;

		cw_unwind_process_find(p, pc[i], &module, &offset);
		hash = cw_hash(cw_hash(hash, module), offset);
	}
	return hash;
}

static enum cw_code_info find(void *arg, uint64_t pc, const struct cw_rules **row)
{
	struct cw_unwind_process *p = arg;
	enum cw_code_info at;
	struct module *m;
	uint32_t id;
	uint64_t offset;

	*row = NULL;
	if (!p->maps && !p->later)
		return CW_CODE_NO_RULES;
	if (!cw_unwind_process_find(p, pc, &id, &offset))
		return p->patient ? CW_CODE_LATER : CW_CODE_NONE;
	m = module_of(p->modules, id);
	if (!m->cfi && has_file(m)) {
		if (p->patient)
			return CW_CODE_LATER;
		if (!m->searched)
			search(p->modules, m);
	}
	at = cw_go_find(m->go, offset);
	if (at != CW_CODE_NONE)
		return at;
	if (m->cfi)
		*row = cw_cfi_rules(m->cfi, offset);
	if (*row && (*row)->found)
		return CW_CODE_RULES;
	return m->frames ? CW_CODE_FRAMES : CW_CODE_NO_RULES;
}

struct cw_unwind_source cw_unwind_source_of(struct cw_unwind_process *process)
{
	return (struct cw_unwind_source){
		.find = find, .arg = process, .machine = process->modules->machine};
}
