/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the way from the addresses in a stack to the modules that are wanted for it. Must not know
 * where mappings come from, nor how anything is embedded.
 */
#include <string.h>
#include "perfmap.h"
#include "wanted.h"

/* Want the module that holds addr; false when no mapping does. cw_unplaced_retry's. */
static bool want_at(void *arg, uint32_t pid, uint64_t addr)
{
	struct cw_wanted *w = arg;
	struct cw_proc *p = cw_proctab_get(w->procs, pid, false);
	const struct cw_map_entry *e = p ? cw_proc_find_map(p, addr) : NULL;

	if (e)
		cw_modtab_want(w->modtab, e->module_id);
	return e != NULL;
}

/* A stack shows code that may have been made at run time: a perf map may name it. */
static void note_memory(struct cw_wanted *w, struct cw_proc *p, uint32_t module_id)
{
	struct cw_proc *whose;
	uint32_t owner;

	if (!cw_modtab_is_memory(w->modtab, module_id, &owner))
		return;
	whose = owner && owner != p->pid ? cw_proctab_get(w->procs, owner, false) : NULL;
	if (cw_perfmap_want(whose ? whose : p, module_id)) {
		/* It may have become something else since it was mapped. */
		p->stale = true;
		w->hungry = true;
	}
}

static void note_addr(struct cw_wanted *w, uint32_t pid, struct cw_proc *p, uint64_t addr)
{
	const struct cw_map_entry *e = p ? cw_proc_find_map(p, addr) : NULL;

	if (e) {
		cw_modtab_want(w->modtab, e->module_id);
		note_memory(w, p, e->module_id);
		return;
	}
	if (!addr)
		return;
	cw_unplaced_add(&w->unplaced, pid, addr);
	if (p && !w->reported) {
		/* Nobody reports mappings: look for them, once for many such addresses. */
		p->stale = true;
		w->hungry = true;
	}
}

static void note_no_fp(struct cw_wanted *w, const struct cw_proc *p, uint64_t addr)
{
	const struct cw_map_entry *e = cw_proc_find_map(p, addr);

	if (e)
		cw_modtab_no_fp(w->modtab, e->module_id);
}

void cw_wanted_stack(struct cw_wanted *w, const struct cw_stack *s)
{
	size_t i, n = s->h.size < sizeof(*s) ? 0 : (s->h.size - sizeof(*s)) / sizeof(s->frames[0]);
	struct cw_proc *p;

	if (s->flags & CW_STACK_KERNEL) {
		for (i = 0; i < n; i++)
			cw_kallsyms_note(w->ksyms, s->frames[i]);
		return;
	}
	p = cw_proctab_get(w->procs, s->pid, false);
	note_addr(w, s->pid, p, s->caller);
	for (i = 0; i < n; i++)
		note_addr(w, s->pid, p, s->frames[i]);
	if (p && n && (s->flags & CW_STACK_ENTRY) && (s->flags & CW_STACK_NO_FP))
		note_no_fp(w, p, s->frames[0]);
}

void cw_wanted_saved(struct cw_wanted *w, const struct cw_stack_regs *r)
{
	size_t i, n = r->h.size < sizeof(*r) ? 0 : (r->h.size - sizeof(*r)) / sizeof(uint64_t);
	struct cw_proc *p = cw_proctab_get(w->procs, r->pid, false);
	const struct cw_map_entry *e;
	uint64_t word, low, high;

	if (!p || !p->nmaps)
		return;
	low = p->maps[0].start;
	high = p->maps[p->nmaps - 1].end;
	for (i = 0; i < n; i++) {
		memcpy(&word, r->memory + i * sizeof(word), sizeof(word));
		if (word < low || word >= high)
			continue;
		e = cw_proc_find_map(p, word);
		if (e)
			cw_modtab_want(w->modtab, e->module_id);
	}
}

void cw_wanted_retry(struct cw_wanted *w)
{
	cw_unplaced_retry(&w->unplaced, want_at, w);
}
