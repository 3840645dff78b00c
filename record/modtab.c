/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of modules. Owns what makes two files the same module and the descriptors kept from
 * first sight; it must not know what is mapped where.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "debugfile.h"
#include "elffile.h"
#include "embed.h"
#include "idmap.h"
#include "madecode.h"
#include "modtab.h"
#include "resolve.h"

/* Descriptors are a shared resource of the process: probes and rings need some too. */
#define MAX_OPEN_FILES 1024
#define OTHER_FILES    256
#define PIECE_BYTES    8192
#define MAX_PIECES     256

struct module {
	struct cw_module rec; /* without path; ids as in the record */
	char *path;
	int fd;                     /* -1 when not open */
	struct cw_debug_file debug; /* of a probed one: held as it is */
	uint32_t pid;               /* where to look for the file again */
	uint64_t start, end;
	bool wanted;
	bool no_fp;
	bool mapped;       /* by a traced process, at some time */
	bool done;         /* embedded, or found to be impossible */
	uint64_t left_out; /* bytes that found no room */
	uint32_t owner;    /* process of memory without a file, kernel-global; 0: of a file */
};

struct cw_modtab {
	struct cw_writer *w;
	struct cw_modopen *opener;
	struct module *modules; /* number id at id - 1 */
	size_t n, capacity;
	size_t nopen, max_open;
	bool keep_files; /* open, though embedded */
	enum cw_embed embed;
	uint64_t max_bytes, bytes;  /* of payloads; those of this file of the capture */
	size_t nwanted;             /* wanted and not done */
	struct cw_idmap by_file;    /* hash of what identifies the file -> id */
	struct cw_idmap by_mapping; /* hash of what a mapping says about it -> id */
};

static size_t allowed_files(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur == RLIM_INFINITY ||
	    lim.rlim_cur > MAX_OPEN_FILES + OTHER_FILES)
		return MAX_OPEN_FILES;
	return lim.rlim_cur > OTHER_FILES ? lim.rlim_cur - OTHER_FILES : lim.rlim_cur / 4;
}

struct cw_modtab *cw_modtab_new(struct cw_writer *w)
{
	struct cw_modtab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->w = w;
	t->max_open = allowed_files();
	t->max_bytes = UINT64_MAX;
	t->opener = cw_modopen_new();
	if (!t->opener) {
		free(t);
		return NULL;
	}
	return t;
}

static void close_module(struct cw_modtab *t, struct module *m)
{
	if (m->fd < 0)
		return;
	close(m->fd);
	m->fd = -1;
	t->nopen--;
}

/* It may be where only its process sees it, which may end before it is wanted. */
static void hold_debug_file(struct module *m, int fd)
{
	Elf *elf;

	if (m->debug.elf || cw_elf_open(&elf, fd, m->path, NULL))
		return;
	cw_debug_file_open_as_process(&m->debug, elf, fd, m->path, m->pid);
	elf_end(elf);
}

void cw_modtab_free(struct cw_modtab *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n; i++) {
		close_module(t, &t->modules[i]);
		cw_debug_file_close(&t->modules[i].debug);
		free(t->modules[i].path);
	}
	free(t->modules);
	cw_idmap_clear(&t->by_file);
	cw_idmap_clear(&t->by_mapping);
	cw_modopen_free(t->opener);
	free(t);
}

struct cw_modopen *cw_modtab_opener(struct cw_modtab *t)
{
	return t->opener;
}

static int write_module(struct cw_modtab *t, const struct module *m, uint16_t flags)
{
	struct cw_module rec = m->rec;

	rec.h.flags = flags;
	return cw_writer_append_tail(t->w, &rec.h, sizeof(rec), m->path, strlen(m->path));
}

/*
 * What makes two files the same module. A build-id names the contents: containers carry copies of
 * the same library, and one payload serves them all. Ids are copied, too, so size and version must
 * be the same. Without one, the inode, and its version in case the inode was used again; without
 * that (never opened) the path.
 */
static uint64_t file_key(const struct cw_module *r, const char *path, uint64_t version)
{
	uint64_t h = cw_hash(0, r->build_id, sizeof(r->build_id));

	h = cw_hash(h, &version, sizeof(version));
	if (r->build_id_size && r->file_size)
		return cw_hash(h, &r->file_size, sizeof(r->file_size));
	h = cw_hash(h, &r->dev_major, sizeof(r->dev_major));
	h = cw_hash(h, &r->dev_minor, sizeof(r->dev_minor));
	h = cw_hash(h, &r->ino, sizeof(r->ino));
	return r->ino ? h : cw_hash(h, path, strlen(path));
}

static struct module *new_slot(struct cw_modtab *t)
{
	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 64;
		struct module *bigger = realloc(t->modules, capacity * sizeof(*bigger));

		if (!bigger)
			return NULL;
		t->modules = bigger;
		t->capacity = capacity;
	}
	memset(&t->modules[t->n], 0, sizeof(*t->modules));
	return &t->modules[t->n];
}

/*
 * The module with these identifying numbers, made when it is new. fd is taken over: kept with the
 * module when that has none and there is room, else closed. -1: none.
 */
static uint32_t intern(struct cw_modtab *t, struct cw_module *rec, const char *path, int fd,
		       uint64_t version)
{
	uint64_t key = file_key(rec, path, version);
	uint32_t id = cw_idmap_get(&t->by_file, key);
	struct module *m;

	if (!id) {
		m = new_slot(t);
		if (!m || !(m->path = strdup(path)))
			goto failed;
		id = rec->module_id = (uint32_t)t->n + 1;
		rec->h.type = CW_MODULE;
		rec->h.cpu = CW_CPU_NONE;
		m->rec = *rec;
		m->fd = -1;
		if (write_module(t, m, 0) || cw_idmap_put(&t->by_file, key, id)) {
			free(m->path);
			goto failed;
		}
		t->n++;
	}
	m = &t->modules[id - 1];
	if (fd >= 0 && m->fd < 0 && (!m->done || t->keep_files) && t->nopen < t->max_open) {
		m->fd = fd;
		t->nopen++;
	} else if (fd >= 0) {
		close(fd);
	}
	return id;
failed:
	if (fd >= 0)
		close(fd);
	return 0;
}

static uint64_t hash_piece(uint64_t h, int fd, uint64_t offset, size_t size)
{
	char piece[PIECE_BYTES];
	ssize_t n = pread(fd, piece, size < sizeof(piece) ? size : sizeof(piece), (off_t)offset);

	return n > 0 ? cw_hash(h, piece, (size_t)n) : h;
}

/* All of a table, or when it is large so many pieces, from its beginning to its end. */
static uint64_t hash_table(uint64_t h, int fd, const GElf_Shdr *table)
{
	uint64_t pieces = table->sh_size / PIECE_BYTES + 1, step = PIECE_BYTES, i;

	if (pieces > MAX_PIECES) {
		pieces = MAX_PIECES;
		step = table->sh_size / MAX_PIECES;
	}
	for (i = 0; i < pieces; i++)
		h = hash_piece(h, fd, table->sh_offset + i * step,
			       table->sh_size - i * step < PIECE_BYTES ? table->sh_size - i * step
								       : PIECE_BYTES);
	return h;
}

/*
 * Of what names come from: tables of symbols and their names, and the end of the file, where
 * section headers are. Files that have them in common may be taken for one: that gives no wrong
 * name.
 */
static uint64_t hash_of_symbols(int fd, off_t size)
{
	uint64_t h = hash_piece(0, fd, size > PIECE_BYTES ? (uint64_t)size - PIECE_BYTES : 0,
				PIECE_BYTES);
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
	GElf_Shdr shdr, names;
	Elf *elf;
	size_t i;

	if (cw_elf_open(&elf, fd, "", NULL))
		return h;
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!cw_elf_section(elf, tables[i], NULL, &shdr))
			continue;
		h = hash_table(h, fd, &shdr);
		if (gelf_getshdr(elf_getscn(elf, shdr.sh_link), &names))
			h = hash_table(h, fd, &names);
	}
	elf_end(elf);
	return h;
}

/*
 * Fill in what the file itself says; returns what tells it from others that say the same: something
 * of its contents where it has a build-id, else its time of modification, ns.
 */
static uint64_t describe_fd(struct cw_module *rec, int fd)
{
	struct stat st;
	int size;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	rec->dev_major = major(st.st_dev);
	rec->dev_minor = minor(st.st_dev);
	rec->ino = st.st_ino;
	rec->file_size = (uint64_t)st.st_size;
	size = cw_elf_build_id(fd, rec->build_id);
	rec->build_id_size = size > 0 ? (uint32_t)size : 0;
	if (size > 0)
		return hash_of_symbols(fd, st.st_size);
	return (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
}

uint32_t cw_modtab_add_fd(struct cw_modtab *t, int fd, const char *path, uint32_t pid, uint64_t ts)
{
	struct cw_module rec = {.h.ts = ts};
	uint64_t version = describe_fd(&rec, fd);

	uint32_t id = intern(t, &rec, path, fcntl(fd, F_DUPFD_CLOEXEC, 3), version);

	if (id) {
		if (pid)
			t->modules[id - 1].pid = pid;
		hold_debug_file(&t->modules[id - 1], fd);
	}
	return id;
}

uint32_t cw_modtab_add_named(struct cw_modtab *t, const char *name, uint64_t ts)
{
	struct cw_module rec = {.h.ts = ts};

	if (!strcmp(name, "[vdso]"))
		rec.build_id_size = cw_vdso_build_id(rec.build_id);
	return intern(t, &rec, name, -1, 0);
}

uint32_t cw_modtab_add_memory(struct cw_modtab *t, const char *name, uint32_t pid, uint64_t ts)
{
	struct cw_module rec = {.h.ts = ts};
	uint32_t id = intern(t, &rec, name, -1, 1 + (uint64_t)pid);

	if (id)
		t->modules[id - 1].owner = pid;
	return id;
}

bool cw_modtab_is_memory(const struct cw_modtab *t, uint32_t id, uint32_t *pid)
{
	const struct module *m = &t->modules[id - 1];

	*pid = m->owner;
	return m->owner || cw_may_be_made(m->path);
}

static uint64_t mapping_key(const struct cw_mapped_file *f)
{
	uint64_t h = 1, mtime;

	if (f->build_id_size) {
		h = cw_hash(2, f->build_id, f->build_id_size);
		return cw_hash(h, f->path, strlen(f->path));
	}
	h = cw_hash(h, &f->dev_major, sizeof(f->dev_major));
	h = cw_hash(h, &f->dev_minor, sizeof(f->dev_minor));
	h = cw_hash(h, &f->ino, sizeof(f->ino));
	mtime = cw_modopen_mtime(f);
	return cw_hash(h, &mtime, sizeof(mtime));
}

uint32_t cw_modtab_add_mapped(struct cw_modtab *t, const struct cw_mapped_file *f, uint64_t ts)
{
	struct cw_module rec = {.h.ts = ts};
	uint64_t key = mapping_key(f);
	uint32_t id = cw_idmap_get(&t->by_mapping, key);
	uint64_t version = 0;
	int fd;

	if (id)
		return id;
	fd = cw_modopen_file(t->opener, f);
	if (fd >= 0) {
		version = describe_fd(&rec, fd);
	} else {
		rec.dev_major = f->dev_major;
		rec.dev_minor = f->dev_minor;
		rec.ino = f->ino;
		rec.build_id_size = f->build_id_size;
		if (f->build_id_size)
			memcpy(rec.build_id, f->build_id, f->build_id_size);
	}
	id = intern(t, &rec, f->path, fd, version);
	if (!id)
		return 0;
	t->modules[id - 1].pid = f->pid;
	t->modules[id - 1].start = f->start;
	t->modules[id - 1].end = f->end;
	cw_idmap_put(&t->by_mapping, key, id);
	return id;
}

void cw_modtab_want(struct cw_modtab *t, uint32_t id)
{
	struct module *m = &t->modules[id - 1];

	if (m->wanted)
		return;
	m->wanted = true;
	t->nwanted++;
}

void cw_modtab_no_fp(struct cw_modtab *t, uint32_t id)
{
	t->modules[id - 1].no_fp = true;
}

void cw_modtab_map(struct cw_modtab *t, uint32_t id)
{
	if (id && id <= t->n)
		t->modules[id - 1].mapped = true;
}

bool cw_modtab_was_mapped(const struct cw_modtab *t, uint32_t id)
{
	return id && id <= t->n && t->modules[id - 1].mapped;
}

const char *cw_modtab_without_fp(const struct cw_modtab *t, uint32_t *id)
{
	while (*id < t->n) {
		const struct module *m = &t->modules[(*id)++];

		if (m->no_fp)
			return m->path;
	}
	return NULL;
}

/* Modules beyond the bound of open files are looked for where they were seen last. */
static int reopen(struct cw_modtab *t, const struct module *m)
{
	struct cw_mapped_file f = {
		.path = m->path,
		.dev_major = m->rec.dev_major,
		.dev_minor = m->rec.dev_minor,
		.ino = m->rec.ino,
		.build_id = m->rec.build_id,
		.build_id_size = m->rec.build_id_size,
		.pid = m->pid,
		.start = m->start,
		.end = m->end,
	};

	return cw_modopen_file(t->opener, &f);
}

int cw_modtab_file(struct cw_modtab *t, uint32_t id)
{
	const struct module *m = &t->modules[id - 1];

	if (m->fd >= 0)
		return fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
	return m->path[0] == '/' ? reopen(t, m) : -ENOENT;
}

/* The separate debug file of a stripped one, as its process finds it or would have found it, or as
 * the recorder does: what is in it says whether it is the right one. */
static void open_debug_file(struct cw_modtab *t, const struct module *m, Elf *elf, int fd,
			    struct cw_debug_file *out)
{
	size_t i;
	int root;

	for (i = 0; m->pid && !out->elf; i++) {
		root = cw_modopen_root(t->opener, m->pid, i);
		if (root < 0)
			break;
		cw_debug_file_open(out, elf, fd, m->path, root);
		close(root);
	}
	if (!out->elf)
		cw_debug_file_open(out, elf, fd, m->path, -1);
}

/* Account for a payload: size is more than room when it was left out. */
static void count_bytes(struct cw_modtab *t, struct module *m, uint64_t room, uint64_t size)
{
	if (size > room)
		m->left_out += size;
	else
		t->bytes += size;
}

static int embed_debug_file(struct cw_modtab *t, struct module *m, int fd)
{
	struct cw_debug_file debug = m->debug;
	uint64_t room = cw_modtab_room(t), size = 0;
	uint8_t build_id[24];
	GElf_Shdr shdr;
	Elf *elf;
	int rc = 0;

	if (!debug.elf) {
		if (cw_elf_open(&elf, fd, m->path, NULL))
			return 0;
		open_debug_file(t, m, elf, fd, &debug);
		elf_end(elf);
	}
	if (!debug.elf)
		return 0;
	/* Readers take a whole one by its build id only, and for its lines. */
	if (t->embed == CW_EMBED_ALL && cw_elf_build_id(debug.fd, build_id) > 0 &&
	    cw_elf_section(debug.elf, SHT_PROGBITS, ".debug_info", &shdr))
		rc = cw_embed_debug(t->w, m->rec.module_id, debug.fd, room, &size);
	if (!rc && (!size || size > room))
		rc = cw_embed_debug_symbols(t->w, m->rec.module_id, debug.fd, room, &size);
	count_bytes(t, m, room, size);
	if (m->debug.elf && t->keep_files)
		return rc;
	m->debug = (struct cw_debug_file){.fd = -1};
	cw_debug_file_close(&debug);
	return rc;
}

static int embed_module(struct cw_modtab *t, struct module *m)
{
	uint32_t id = m->rec.module_id;
	int fd = m->fd, rc;
	uint64_t room = cw_modtab_room(t), size = 0;

	m->done = true;
	t->nwanted--;
	if (t->embed == CW_EMBED_NONE)
		return 0;
	if (!strcmp(m->path, "[vdso]"))
		return cw_embed_vdso(t->w, id);
	if (fd < 0 && m->path[0] == '/')
		fd = reopen(t, m);
	if (fd < 0)
		return 0;
	if (t->embed == CW_EMBED_ALL)
		rc = cw_embed_whole(t->w, id, fd, room, &size);
	else
		rc = cw_embed_elf(t->w, id, fd, room, &size);
	m->left_out = 0;
	count_bytes(t, m, room, size);
	if (!rc)
		rc = embed_debug_file(t, m, fd);
	if (fd != m->fd)
		close(fd);
	if (!t->keep_files)
		close_module(t, m);
	return rc;
}

void cw_modtab_set_embed(struct cw_modtab *t, enum cw_embed what, uint64_t max_bytes)
{
	t->embed = what;
	t->max_bytes = max_bytes;
}

uint64_t cw_modtab_room(const struct cw_modtab *t)
{
	return t->embed == CW_EMBED_NONE || t->bytes >= t->max_bytes ? 0 : t->max_bytes - t->bytes;
}

void cw_modtab_used(struct cw_modtab *t, uint64_t bytes)
{
	t->bytes += bytes;
}

const char *cw_modtab_left_out(const struct cw_modtab *t, uint32_t *id, uint64_t *size)
{
	while (*id < t->n) {
		const struct module *m = &t->modules[(*id)++];

		*size = m->left_out;
		if (m->left_out)
			return m->path;
	}
	return NULL;
}

int cw_modtab_embed(struct cw_modtab *t)
{
	size_t i;

	for (i = 0; t->nwanted && i < t->n; i++) {
		struct module *m = &t->modules[i];
		int rc = m->wanted && !m->done ? embed_module(t, m) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

void cw_modtab_keep_files(struct cw_modtab *t)
{
	t->keep_files = true;
}

void cw_modtab_restart(struct cw_modtab *t, struct cw_writer *w)
{
	size_t i;

	t->w = w;
	t->nwanted = 0;
	t->bytes = 0;
	for (i = 0; i < t->n; i++)
		t->modules[i].wanted = t->modules[i].done = false;
}

int cw_modtab_repeat(struct cw_modtab *t)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < t->n; i++)
		rc = write_module(t, &t->modules[i], CW_REC_REPEATED);
	return rc;
}
