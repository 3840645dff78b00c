/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns command archive: which files of which modules go into the copy of a capture. How they get
 * there is format/splice's business, where they are found symbol_sources'.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture.h"
#include "commands.h"
#include "embedded.h"
#include "options.h"
#include "outfile.h"
#include "print.h"
#include "say.h"
#include "sequence.h"
#include "splice.h"
#include "symbol_places.h"
#include "symbol_sources.h"

struct module {
	struct module *next;
	struct cw_module_files files; /* open until the copy is made */
	int64_t id;
	char *path;
};

struct archive {
	sqlite3 *db;
	struct cw_source_places where;
	struct module *modules;
	struct cw_splice_payload *add;
	size_t nadd, room;
	unsigned served, bare; /* modules with lines, and without */
};

/* ---- what to add --------------------------------------------------------------------------------
 */

static bool has_blob(sqlite3 *db, int64_t module_id, const char *kind)
{
	sqlite3_stmt *s = NULL;
	bool yes;

	sqlite3_prepare_v2(db, "SELECT 1 FROM module_blob WHERE module_id = ? AND kind = ?", -1, &s,
			   NULL);
	sqlite3_bind_int64(s, 1, module_id);
	sqlite3_bind_text(s, 2, kind, -1, SQLITE_STATIC);
	yes = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return yes;
}

static void print_size(const char *what, uint64_t size)
{
	bool small = size < 1 << 20;

	printf("%s %.1f %s", what, (double)size / (small ? 1 << 10 : 1 << 20),
	       small ? "KiB" : "MiB");
}

/* Add a file, unless it is from the capture itself or there already. */
static int add_file(struct archive *a, const struct module *m, struct cw_elf *elf,
		    enum cw_blob_kind kind, const char *name, bool *first)
{
	struct cw_splice_payload *p;
	struct stat st;

	if (!elf || cw_elf_fd(elf) < 0)
		return 0;
	if (has_blob(a->db, m->id, name) || fstat(cw_elf_fd(elf), &st))
		return 0;
	fputs(*first ? "  adds " : ", ", stdout);
	*first = false;
	if ((uint64_t)st.st_size > CW_SPLICE_MAX) {
		printf("no %s, which is too large:", name);
		print_size("", (uint64_t)st.st_size);
		return 0;
	}
	print_size(name, (uint64_t)st.st_size);
	if (a->nadd == a->room) {
		size_t room = a->room ? 2 * a->room : 32;

		p = reallocarray(a->add, room, sizeof(*p));
		if (!p)
			return -ENOMEM;
		a->add = p;
		a->room = room;
	}
	a->add[a->nadd++] = (struct cw_splice_payload){
		.module_id = (uint32_t)m->id,
		.kind = kind,
		.fd = cw_elf_fd(elf),
		.size = (uint64_t)st.st_size,
		.name = cw_elf_path(elf),
	};
	return 0;
}

static int add_files(struct archive *a, const struct module *m)
{
	const struct cw_module_files *f = &m->files;
	struct cw_elf *whole = f->image && cw_elf_has_code(f->image) ? f->image : NULL;
	bool first = true;
	int err;

	if (f->debug && cw_elf_has_code(f->debug))
		whole = f->debug;
	err = add_file(a, m, whole, CW_BLOB_ELF, "elf", &first);
	if (!err && f->debug != whole)
		err = add_file(a, m, f->debug, CW_BLOB_DEBUG, "debug", &first);
	if (!err)
		err = add_file(a, m, f->alt, CW_BLOB_ALTERNATE, "alternate", &first);
	if (first)
		fputs(f->debug ? "  has all it needs" : "  adds nothing", stdout);
	return err;
}

/* Find the files of one module, and say what becomes of it. */
static int visit(struct archive *a, struct module *m, const struct cw_module_identity *identity)
{
	char *tried = NULL;
	size_t size;
	FILE *f;
	int err;

	if (cw_embedded_open(a->db, m->id, &m->files, NULL, NULL))
		return cw_fail(-EIO, "cannot read the capture's payloads: %s",
			       sqlite3_errmsg(a->db));
	f = open_memstream(&tried, &size);
	if (!f)
		return -ENOMEM;
	cw_sources_find(identity, &a->where, &m->files, f);
	fclose(f);
	cw_print_safe(stdout, m->path);
	putchar('\n');
	err = add_files(a, m);
	putchar('\n');
	if (!m->files.debug) {
		fputs("  no lines: ", stdout);
		cw_print_safe(stdout, tried);
		putchar('\n');
		a->bare++;
	} else {
		a->served++;
	}
	free(tried);
	return err;
}

/* Modules that are a file, and that a stack shows or that are probed. */
static int visit_all(struct archive *a)
{
	static const char sql[] =
		"SELECT module_id, path, build_id, dev, ino FROM module WHERE path LIKE '/%'"
		" AND module_id IN (SELECT module_id FROM frame UNION SELECT module_id FROM probe)"
		" ORDER BY path, module_id";
	sqlite3_stmt *s;
	int err = 0;

	if (sqlite3_prepare_v2(a->db, sql, -1, &s, NULL))
		return cw_fail(-EIO, "cannot read the modules: %s", sqlite3_errmsg(a->db));
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		struct cw_module_identity identity = {
			.path = (const char *)sqlite3_column_text(s, 1),
			.build_id = (const char *)sqlite3_column_text(s, 2),
			.dev = (const char *)sqlite3_column_text(s, 3),
			.ino = (uint64_t)sqlite3_column_int64(s, 4),
		};
		struct module *m = calloc(1, sizeof(*m));

		if (!m)
			err = -ENOMEM;
		if (!err) {
			m->next = a->modules;
			a->modules = m;
			m->id = sqlite3_column_int64(s, 0);
			m->path = strdup(identity.path);
			err = m->path ? visit(a, m, &identity) : -ENOMEM;
		}
	}
	sqlite3_finalize(s);
	return err == -ENOMEM ? cw_fail(err, "no memory left") : err;
}

static void release(struct archive *a)
{
	for (struct module *m = a->modules, *next; m; m = next) {
		next = m->next;
		cw_sources_free(&m->files);
		free(m->path);
		free(m);
	}
	free(a->add);
}

/* ---- the copy -----------------------------------------------------------------------------------
 */

/* Records are added in this build's layout: the capture's own must be the same. */
static int check_layout(const char *path)
{
	static const uint16_t types[] = {CW_CHUNK, CW_BLOB};
	char text[CW_PLAN_ERR] = "", ours[512], theirs[512];
	struct cw_reader *r = NULL;
	int err = cw_reader_open(&r, path, text, sizeof(text));

	if (err)
		return cw_fail(err, "%s", *text ? text : strerror(-err));
	for (size_t i = 0; !err && i < sizeof(types) / sizeof(*types); i++) {
		const struct cw_type *t = cw_reader_type(r, types[i]);

		cw_type_describe(cw_type_by_id(types[i]), ours, sizeof(ours));
		*theirs = 0;
		if (t)
			cw_type_describe(t, theirs, sizeof(theirs));
		if (strcmp(ours, theirs) != 0)
			err = cw_fail(
				-EPROTONOSUPPORT,
				"%s is of another version of callweave-record, which lays out "
				"payloads in another way: archive it with that version's "
				"callweave-analyze",
				path);
	}
	cw_reader_free(r);
	return err;
}

/* Only a capture is overwritten. */
static int check_target(const char *path)
{
	char text[CW_PLAN_ERR];
	struct cw_reader *r = NULL;
	struct stat st;

	if (stat(path, &st) || (S_ISREG(st.st_mode) && !st.st_size))
		return 0;
	if (!S_ISREG(st.st_mode))
		return cw_fail(-EINVAL, "cannot write %s: it is no regular file", path);
	if (cw_reader_open(&r, path, text, sizeof(text)))
		return cw_fail(-EEXIST, "%s exists and is no capture: choose another name", path);
	cw_reader_free(r);
	return 0;
}

static int copy_whole(int in, int out)
{
	ssize_t n;

	if (lseek(in, 0, SEEK_SET) < 0)
		return -errno;
	do
		n = sendfile(out, in, NULL, 1 << 20);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

/* What cannot be written is said here: cw_outfile_finish is not to say it again. */
static int write_copy(const struct archive *a, const char *capture, int in, int out)
{
	char err[512];
	int rc;

	/* What has everything already is not even compressed anew: a second archive is the same. */
	if (!a->nadd) {
		rc = copy_whole(in, out);
		if (rc)
			return cw_fail(-EBADMSG, "cannot copy %s: %s", capture, strerror(-rc));
		return 0;
	}
	rc = cw_splice(in, out, a->add, a->nadd, err, sizeof(err));
	return rc ? cw_fail(-EBADMSG, "%s: %s", capture, err) : 0;
}

/* One file of a recording has not all stacks, and its copy is no longer found with the others. */
static int check_alone(const char *path)
{
	struct cw_sequence s;
	size_t n = 1;

	if (!cw_sequence_find(&s, path)) {
		n = s.n;
		cw_sequence_free(&s);
	}
	return n > 1 ? cw_fail(-EINVAL,
			       "%s is one of %zu files of a recording, and archive copies one file:"
			       " record without --rotate, or give --embed all",
			       path, n)
		     : 0;
}

static int make_copy(const struct archive *a, const char *capture, const char *path)
{
	int in = open(capture, O_RDONLY | O_CLOEXEC), err;
	struct cw_outfile out;
	struct stat st;

	if (in < 0)
		return cw_fail(-errno, "cannot read %s: %s", capture, strerror(errno));
	if (fstat(in, &st)) {
		err = cw_fail(-errno, "cannot read %s: %s", capture, strerror(errno));
		goto out;
	}
	err = cw_outfile_open(&out, path);
	if (err)
		goto out;
	/* It may be read by whoever may read the capture. */
	fchmod(fileno(out.f), st.st_mode & 0777);
	err = cw_outfile_finish(&out, write_copy(a, capture, in, fileno(out.f)));
out:
	close(in);
	return err;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "The copy; replaced when it is a capture", 0},
	{0},
};

static const char doc[] =
	"Copy a capture and add the programs, libraries and debug files of the modules that its "
	"stacks show, so that source lines and inlined functions are there on every machine. Run "
	"it where those files are: on the recorded host, or elsewhere with --debug-dir, --sysroot "
	"or --debuginfod. Only files with the right build id are taken. A capture that has all of "
	"them is copied as it is."
	"\vExamples:\n"
	"  callweave-analyze archive trace.cwc -o whole.cwc\n"
	"  callweave-analyze archive trace.cwc -o trace.cwc --debug-dir /srv/debug\n"
	"  callweave-analyze modules whole.cwc\n";

struct args {
	struct cw_input input;
	const char *output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->input.open.capture)
			argp_error(state, "give a capture file");
		if (!a->output)
			argp_error(state, "give the file to write: -o FILE");
		else if (!strcmp(a->output, "-"))
			argp_error(
				state,
				"give the copy a file name: standard output tells what is added");
		return 0;
	}
	return cw_input_argument(&a->input, key, arg, state);
}

static const struct argp_child children[] = {{&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE -o FILE", doc, children, NULL, NULL};

static int run(const struct args *args)
{
	struct archive a = {0};
	const char *capture = args->input.open.capture;
	uint64_t bytes = 0;
	char files[32];
	int err;

	if (!cw_capture_is_file(capture))
		return cw_fail(-EINVAL, "%s is no capture file: give the capture itself", capture);
	err = check_alone(capture);
	if (!err)
		err = check_layout(capture);
	if (!err)
		err = check_target(args->output);
	if (!err)
		err = cw_database_open(&a.db, &args->input.open);
	if (!err && cw_places_of(&a.where, &args->input.open, a.db))
		err = cw_fail(-EIO, "cannot read the capture: %s", sqlite3_errmsg(a.db));
	a.where.whole = true;
	if (!err)
		err = visit_all(&a);
	if (!err)
		err = make_copy(&a, capture, args->output);
	for (size_t i = 0; i < a.nadd; i++)
		bytes += a.add[i].size;
	if (!err) {
		cw_print_safe(stdout, args->output);
		snprintf(files, sizeof(files), ": %zu files,", a.nadd);
		print_size(files, bytes);
		printf(", were added; %u modules have lines, %u have none\n", a.served, a.bare);
	}
	release(&a);
	sqlite3_close(a.db);
	return err;
}

int cw_cmd_archive(int argc, char **argv)
{
	struct args a = {0};
	int err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	a.input.open.progress = isatty(STDERR_FILENO);
	a.input.open.no_symbols = true;
	a.input.open.no_cache = true; /* one without names is of no use to others */
	err = run(&a);
	cw_input_free(&a.input);
	if (err) {
		fflush(stdout);
		return 1;
	}
	return cw_output_finish(stdout, "standard output", 0);
}
