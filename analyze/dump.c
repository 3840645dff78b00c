/* SPDX-License-Identifier: GPL-2.0-only */
/* `dump`: the records of a capture as they stand in the file, or a check of all of it. */
#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "commands.h"
#include "jsontext.h"
#include "say.h"
#include "sequence.h"
#include "validate.h"

#define MAX_BYTES 64 /* of a payload, unless all of it is asked for */

struct dump {
	const char *path;
	const char *type;
	bool validate;
	bool full;
};

static const struct argp_option options[] = {
	{"type", 't', "NAME", 0, "Print only records of this type", 0},
	{"full", 'f', NULL, 0, "Print payloads whole instead of their first 64 bytes", 0},
	{"validate", 'v', NULL, 0, "Print what is wrong with the file instead of its records", 0},
	{0},
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;

	switch (key) {
	case 't':
		d->type = arg;
		return 0;
	case 'f':
		d->full = true;
		return 0;
	case 'v':
		d->validate = true;
		return 0;
	case ARGP_KEY_ARG:
		if (d->path)
			argp_error(state, "'%s' is one argument too many: expected one CAPTURE",
				   arg);
		d->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!d->path)
			argp_error(state, "no capture given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "CAPTURE",
	.doc = "Print the records of a capture in the order of the file, one JSON object a line."
	       "\vExamples:\n"
	       "  callweave-analyze dump trace.cwc\n"
	       "  callweave-analyze dump trace.cwc --type probe_entry | jq .args\n"
	       "  callweave-analyze dump --validate trace.cwc\n",
};

/* The header's keys and types, which are records too but stand outside the frames. */
static void dump_header(const struct dump *d, const struct cw_reader *r)
{
	const struct cw_type *t;

	if (!d->type || !strcmp(d->type, "meta")) {
		for (const struct cw_meta_kv *kv = cw_reader_metas(r); kv->key; kv++) {
			fputs("{\"type\":\"meta\",\"ts\":0,\"key\":", stdout);
			cw_json_string(stdout, kv->key, strlen(kv->key));
			fputs(",\"value\":", stdout);
			cw_json_string(stdout, kv->value, strlen(kv->value));
			fputs("}\n", stdout);
		}
	}
	for (size_t i = 0; (t = cw_reader_type_at(r, i)); i++) {
		char text[8192];
		int n = cw_type_describe(t, text, sizeof(text));

		if (d->type && strcmp(d->type, "type_info") != 0)
			break;
		printf("{\"type\":\"type_info\",\"ts\":0,\"id\":%u,\"fixed_size\":%u,\"text\":",
		       t->id, t->fixed_size);
		cw_json_string(stdout, text,
			       (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
		fputs("}\n", stdout);
	}
}

static bool type_known(const struct cw_reader *r, const char *name)
{
	const struct cw_type *t;

	for (size_t i = 0; (t = cw_reader_type_at(r, i)); i++)
		if (!strcmp(t->name, name))
			return true;
	return cw_type_by_name(name) || !strncmp(name, "type_", 5);
}

static bool wanted(const struct dump *d, const struct cw_type *t, const struct cw_rec *rec)
{
	char number[16];

	if (!d->type)
		return true;
	if (t)
		return !strcmp(d->type, t->name);
	snprintf(number, sizeof(number), "type_%u", rec->type);
	return !strcmp(d->type, number);
}

static int dump_records(const struct dump *d, struct cw_reader *r)
{
	const struct cw_rec *rec;
	int err;

	dump_header(d, r);
	while ((err = cw_reader_next(r, &rec, NULL)) > 0 && !ferror(stdout)) {
		const struct cw_rec *written = cw_reader_as_written(r);
		const struct cw_type *t = cw_reader_type(r, written->type);

		if (wanted(d, t, written))
			cw_json_record(stdout, t, written, d->full ? SIZE_MAX : MAX_BYTES);
	}
	for (size_t i = 0; i < cw_reader_nproblems(r); i++)
		cw_say("%s: %s", d->path, cw_reader_problem(r, i)->text);
	if (d->type && !type_known(r, d->type))
		return cw_fail(-EINVAL, "%s has no record type '%s': see dump --type type_info",
			       d->path, d->type);
	return err > 0 ? 0 : err;
}

/* Files are shown as they are, so of several only the one that is named: say so. */
static void say_others(const char *path)
{
	struct cw_sequence s;

	if (cw_sequence_find(&s, path))
		return;
	if (s.n > 1)
		cw_say("%s: this is one of %zu files of a recording: dump shows no other", path,
		       s.n);
	cw_sequence_free(&s);
}

int cw_cmd_dump(int argc, char **argv)
{
	struct dump d = {0};
	struct cw_reader *r;
	char text[512];
	bool wrong = false;
	int err, status;

	argp_parse(&argp, argc, argv, 0, NULL, &d);
	err = cw_reader_open(&r, d.path, text, sizeof(text));
	if (err) {
		cw_say("%s", text);
		return 1;
	}
	say_others(d.path);
	if (d.validate) {
		long n = cw_validate(r, d.path, stdout);

		wrong = n > 0;
		err = n < 0 ? n : 0;
	} else {
		err = dump_records(&d, r);
	}
	cw_reader_free(r);
	status = cw_output_finish(stdout, "standard output", err);
	return wrong ? 1 : status;
}
