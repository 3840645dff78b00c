/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives commands a database with the capture in it: an imported one, a cached one, or one made
 * now. Knows files, not what the tables mean.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cache.h"
#include "capture.h"
#include "database.h"
#include "say.h"
#include "unfinished.h"

static int64_t pragma_value(sqlite3 *db, const char *pragma)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* What a database from a file may do to us: nothing but give rows. */
static void harden(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* Not "untrusted schema": SQLite 3.40 counts its own JSON functions as unsafe in views. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_exec(db,
		     "PRAGMA cell_size_check=1; PRAGMA mmap_size=0; PRAGMA cache_size=-65536;"
		     "PRAGMA temp_store=file; PRAGMA temp.cache_size=-65536",
		     NULL, NULL, NULL);
}

int cw_database_open_file(sqlite3 **out, const char *path)
{
	sqlite3 *db = NULL;
	int err = 0;

	*out = NULL;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
		err = -ENOENT;
		goto fail;
	}
	harden(db);
	if (pragma_value(db, "PRAGMA application_id") != CW_APPLICATION_ID)
		err = -EINVAL;
	else if (pragma_value(db, "PRAGMA user_version") != CW_SCHEMA_VERSION)
		err = -EPROTONOSUPPORT;
	else if (pragma_value(db, "SELECT count(*) FROM capture_info WHERE key = 'imported'") != 1)
		err = -EILSEQ;
	if (!err) {
		*out = db;
		return 0;
	}
fail:
	sqlite3_close(db);
	return err;
}

/* ---- making one ---------------------------------------------------------------------------------
 */

static int set_info(sqlite3 *db, const char *key, const char *value)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO capture_info VALUES(?1, ?2)", -1,
				    &stmt, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
		sqlite3_step(stmt);
	}
	rc = sqlite3_finalize(stmt);
	return rc == SQLITE_OK ? 0 : rc == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* Name the frames, until Ctrl-C. *whole is false when it came. */
static int find_names(sqlite3 *db, const struct cw_open_opts *o, bool *whole)
{
	struct cw_open_opts names = *o;
	int err;

	names.stoppable = true;
	err = cw_symbolize(db, &names);
	*whole = err <= 0;
	if (err > 0)
		cw_say("interrupted while looking up names: stack frames without one stay without");
	return err > 0 ? 0 : err;
}

/*
 * Import into db, which is empty, and mark it as ours and whole: that comes last. Without all names
 * it is as good as any, but not found by the key again.
 */
static int fill(sqlite3 *db, const struct cw_open_opts *o, const char *key)
{
	bool whole = true;
	char marks[128];
	int err;

	sqlite3_exec(db,
		     "PRAGMA journal_mode=off; PRAGMA synchronous=off; PRAGMA page_size=32768;"
		     "PRAGMA cache_size=-4096; PRAGMA locking_mode=exclusive;"
		     "PRAGMA temp_store=file",
		     NULL, NULL, NULL);
	err = cw_import(db, o);
	if (!err && !o->no_symbols)
		err = find_names(db, o, &whole);
	if (err)
		return err;
	snprintf(marks, sizeof(marks), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 CW_APPLICATION_ID, CW_SCHEMA_VERSION);
	if (sqlite3_exec(db, marks, NULL, NULL, NULL) != SQLITE_OK)
		err = sqlite3_errcode(db) == SQLITE_FULL ? -ENOSPC : -EIO;
	if (!err)
		err = set_info(db, "cache_key", whole ? key : "names are missing");
	if (!err)
		err = set_info(db, "imported", "1");
	return err ? cw_fail(err, "cannot write the database: %s", sqlite3_errmsg(db)) : 0;
}

/* A private database that is gone when it is closed. */
static int make_temporary(sqlite3 **out, const struct cw_open_opts *o, const char *key)
{
	sqlite3 *db = NULL;
	int err;

	if (sqlite3_open_v2("", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK) {
		sqlite3_close(db);
		return cw_fail(-EIO, "cannot make a temporary database: %s",
			       sqlite3_errstr(SQLITE_CANTOPEN));
	}
	err = fill(db, o, key);
	if (err) {
		sqlite3_close(db);
		return err;
	}
	harden(db);
	*out = db;
	return 0;
}

/* The database may be read by whoever may read the capture. */
static void take_mode(const char *path, const char *from)
{
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	if (strcmp(from, "-") != 0 && !stat(from, &st) && S_ISREG(st.st_mode))
		chmod(path, (st.st_mode & 0444 & ~mask) | 0600);
}

/* Sort in files beside path: /tmp may be memory. What the environment says comes first. */
static void sort_beside(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	int n = slash ? (int)(slash - path) : 1;

	sqlite3_free(sqlite3_temp_directory);
	sqlite3_temp_directory = NULL;
	if (path && !getenv("SQLITE_TMPDIR") && !getenv("TMPDIR"))
		sqlite3_temp_directory = sqlite3_mprintf("%.*s/", n, slash ? path : ".");
}

/* Build in a temporary file beside path, rename, reopen. -EACCES: nothing can be written there. */
static int make_file(sqlite3 **out, const struct cw_open_opts *o, const char *path, const char *key)
{
	sqlite3 *db = NULL;
	char *tmp;
	int err, fd = cw_unfinished_new(&tmp, path);

	if (fd < 0)
		return -EACCES;
	close(fd);
	if (sqlite3_open_v2(tmp, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
		err = cw_fail(-EIO, "cannot write %s: %s", tmp, sqlite3_errmsg(db));
	} else {
		sort_beside(tmp);
		err = fill(db, o, key);
	}
	if (sqlite3_close(db) != SQLITE_OK && !err)
		err = cw_fail(-EIO, "cannot close the database %s", tmp);
	sort_beside(NULL);
	take_mode(tmp, o->capture);
	if (cw_unfinished_end(tmp, err ? NULL : path))
		err = -EACCES;
	if (!err && cw_database_open_file(out, path))
		err = cw_fail(-EIO, "cannot read back %s", path);
	return err;
}

/* ---- finding one --------------------------------------------------------------------------------
 */

enum input { INPUT_CAPTURE, INPUT_DATABASE, INPUT_STREAM };

static enum input input_kind(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	struct stat st;
	int fd;

	if (!strcmp(path, "-"))
		return INPUT_STREAM;
	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return INPUT_CAPTURE; /* the reader says what is wrong */
	if (!S_ISREG(st.st_mode))
		return INPUT_STREAM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, head, sizeof(head)) < 0)
			head[0] = 0;
		close(fd);
	}
	return memcmp(head, magic, sizeof(magic)) ? INPUT_CAPTURE : INPUT_DATABASE;
}

bool cw_capture_is_file(const char *path)
{
	return input_kind(path) == INPUT_CAPTURE;
}

static int open_imported(sqlite3 **out, const struct cw_open_opts *o)
{
	if (o->plan || o->max_age_ns)
		return cw_fail(
			-EINVAL,
			"%s is an imported database, which cannot be stitched again: give the "
			"capture it was made from",
			o->capture);
	switch (cw_database_open_file(out, o->capture)) {
	case 0:
		return 0;
	case -EINVAL:
		return cw_fail(-EINVAL,
			       "%s is an SQLite database, but not one that callweave-analyze "
			       "import wrote",
			       o->capture);
	case -EPROTONOSUPPORT:
		return cw_fail(-EINVAL,
			       "%s was made by another version of callweave-analyze: import "
			       "the capture again",
			       o->capture);
	case -EILSEQ:
		return cw_fail(-EINVAL, "%s was not written to its end: import the capture again",
			       o->capture);
	default:
		return cw_fail(-EIO, "cannot open the database %s", o->capture);
	}
}

/* Check that path is a capture at all, and give its id (malloc'ed). */
static int capture_id(const char *path, char **id)
{
	char err[CW_PLAN_ERR] = "";
	struct cw_reader *r = NULL;
	int rc = cw_reader_open(&r, path, err, sizeof(err));

	if (rc)
		return cw_fail(rc, "%s", *err ? err : strerror(-rc));
	*id = strdup(cw_reader_meta(r, "capture_id") ?: "");
	cw_reader_free(r);
	return *id ? 0 : -ENOMEM;
}

/* The database that the user keeps. Another file is never overwritten by mistake. */
static int make_kept(sqlite3 **out, const struct cw_open_opts *o, const char *key)
{
	sqlite3 *old = NULL;
	struct stat st;
	int err;

	if (!stat(o->database, &st)) {
		if (!S_ISREG(st.st_mode))
			return cw_fail(-EINVAL, "cannot write %s: it is no regular file",
				       o->database);
		err = st.st_size ? cw_database_open_file(&old, o->database) : 0;
		sqlite3_close(old);
		if (err == -EINVAL || err == -ENOENT)
			return cw_fail(
				-EEXIST,
				"%s exists and is no callweave database: choose another name",
				o->database);
	}
	err = make_file(out, o, o->database, key);
	if (err == -EACCES) /* what else went wrong was said where it did */
		cw_say("cannot write %s: %s", o->database, strerror(errno));
	return err;
}

/* found: it was there already. */
static int open_cached(sqlite3 **out, const struct cw_open_opts *o, const char *id, const char *key,
		       bool *found)
{
	char *places[CW_CACHE_PLACES];
	int err = -EACCES;

	cw_cache_places(o, id, places);
	for (int i = 0; i < CW_CACHE_PLACES && !*out; i++)
		if (places[i])
			*out = cw_cache_try(places[i], key);
	*found = *out != NULL;
	for (int i = 0; i < CW_CACHE_PLACES && !*out && err == -EACCES; i++)
		if (places[i])
			err = make_file(out, o, places[i], key);
	for (int i = 0; i < CW_CACHE_PLACES; i++)
		free(places[i]);
	if (*out)
		return 0;
	if (err == -ENOSPC)
		cw_say("no room for a cached database; analyzing without one");
	else if (err != -EACCES)
		return err;
	return make_temporary(out, o, key);
}

/* ---- what is missing ----------------------------------------------------------------------------
 */

/* A moment of the capture in words: what lies outside is its beginning or its end. */
static const char *moment(char buf[32], int64_t ts, int64_t start, int64_t end)
{
	if (ts < start)
		return "the beginning";
	if (ts > end)
		return "the end";
	snprintf(buf, 32, "%.3f s", (double)(ts - start) / 1e9);
	return buf;
}

void cw_database_say_losses(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db,
			       "SELECT CASE WHEN count(count) THEN CAST(total(count) AS INTEGER)"
			       " ELSE 'an unknown number of' END, kind, reason,"
			       " min(ts), max(until), coalesce(start_ts, 0), coalesce(end_ts, 0)"
			       " FROM (SELECT ts, end_ts AS until, count, kind, reason FROM loss),"
			       " report_clock GROUP BY kind, reason ORDER BY kind, reason",
			       -1, &s, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *kind = (const char *)sqlite3_column_text(s, 1);
		int64_t start = sqlite3_column_int64(s, 5), end = sqlite3_column_int64(s, 6);
		char from[32], to[32];

		cw_say("%s: %s %s records were lost between %s and %s (%s)", name,
		       (const char *)sqlite3_column_text(s, 0),
		       strcmp(kind, "*") ? kind : "further",
		       moment(from, sqlite3_column_int64(s, 3), start, end),
		       moment(to, sqlite3_column_int64(s, 4), start, end),
		       (const char *)sqlite3_column_text(s, 2));
	}
	sqlite3_finalize(s);
}

/* Import says what is wrong with the file; a database that was there already remembers it. */
static void say_problems(sqlite3 *db, const char *name)
{
	int64_t n = pragma_value(db, "SELECT value FROM capture_info WHERE key = 'file_problems'");
	int64_t said = 0;
	sqlite3_stmt *s = NULL;

	if (n <= 0 ||
	    sqlite3_prepare_v2(db,
			       "SELECT value FROM capture_info WHERE key LIKE"
			       " 'file_problem.%' ORDER BY CAST(substr(key, 14) AS INTEGER)",
			       -1, &s, NULL) != SQLITE_OK)
		return;
	for (; sqlite3_step(s) == SQLITE_ROW; said++)
		cw_say("%s: %s", name, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	if (n > said)
		cw_say("%s: %" PRId64 " problems more; dump --validate shows them all", name,
		       n - said);
}

static int open_capture(sqlite3 **out, const struct cw_open_opts *o)
{
	enum input kind = input_kind(o->capture);
	char *id = NULL, *key = NULL;
	bool found = false;
	int err = 0;

	*out = NULL;
	if (kind == INPUT_DATABASE && !o->database) {
		err = open_imported(out, o);
		if (!err) {
			say_problems(*out, o->capture);
			cw_database_say_losses(*out, o->capture);
		}
		return err;
	}
	if (kind == INPUT_DATABASE)
		return cw_fail(-EINVAL, "%s is a database already", o->capture);
	if (kind == INPUT_CAPTURE) {
		err = capture_id(o->capture, &id);
		if (err)
			return err;
	}
	key = kind == INPUT_CAPTURE ? cw_cache_key(o, id) : strdup("stream");
	if (!key)
		err = -ENOMEM;
	else if (o->database)
		err = make_kept(out, o, key);
	else if (kind == INPUT_STREAM || o->no_cache)
		err = make_temporary(out, o, key);
	else
		err = open_cached(out, o, id, key, &found);
	free(key);
	free(id);
	if (!err) {
		if (found)
			say_problems(*out, o->capture);
		cw_database_say_losses(*out, o->capture);
	}
	return err;
}

int cw_database_open(sqlite3 **out, const struct cw_open_opts *o)
{
	struct cw_open_opts opts = *o;
	struct cw_sequence s;
	int err;

	*out = NULL;
	if (input_kind(o->capture) != INPUT_CAPTURE)
		return open_capture(out, o);
	err = cw_sequence_find(&s, o->capture);
	if (err)
		return cw_fail(err, "no memory left while looking for the files of %s", o->capture);
	opts.capture = s.files[0].path;
	opts.sequence = s.n > 1 || s.files[0].number ? &s : NULL;
	err = open_capture(out, &opts);
	cw_sequence_free(&s);
	return err;
}
