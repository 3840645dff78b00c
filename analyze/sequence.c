/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which files belong to one recording. Must not know what is in them but for their headers. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "capture.h"
#include "sequence.h"

#define MIN_DIGITS 4
#define MAX_FILES  10000

/* NAME, the digits, and what is behind them. */
struct pattern {
	size_t dir, stem; /* bytes up to the last slash, and up to the point before the digits */
	const char *tail;
};

static bool split(const char *path, struct pattern *p)
{
	const char *slash = strrchr(path, '/'), *end = path + strlen(path), *digits;
	size_t ext = end - path > 4 && !strcmp(end - 4, ".cwc") ? 4 : 0;

	p->dir = slash ? (size_t)(slash + 1 - path) : 0;
	p->tail = digits = end - ext;
	while (digits > path + p->dir && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	p->stem = (size_t)(digits - path) - 1;
	return p->tail - digits >= MIN_DIGITS && digits > path + p->dir + 1 && digits[-1] == '.';
}

/* Does name, in the same folder, follow the pattern of path? */
static bool is_like(const char *name, const char *path, const struct pattern *p)
{
	size_t len = p->stem + 1 - p->dir, digits;

	if (strncmp(name, path + p->dir, len) != 0)
		return false;
	digits = strspn(name + len, "0123456789");
	return digits >= MIN_DIGITS && !strcmp(name + len + digits, p->tail);
}

/* The number of the segment in path, 0 when it is none, or none of the capture id (when not NULL).
 * *found gets the id, malloc'ed, when found is not NULL. */
static uint32_t number_of(const char *path, const char *id, char **found)
{
	const char *text, *has;
	struct cw_reader *r = NULL;
	uint32_t number = 0;
	struct stat st;
	char err[512];

	if (stat(path, &st) || !S_ISREG(st.st_mode) || cw_reader_open(&r, path, err, sizeof(err)))
		return 0;
	text = cw_reader_meta(r, "segment");
	has = cw_reader_meta(r, "capture_id");
	if (text && has && *has && (!id || !strcmp(id, has)))
		number = (uint32_t)strtoul(text, NULL, 10);
	if (number && found)
		*found = strdup(has);
	cw_reader_free(r);
	return number;
}

static int add(struct cw_sequence *s, char *path, uint32_t number)
{
	struct cw_sequence_file *more;

	if (!path)
		return -ENOMEM;
	more = reallocarray(s->files, s->n + 1, sizeof(*more));
	if (!more) {
		free(path);
		return -ENOMEM;
	}
	s->files = more;
	s->files[s->n++] = (struct cw_sequence_file){path, number};
	return 0;
}

static bool has_number(const struct cw_sequence *s, uint32_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->files[i].number == number)
			return true;
	return false;
}

static int by_number(const void *a, const void *b)
{
	const struct cw_sequence_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int add_like(struct cw_sequence *s, const char *path, const struct pattern *p,
		    const char *id, const char *name)
{
	char *other = NULL;
	uint32_t number;

	if (!is_like(name, path, p) || !strcmp(name, path + p->dir))
		return 0;
	if (asprintf(&other, "%.*s%s", (int)p->dir, path, name) < 0)
		return -ENOMEM;
	number = number_of(other, id, NULL);
	if (number && !has_number(s, number) && s->n < MAX_FILES)
		return add(s, other, number);
	free(other);
	return 0;
}

static int add_beside(struct cw_sequence *s, const char *path, const struct pattern *p,
		      const char *id)
{
	char *dir = p->dir ? strndup(path, p->dir) : strdup(".");
	struct dirent **names = NULL;
	int n = dir ? scandir(dir, &names, NULL, alphasort) : -1, err = dir ? 0 : -ENOMEM;

	for (int i = 0; i < n; i++) {
		if (!err)
			err = add_like(s, path, p, id, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	free(dir);
	return err;
}

int cw_sequence_find(struct cw_sequence *s, const char *path)
{
	char *id = NULL;
	struct pattern p;
	uint32_t number;
	int err;

	memset(s, 0, sizeof(*s));
	number = split(path, &p) ? number_of(path, NULL, &id) : 0;
	err = add(s, strdup(path), number);
	if (!err && number)
		err = id ? add_beside(s, path, &p, id) : -ENOMEM;
	free(id);
	if (err)
		cw_sequence_free(s);
	else
		qsort(s->files, s->n, sizeof(*s->files), by_number);
	return err;
}

void cw_sequence_free(struct cw_sequence *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->files[i].path);
	free(s->files);
	memset(s, 0, sizeof(*s));
}

bool cw_sequence_together(const char *a, const char *b)
{
	struct cw_sequence s;
	struct stat want, have;
	bool found = false;

	if (stat(b, &want) || cw_sequence_find(&s, a))
		return false;
	for (size_t i = 0; i < s.n && s.files[0].number && !found; i++)
		found = !stat(s.files[i].path, &have) && have.st_dev == want.st_dev &&
			have.st_ino == want.st_ino;
	cw_sequence_free(&s);
	return found;
}
