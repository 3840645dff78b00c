/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns modules, executable mappings and the payloads embedded for them. A later mapping replaces
 * what it overlaps: execve and dlclose say no more than that. Must not know stacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"
#include "identity.h"
#include "images.h"
#include "stacks.h"

#define MAX_BLOB    (512ull << 20)
#define MAX_PENDING (512ull << 20) /* bytes of payloads that are not complete, together */
#define BIG_BLOB    (1u << 20)     /* not left waiting for other rows */
#define MAX_MAPS    (8u << 20)     /* mappings known at a time: 256 MiB */

struct map {
	uint64_t start, end, pgoff;
	uint32_t module_id;
	bool moved;
};

/* What a process has mapped. A child shares it with its parent until one of them maps something. */
struct cw_maps {
	struct map *m; /* by address, without overlaps */
	size_t n, cap;
	unsigned refs;
	uint64_t *total; /* mappings kept, of all processes */
};

struct module {
	struct cw_hnode by_id;
	struct module *next;
	uint32_t id;
	bool has_build_id;
	char *path;
};

struct blob {
	struct cw_hnode by_key;
	struct blob *next;
	uint32_t module_id, kind;
	uint64_t have, total;
	uint8_t *data; /* NULL once it is written or given up */
	size_t cap;
	bool done;
};

struct cw_images {
	struct cw_htab modules, blobs;
	uint64_t pending;       /* bytes allocated for payloads that are not complete */
	struct blob *all_blobs; /* to free them */
	struct module *all_modules;
};

/* ---- mappings -----------------------------------------------------------------------------------
 */

/* Index of the first mapping that ends behind address. */
static size_t map_at(const struct cw_maps *m, uint64_t address)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->m[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool cw_maps_find(const struct cw_maps *m, uint64_t address, uint32_t *module_id, uint64_t *offset)
{
	size_t i;

	if (!m)
		return false;
	i = map_at(m, address);
	if (i == m->n || m->m[i].start > address)
		return false;
	*module_id = m->m[i].module_id;
	*offset = address - m->m[i].start + m->m[i].pgoff;
	return true;
}

static void map_insert(struct cw_maps *m, size_t at, struct map new)
{
	cw_reserve(m->m, m->n, m->cap);
	memmove(&m->m[at + 1], &m->m[at], (m->n - at) * sizeof(*m->m));
	m->m[at] = new;
	m->n++;
}

/* Put new in, cutting what it overlaps. */
static void map_add(struct cw_maps *m, struct map new)
{
	size_t i = map_at(m, new.start), j;

	if (i < m->n && m->m[i].start < new.start) {
		struct map rest = m->m[i];

		m->m[i].end = new.start;
		i++;
		if (rest.end > new.end) {
			rest.pgoff += new.end - rest.start;
			rest.start = new.end;
			map_insert(m, i, rest);
		}
	}
	for (j = i; j < m->n && m->m[j].end <= new.end; j++)
		;
	if (j > i)
		memmove(&m->m[i], &m->m[j], (m->n - j) * sizeof(*m->m));
	m->n -= j - i;
	if (i < m->n && m->m[i].start < new.end) {
		m->m[i].pgoff += new.end - m->m[i].start;
		m->m[i].start = new.end;
	}
	map_insert(m, i, new);
}

struct cw_maps *cw_maps_inherit(struct cw_maps *m)
{
	if (m)
		m->refs++;
	return m;
}

void cw_maps_free(struct cw_maps *m)
{
	if (!m || --m->refs)
		return;
	*m->total -= m->n;
	free(m->m);
	free(m);
}

/* The mappings of p, its own from now on; NULL when they are more than can be kept. */
static struct cw_maps *own_maps(struct cw_trace *t, struct cw_proc *p)
{
	struct cw_maps *old = p->maps, *m;
	size_t n = old && old->refs > 1 ? old->n : 0;

	if (t->totals.mappings + n >= MAX_MAPS)
		return NULL;
	if (old && old->refs == 1)
		return old;
	m = cw_zalloc(sizeof(*m));
	m->refs = 1;
	m->total = &t->totals.mappings;
	if (n) {
		m->m = cw_grow(NULL, n, sizeof(*m->m));
		memcpy(m->m, old->m, n * sizeof(*m->m));
	}
	m->n = m->cap = n;
	t->totals.mappings += n;
	cw_maps_free(old);
	p->maps = m;
	return m;
}

static bool same_map(const struct map *a, const struct map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
	       a->module_id == b->module_id && a->moved == b->moved;
}

/* ---- modules and payloads -----------------------------------------------------------------------
 */

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void write_module(struct cw_trace *t, int64_t id, const char *path,
			 const struct cw_module *r)
{
	char hex[2 * sizeof(((struct cw_module *)0)->build_id) + 1] = "", dev[32] = "";
	uint64_t *w;

	for (uint32_t i = 0; r && i < r->build_id_size && i < sizeof(r->build_id); i++)
		sprintf(hex + 2 * i, "%02x", r->build_id[i]);
	if (r && (r->dev_major || r->dev_minor))
		snprintf(dev, sizeof(dev), "%u:%u", r->dev_major, r->dev_minor);
	w = cw_rows_put(t->rows, CW_ROW_MODULE,
			!*hex << 3 | !*dev << 4 | !(r && r->ino) << 5 | !(r && r->file_size) << 6);
	w[0] = (uint64_t)id;
	w[2] = cw_word_dup(last_component(path));
	w[1] = cw_word_dup(path);
	w[3] = *hex ? cw_word_dup(hex) : 0;
	w[4] = *dev ? cw_word_dup(dev) : 0;
	w[5] = r ? r->ino : 0;
	w[6] = r ? r->file_size : 0;
}

static struct module *module_find(const struct cw_images *im, uint32_t id)
{
	uint64_t hash = cw_hash(0, id);

	for (struct cw_hnode *n = cw_htab_first(&im->modules, hash); n;
	     n = cw_htab_next(n->next, hash))
		if (cw_container(n, struct module, by_id)->id == id)
			return cw_container(n, struct module, by_id);
	return NULL;
}

const char *cw_module_path(const struct cw_trace *t, uint32_t id)
{
	struct module *m = module_find(t->images, id);

	return m ? m->path : NULL;
}

static void on_module(struct cw_trace *t, const struct cw_module *r)
{
	struct cw_images *im = t->images;
	struct module *m;

	if (module_find(im, r->module_id))
		return;
	m = cw_zalloc(sizeof(*m));
	m->id = r->module_id;
	m->path = cw_strndup(r->path, cw_tail_strlen(&r->h, r->path));
	m->has_build_id = r->build_id_size;
	cw_htab_insert(&im->modules, &m->by_id, cw_hash(0, m->id));
	m->next = im->all_modules;
	im->all_modules = m;
	write_module(t, r->module_id, m->path, r);
}

/* A file may have two numbers: by the build id that the kernel told, and by what could be read of
 * it at one time and another. */
static bool same_file(const struct cw_images *im, uint32_t a, uint32_t b)
{
	const struct module *x = module_find(im, a), *y = module_find(im, b);

	return a == b ||
	       (x && y && !(x->has_build_id && y->has_build_id) && !strcmp(x->path, y->path));
}

/* Is other code mapped where new comes, as when a library is loaded where another was? */
static bool replaces(const struct cw_images *im, const struct cw_maps *m, const struct map *new)
{
	for (size_t i = map_at(m, new->start); i < m->n && m->m[i].start < new->end; i++)
		if (m->m[i].pgoff - m->m[i].start != new->pgoff - new->start ||
		    !same_file(im, m->m[i].module_id, new->module_id))
			return true;
	return false;
}

static void on_map(struct cw_trace *t, const struct cw_map *r)
{
	struct map new = {r->start, r->end, r->pgoff, r->module_id, r->flags & CW_MAP_MOVED};
	struct cw_maps *m;
	struct cw_proc *p;
	uint64_t *w;
	size_t i;

	if (r->end <= r->start) {
		t->totals.bad++;
		return;
	}
	p = cw_proc_of(t, r->pid, r->h.ts);
	i = p->maps ? map_at(p->maps, r->start) : 0;
	if (p->maps && i < p->maps->n && same_map(&p->maps->m[i], &new))
		return;
	m = own_maps(t, p);
	if (!m) {
		t->totals.bad++;
		return;
	}
	p->remaps += replaces(t->images, m, &new);
	t->totals.mappings -= m->n;
	map_add(m, new);
	t->totals.mappings += m->n;
	w = cw_rows_put(t->rows, CW_ROW_MAPPING, 0);
	w[0] = p->upid;
	w[1] = r->h.ts;
	w[2] = r->start;
	w[3] = r->end;
	w[4] = r->pgoff;
	w[5] = r->module_id;
	w[6] = new.moved;
}

static struct blob *blob_of(struct cw_images *im, uint32_t module_id, uint32_t kind)
{
	uint64_t hash = cw_hash(cw_hash(0, module_id), kind);
	struct blob *b;

	for (struct cw_hnode *n = cw_htab_first(&im->blobs, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		b = cw_container(n, struct blob, by_key);
		if (b->module_id == module_id && b->kind == kind)
			return b;
	}
	b = cw_zalloc(sizeof(*b));
	b->module_id = module_id;
	b->kind = kind;
	cw_htab_insert(&im->blobs, &b->by_key, hash);
	b->next = im->all_blobs;
	im->all_blobs = b;
	return b;
}

/* Its memory is another's, or gone; it may begin anew. */
static void close_blob(struct cw_trace *t, struct blob *b)
{
	t->images->pending -= b->cap;
	b->data = NULL;
	b->cap = 0;
	b->done = true;
}

static void write_blob(struct cw_trace *t, struct blob *b)
{
	static const char *const kinds[] = {"unknown",  "symbols", "elf",       "vdso",
					    "perf map", "debug",   "alternate", "debug symbols"};
	uint64_t *w;

	cw_stacks_payload(t, b->module_id, b->kind, b->data, b->have);
	w = cw_rows_put(t->rows, CW_ROW_BLOB, 0);
	w[0] = b->module_id;
	w[1] = cw_word(kinds[b->kind < sizeof(kinds) / sizeof(*kinds) ? b->kind : 0]);
	w[2] = (uint64_t)(uintptr_t)b->data;
	w[3] = b->have;
	close_blob(t, b);
	if (b->have >= BIG_BLOB)
		cw_rows_sync(t->rows); /* an error shows at the end */
}

/* Too much was begun and not completed. */
static void give_up(struct cw_trace *t, struct blob *b)
{
	t->totals.bad++;
	free(b->data);
	close_blob(t, b);
}

/* Pieces come in order; a piece that starts anew begins the payload again, a gap ends it. */
static void on_blob(struct cw_trace *t, const struct cw_blob *r)
{
	size_t size = r->h.size - offsetof(struct cw_blob, data);
	struct blob *b = blob_of(t->images, r->module_id, r->kind);

	/* Perf maps grow while programs run: a later one is the better one. */
	if (b->done && r->kind == CW_BLOB_PERF_MAP && !r->offset)
		b->done = false;
	if (b->done)
		return;
	if (!r->offset) {
		b->have = 0;
		b->total = r->total;
	}
	if (r->offset != b->have || r->total != b->total || b->total > MAX_BLOB ||
	    size > b->total - b->have) {
		t->totals.bad++;
		return;
	}
	if (b->have + size > b->cap) {
		size_t cap = 2 * b->cap > b->have + size ? 2 * b->cap : b->have + size;

		cap = cap < b->total ? cap : b->total;
		if (t->images->pending - b->cap + cap > MAX_PENDING) {
			give_up(t, b);
			return;
		}
		t->images->pending += cap - b->cap;
		b->cap = cap;
		b->data = cw_grow(b->data, b->cap, 1);
	}
	if (size)
		memcpy(b->data + b->have, r->data, size);
	b->have += size;
	if (b->have == b->total && b->total)
		write_blob(t, b);
}

static void on_ksym(struct cw_trace *t, const struct cw_ksym *r)
{
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_KSYM, 0);

	w[0] = r->start;
	w[1] = r->end;
	w[2] = cw_word(cw_strndup(r->name, cw_tail_strlen(&r->h, r->name)));
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	switch (rec->type) {
	case CW_MODULE:
		on_module(t, (const void *)rec);
		break;
	case CW_MAP:
		on_map(t, (const void *)rec);
		break;
	case CW_BLOB:
		on_blob(t, (const void *)rec);
		break;
	case CW_KSYM:
		on_ksym(t, (const void *)rec);
		break;
	}
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->images = cw_zalloc(sizeof(*t->images));
	write_module(t, CW_MODULE_KERNEL, "[kernel]", NULL);
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_images *im = t->images;

	if (!im)
		return;
	for (struct blob *b = im->all_blobs, *next; b; b = next) {
		next = b->next;
		free(b->data);
		free(b);
	}
	for (struct module *m = im->all_modules, *next; m; m = next) {
		next = m->next;
		free(m->path);
		free(m);
	}
	cw_htab_free(&im->modules);
	cw_htab_free(&im->blobs);
	free(im);
	t->images = NULL;
}

extern const struct cw_pass cw_pass_images;
const struct cw_pass cw_pass_images = {
	.name = "images",
	.version = 4,
	.reads = "module map blob ksym identity",
	.writes = "module mapping module_blob kernel_symbol",
	.types = CW_TYPE_BIT(CW_MODULE) | CW_TYPE_BIT(CW_MAP) | CW_TYPE_BIT(CW_BLOB) |
		 CW_TYPE_BIT(CW_KSYM),
	.begin = begin,
	.event = event,
	.free = release,
};
