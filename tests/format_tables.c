/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Renews the generated parts of FORMAT.md: the tables of record types, and the hexadecimal dumps of
 * the example, each behind a mark that says which bytes. `format_tables FORMAT.md CAPTURE` writes
 * the new document to standard output; with --check nothing is written and a difference is an
 * error.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "capture.h"

#define BEGIN   "<!-- generated from records.h: begin -->\n"
#define END     "<!-- generated from records.h: end -->\n"
#define EXAMPLE "<!-- v1-tiny.cwc "

static const char *const class_titles[] = {
	[CW_CLASS_STREAM] = "Records about the file (class `stream`)",
	[CW_CLASS_REF] = "Records that others refer to (class `ref`)",
	[CW_CLASS_EVENT] = "Events (class `event`)",
};

static void field_type(const struct cw_field *f, char *buf, size_t size)
{
	static const char *const names[] = {
		[CW_T_U8] = "u8",   [CW_T_U32] = "u32", [CW_T_U64] = "u64", [CW_T_I32] = "i32",
		[CW_T_I64] = "i64", [CW_T_X64] = "x64", [CW_T_STR] = "str", [CW_T_BYTES] = "bytes",
	};

	if (f->count > 1)
		snprintf(buf, size, "%s[%u]", names[f->type], f->count);
	else if (f->count == 1 || f->type == CW_T_STR || f->type == CW_T_BYTES)
		snprintf(buf, size, "%s", names[f->type]);
	else
		snprintf(buf, size, "%s[]", names[f->type]);
}

/* Documentation of a field; a bar would end the table's cell. */
static void put_cell(FILE *out, const char *s)
{
	for (; *s; s++)
		fprintf(out, *s == '|' ? "\\%c" : "%c", *s);
}

static void put_type(FILE *out, const struct cw_type *t)
{
	fprintf(out, "\n#### %u `%s`: %s\n\n", t->id, t->name, t->doc);
	fprintf(out, "| offset | type | field | meaning |\n|---:|---|---|---|\n");
	for (uint32_t i = 0; i < t->nfields; i++) {
		const struct cw_field *f = &t->fields[i];
		char type[32];

		field_type(f, type, sizeof(type));
		fprintf(out, "| %u | %s | %s | ", f->offset, type, f->name);
		put_cell(out, f->doc);
		fputs(" |\n", out);
	}
}

static void put_tables(FILE *out)
{
	for (size_t class = 0; class < sizeof(class_titles) / sizeof(*class_titles); class ++) {
		fprintf(out, "\n### %s\n", class_titles[class]);
		for (size_t i = 0; i < cw_ntypes; i++)
			if (cw_types[i].class == class)
				put_type(out, &cw_types[i]);
	}
	fputs("\n", out);
}

/* ---- the example ------------------------------------------------------------------------------
 */

struct example {
	uint8_t *file, *content; /* the capture, and what its data frames hold */
	size_t file_size, content_size;
};

static void put_line(FILE *out, const uint8_t *p, size_t at, size_t n)
{
	fprintf(out, "    %08zx:", at);
	for (size_t i = 0; i < 16; i++) {
		if (i % 4 == 0)
			putc(' ', out);
		if (i < n)
			fprintf(out, "%02x", p[at + i]);
		else
			fputs("  ", out);
	}
	fputs("  ", out);
	for (size_t i = 0; i < n; i++)
		putc(p[at + i] >= ' ' && p[at + i] < 127 ? p[at + i] : '.', out);
	putc('\n', out);
}

/* The dump that the mark at s asks for: "[content ]FROM TO -->". */
static bool put_dump(FILE *out, const char *s, const struct example *x)
{
	bool content = !strncmp(s, "content ", 8);
	const uint8_t *mem = content ? x->content : x->file;
	size_t size = content ? x->content_size : x->file_size;
	char *end;
	size_t from = strtoul(content ? s + 8 : s, &end, 16), to = strtoul(end, &end, 16);

	if (strncmp(end, " -->\n", 5) || to > size)
		return false;
	putc('\n', out);
	for (size_t at = from; at < to; at += 16)
		put_line(out, mem, at, to - at < 16 ? to - at : 16);
	return true;
}

static void *read_whole(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *mem = NULL;
	size_t room = 1 << 20;

	if (f)
		mem = malloc(room);
	if (mem) {
		*n = fread(mem, 1, room - 1, f);
		mem[*n] = '\0';
	}
	if (f)
		fclose(f);
	return mem;
}

static bool read_example(struct example *x, const char *path)
{
	size_t room = 1 << 20, at = 0;

	x->file = read_whole(path, &x->file_size);
	x->content = malloc(room);
	while (x->file && x->content && at < x->file_size) {
		size_t n = ZSTD_findFrameCompressedSize(x->file + at, x->file_size - at);
		size_t got = ZSTD_isError(n)
				     ? n
				     : ZSTD_decompress(x->content + x->content_size,
						       room - x->content_size, x->file + at, n);

		if (ZSTD_isError(got))
			return false;
		x->content_size += got;
		at += n;
	}
	return x->file && x->content;
}

/* ---- the document -----------------------------------------------------------------------------
 */

/* Copy old with its generated parts renewed; false when a mark is broken. */
static bool renew(FILE *out, const char *old, const struct example *x)
{
	bool dump = false, tables = false;

	while (*old) {
		size_t n = strcspn(old, "\n") + 1;

		/* What stands behind a mark was generated before. */
		if (dump && (!strncmp(old, "    0", 5) || *old == '\n')) {
			old += n;
			continue;
		}
		if (dump)
			putc('\n', out);
		dump = false;
		if (!tables)
			fwrite(old, 1, n, out);
		if (!strncmp(old, BEGIN, n)) {
			tables = true;
			put_tables(out);
		} else if (tables && !strncmp(old, END, n)) {
			tables = false;
			fputs(END, out);
		} else if (!strncmp(old, EXAMPLE, sizeof(EXAMPLE) - 1)) {
			dump = true;
			if (!put_dump(out, old + sizeof(EXAMPLE) - 1, x))
				return false;
		}
		old += n;
	}
	return !tables && !dump;
}

int main(int argc, char **argv)
{
	bool check = argc == 4 && !strcmp(argv[1], "--check");
	struct example x = {0};
	char *old = NULL, *new = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&new, &n);
	int status = 0;

	if (argc != 3 && !check) {
		fputs("usage: format_tables [--check] FORMAT.md CAPTURE\n", stderr);
		return 2;
	}
	if (out && read_example(&x, argv[argc - 1]))
		old = read_whole(argv[argc - 2], &n);
	if (!old || !renew(out, old, &x)) {
		fprintf(stderr, "format_tables: %s or %s cannot be read, or has a broken mark\n",
			argv[argc - 2], argv[argc - 1]);
		status = 1;
	}
	if (out)
		fclose(out);
	if (!status && check && strcmp(old, new)) {
		fprintf(stderr,
			"format_tables: %s is out of date: write into it what this prints without "
			"--check\n",
			argv[argc - 2]);
		status = 1;
	} else if (!status && !check) {
		fputs(new, stdout);
	}
	free(old);
	free(new);
	free(x.file);
	free(x.content);
	return status;
}
