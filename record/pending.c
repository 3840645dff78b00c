/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last executable mappings of processes that nobody traces yet. Owns copies, and counts of what
 * found no room; it must not know what becomes of them.
 */
#include <stdlib.h>
#include <string.h>
#include "pending.h"

/* All processes of the machine map files, and a busy one starts hundreds between two looks. */
#define MAX_PENDING 4096
/* Processes whose mappings were dropped: of two that share a place, the later one is known. */
#define MAX_DROPPED 16384

struct cw_pending {
	struct slot {
		struct cw_mmap_event e; /* file.path is malloc'ed; NULL: free */
		uint8_t build_id[24];
	} slots[MAX_PENDING];
	uint32_t pids[MAX_PENDING]; /* of the slots in use: looked through for every new process */
	size_t next;                /* slot to use next, and so the oldest */
	struct cw_dropped dropped[MAX_DROPPED]; /* by pid */
};

struct cw_pending *cw_pending_new(void)
{
	return calloc(1, sizeof(struct cw_pending));
}

static void release(struct cw_pending *p, size_t slot)
{
	free((char *)p->slots[slot].e.file.path);
	p->slots[slot].e.file.path = NULL;
	p->pids[slot] = 0;
}

void cw_pending_free(struct cw_pending *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < MAX_PENDING; i++)
		release(p, i);
	free(p);
}

static void drop(struct cw_pending *p, const struct cw_mmap_event *e)
{
	struct cw_dropped *d = &p->dropped[e->file.pid % MAX_DROPPED];

	/* What was mapped before a program is executed is of no use after. */
	if (d->pid != e->file.pid || e->exec)
		*d = (struct cw_dropped){.pid = e->file.pid};
	if (e->exec)
		return;
	if (!d->n++)
		d->since = e->ts;
	d->until = e->ts;
}

void cw_pending_add(struct cw_pending *p, const struct cw_mmap_event *e)
{
	struct slot *s = &p->slots[p->next];

	if (s->e.file.path)
		drop(p, &s->e);
	release(p, p->next);
	s->e = *e;
	s->e.file.path = e->file.build_id_size > sizeof(s->build_id) ? NULL : strdup(e->file.path);
	if (!s->e.file.path) {
		drop(p, e);
		return;
	}
	if (e->file.build_id_size)
		memcpy(s->build_id, e->file.build_id, e->file.build_id_size);
	s->e.file.build_id = s->build_id;
	p->pids[p->next] = e->file.pid;
	p->next = (p->next + 1) % MAX_PENDING;
}

int cw_pending_replay(struct cw_pending *p, uint32_t pid,
		      int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < MAX_PENDING; i++) {
		size_t slot = (p->next + i) % MAX_PENDING;

		if (p->pids[slot] != pid)
			continue;
		if (p->slots[slot].e.exec)
			cw_pending_dropped(p, pid);
		rc = fn(arg, &p->slots[slot].e);
		release(p, slot);
	}
	return rc;
}

struct cw_dropped cw_pending_dropped(struct cw_pending *p, uint32_t pid)
{
	struct cw_dropped *at = &p->dropped[pid % MAX_DROPPED], d = {.pid = pid};

	if (at->pid == pid) {
		d = *at;
		*at = (struct cw_dropped){0};
	}
	return d;
}
