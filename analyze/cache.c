/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache of databases. A cached database is a copy of what import would make again, so nothing
 * is lost when it is not used: at any doubt it is not. Knows nothing of what the tables mean.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cache.h"
#include "file_state.h"
#include "schema_doc.h"

#define SAMPLE_HEAD 4096
#define SAMPLE_TAIL (64 << 10)

static uint64_t hash(uint64_t h, const void *data, size_t size)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

#define HASH_START 0xcbf29ce484222325ull

/* ---- the key ------------------------------------------------------------------------------------
 */

/* The build id of this program: its passes, views and symbolization are what that build made them.
 */
static int own_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t *out = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr),
			   *end = p + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const void *)p;
			const char *desc = p + sizeof(*note) + ((note->n_namesz + 3u) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
				*out = hash(HASH_START, desc, note->n_descsz);
				return 1;
			}
			p = desc + ((note->n_descsz + 3u) & ~3u);
		}
	}
	return 1; /* the program itself comes first */
}

static uint64_t program_version(void)
{
	struct stat st;
	uint64_t id = 0;

	dl_iterate_phdr(own_build_id, &id);
	if (!id && !stat("/proc/self/exe", &st)) {
		id = hash(HASH_START, &st.st_size, sizeof(st.st_size));
		id = hash(id, &st.st_mtim, sizeof(st.st_mtim));
	}
	return id;
}

static uint64_t hash_range(int fd, off_t from, size_t size, uint64_t h)
{
	char *buf = malloc(size);
	ssize_t n = buf ? pread(fd, buf, size, from) : -1;

	if (n > 0)
		h = hash(h, buf, (size_t)n);
	free(buf);
	return h;
}

/* The header and the last chunk of the file: they tell captures and their growth apart. */
static uint64_t file_version(const char *path, off_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t h = HASH_START;
	struct stat st;

	*size = 0;
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st)) {
		*size = st.st_size;
		h = hash_range(fd, 0, SAMPLE_HEAD, h);
		h = hash_range(fd, st.st_size > SAMPLE_TAIL ? st.st_size - SAMPLE_TAIL : 0,
			       SAMPLE_TAIL, h);
	}
	close(fd);
	return h;
}

char *cw_cache_key(const struct cw_open_opts *o, const char *capture_id)
{
	char *plan = o->plan ? cw_plan_to_yaml(o->plan) : strdup("");
	const char *debuginfod = getenv("DEBUGINFOD_URLS");
	char *key = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&key, &len);
	struct cw_sequence_file alone = {.path = (char *)o->capture};
	const struct cw_sequence one = {.files = &alone, .n = 1}, *s = o->sequence ?: &one;

	if (!plan || !f) {
		if (f)
			fclose(f);
		free(key);
		free(plan);
		return NULL;
	}
	fprintf(f, "capture=%s\n", capture_id ?: "");
	for (size_t i = 0; i < s->n; i++) {
		off_t size;
		uint64_t version = file_version(s->files[i].path, &size);

		fprintf(f, "size=%jd\nends=%016" PRIx64 "\n", (intmax_t)size, version);
	}
	fprintf(f, "program=%016" PRIx64 "\nschema=%016" PRIx64 "\n", program_version(),
		hash(HASH_START, cw_schema_text(), strlen(cw_schema_text())));
	fprintf(f, "max_age_ns=%" PRIu64 "\nsymbols=%d%d%d%d\n", o->max_age_ns, !o->no_symbols,
		o->no_lines, o->mangled, o->debuginfod);
	for (const char *const *d = o->debug_dirs; d && *d; d++)
		fprintf(f, "debug_dir=%s\n", *d);
	fprintf(f, "sysroot=%s\ndebuginfod=%s\nplan=%s\n", o->sysroot ?: "", debuginfod ?: "",
		plan);
	free(plan);
	if (fclose(f)) {
		free(key);
		return NULL;
	}
	return key;
}

/* ---- places -------------------------------------------------------------------------------------
 */

/* $XDG_CACHE_HOME/callweave or ~/.cache/callweave, created; NULL when there is none. */
static char *cache_dir(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *base = NULL, *dir = NULL;

	if (xdg && *xdg == '/')
		base = strdup(xdg);
	else if (!home || *home != '/' || asprintf(&base, "%s/.cache", home) < 0)
		return NULL;
	if (base && (mkdir(base, 0700) && errno != EEXIST))
		goto out;
	if (!base || asprintf(&dir, "%s/callweave", base) < 0)
		dir = NULL;
	else if (mkdir(dir, 0700) && errno != EEXIST) {
		free(dir);
		dir = NULL;
	}
out:
	free(base);
	return dir;
}

/*
 * A capture has at most two cached databases: by its own plan, and by other options. The first
 * stays when somebody tries other hops.
 */
void cw_cache_places(const struct cw_open_opts *o, const char *capture_id,
		     char *places[CW_CACHE_PLACES])
{
	const char *kind = o->plan || o->max_age_ns ? "restitched.db" : "db";
	const char *name = strrchr(o->capture, '/');
	char *dir = cache_dir();

	if (asprintf(&places[0], "%s.%s", o->capture, kind) < 0)
		places[0] = NULL;
	places[1] = NULL;
	if (dir &&
	    asprintf(&places[1], "%s/%s-%016" PRIx64 ".%s", dir, name ? name + 1 : o->capture,
		     hash(HASH_START, capture_id, strlen(capture_id)), kind) < 0)
		places[1] = NULL;
	free(dir);
}

/* ---- trust --------------------------------------------------------------------------------------
 */

/* A regular file of ours or root's that nobody else can write. */
static bool trusted_file(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	       (st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool same_key(sqlite3 *db, const char *key)
{
	sqlite3_stmt *stmt = NULL;
	bool same = false;

	if (sqlite3_prepare_v2(db, "SELECT value FROM capture_info WHERE key = 'cache_key'", -1,
			       &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		const char *stored = (const char *)sqlite3_column_text(stmt, 0);

		same = stored && !strcmp(stored, key);
	}
	sqlite3_finalize(stmt);
	return same;
}

/* Whether a file that did not serve for names is there now, or another one. */
static bool more_names(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	bool more = false;

	if (sqlite3_prepare_v2(db, "SELECT value FROM capture_info WHERE key GLOB 'symbol_files.*'",
			       -1, &stmt, NULL) == SQLITE_OK)
		while (!more && sqlite3_step(stmt) == SQLITE_ROW) {
			const char *lines = (const char *)sqlite3_column_text(stmt, 0);

			more = lines && cw_files_changed(lines);
		}
	sqlite3_finalize(stmt);
	return more;
}

sqlite3 *cw_cache_try(const char *path, const char *key)
{
	sqlite3 *db = NULL;

	if (!trusted_file(path))
		return NULL;
	if (cw_database_open_file(&db, path) || !same_key(db, key) || more_names(db)) {
		sqlite3_close(db);
		return NULL;
	}
	return db;
}
