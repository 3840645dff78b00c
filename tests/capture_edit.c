/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a damaged or thinned copy of a capture, for tests, or segments as a recording goes on in.
 * Records are deleted by reading and writing, each deletion said by a lost record; bytes are cut
 * and flipped without understanding them.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture.h"

#define VERSION_OFFSET 16 /* of the format version, in the file */

struct edit {
	const char *in, *out;
	double percent;
	double from_ms, to_ms;
	uint64_t seed, cut, flips, format_version, segments;
	const char *kind;
	bool deletes, cuts, versions;

	struct cw_writer *w;
	uint64_t events, deleted, from_ts, to_ts;
	uint32_t epoch;

	/* Of segments: what every one needs, the keys of the next one, and how many events each
	 * has. */
	const struct cw_meta_kv *keys;
	struct cw_rec **refs;
	size_t nrefs;
	uint64_t segment, each, last_ts;
	int fd;
};

enum { OPT_FROM = 256, OPT_TO, OPT_KIND, OPT_CUT, OPT_FLIP, OPT_VERSION, OPT_SEED, OPT_SEGMENTS };

static const struct argp_option options[] = {
	{"delete-percent", 'd', "P", 0, "Delete P percent of the events", 0},
	{"kind", OPT_KIND, "NAME", 0, "Delete only events of this type", 0},
	{"from-ms", OPT_FROM, "A", 0, "Delete only from A ms after the first event on", 0},
	{"to-ms", OPT_TO, "B", 0, "Delete only up to B ms after the first event", 0},
	{"cut", OPT_CUT, "BYTES", 0, "Keep the first BYTES bytes", 0},
	{"flip", OPT_FLIP, "N", 0, "Flip N random bits", 0},
	{"format-version", OPT_VERSION, "N", 0, "Set the format version in the header", 0},
	{"segments", OPT_SEGMENTS, "N", 0,
	 "Make N segments of about as many events: of OUT.cwc, OUT.0001.cwc and so on", 0},
	{"seed", OPT_SEED, "N", 0, "Start of the random numbers (default 1)", 0},
	{0},
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct edit *e = state->input;

	switch (key) {
	case 'd':
		e->percent = strtod(arg, NULL);
		e->deletes = true;
		return 0;
	case OPT_KIND:
		e->kind = arg;
		return 0;
	case OPT_FROM:
		e->from_ms = strtod(arg, NULL);
		return 0;
	case OPT_TO:
		e->to_ms = strtod(arg, NULL);
		return 0;
	case OPT_CUT:
		e->cut = strtoull(arg, NULL, 0);
		e->cuts = true;
		return 0;
	case OPT_FLIP:
		e->flips = strtoull(arg, NULL, 0);
		return 0;
	case OPT_VERSION:
		e->format_version = strtoull(arg, NULL, 0);
		e->versions = true;
		return 0;
	case OPT_SEGMENTS:
		e->segments = strtoull(arg, NULL, 0);
		return 0;
	case OPT_SEED:
		e->seed = strtoull(arg, NULL, 0);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_usage(state);
		*(state->arg_num ? &e->out : &e->in) = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num != 2 || (e->deletes && (e->cuts || e->flips || e->versions)))
			argp_usage(state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "IN OUT",
	.doc = "Make a damaged or thinned copy of a capture.",
};

static uint64_t random_next(struct edit *e)
{
	uint64_t z = e->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* ---- records ----------------------------------------------------------------------------------
 */

static struct cw_reader *open_in(const struct edit *e)
{
	struct cw_reader *r;
	char text[512];

	if (!cw_reader_open(&r, e->in, text, sizeof(text)))
		return r;
	fprintf(stderr, "capture_edit: %s\n", text);
	return NULL;
}

static bool is_event(const struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_type *t = cw_type_by_id(rec->type);

	if (!t)
		t = cw_reader_type(r, rec->type);
	return t && t->class == CW_CLASS_EVENT;
}

/* The range of time in which events are deleted, from the first event of the capture. */
static bool find_range(struct edit *e)
{
	struct cw_reader *r = open_in(e);
	const struct cw_rec *rec;
	uint64_t first = UINT64_MAX;

	if (!r)
		return false;
	while (cw_reader_next(r, &rec, NULL) > 0)
		if (is_event(r, rec) && rec->ts < first)
			first = rec->ts;
	cw_reader_free(r);
	e->from_ts = first + e->from_ms * 1e6;
	e->to_ts = e->to_ms < 0 ? UINT64_MAX : first + (uint64_t)(e->to_ms * 1e6);
	return true;
}

static bool chosen(struct edit *e, const struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_type *t = cw_reader_type(r, cw_reader_as_written(r)->type);

	if (!is_event(r, rec) || rec->ts < e->from_ts || rec->ts > e->to_ts)
		return false;
	if (e->kind && (!t || strcmp(t->name, e->kind)))
		return false;
	return random_next(e) % 1000000 < (uint64_t)(e->percent * 10000);
}

static int delete_event(struct edit *e, const struct cw_rec *rec)
{
	struct cw_lost lost = {
		.h = {.type = CW_LOST, .size = sizeof(lost), .cpu = rec->cpu, .ts = rec->ts},
		.kind = rec->type,
		.reason = CW_LOST_DELETED,
		.count = 1,
		.end_ts = rec->ts,
	};

	e->deleted++;
	cw_writer_lost(e->w, rec->type, rec->cpu, 1);
	return cw_writer_append(e->w, &lost.h);
}

/* The writer makes chunks of its own: epoch and clock are carried over. */
static void follow_chunk(struct edit *e, const struct cw_chunk *c)
{
	if (c->epoch != e->epoch)
		cw_writer_new_epoch(e->w);
	e->epoch = c->epoch;
	cw_writer_set_clock(e->w, c->mono_ns, c->wall_ns);
}

/* Types that the source describes and this build does not know. */
static int copy_types(struct edit *e, const struct cw_reader *r)
{
	const struct cw_type *t;
	int err = 0;

	for (size_t i = 0; !err && (t = cw_reader_type_at(r, i)); i++) {
		struct cw_type_info info = {.h = {.type = CW_TYPE_INFO, .cpu = CW_CPU_NONE}};
		char text[8192];

		if (cw_type_by_name(t->name))
			continue;
		info.id = t->id;
		info.fixed_size = t->fixed_size;
		cw_type_describe(t, text, sizeof(text));
		err = cw_writer_append_tail(e->w, &info.h, sizeof(info), text, strlen(text));
	}
	return err;
}

static int copy_records(struct edit *e, struct cw_reader *r)
{
	const struct cw_rec *rec;
	int err = copy_types(e, r);

	while (!err && (err = cw_reader_next(r, &rec, NULL)) > 0) {
		err = 0;
		e->events += is_event(r, rec);
		if (rec->type == CW_CHUNK)
			follow_chunk(e, (const struct cw_chunk *)rec);
		else if (chosen(e, r, rec))
			err = delete_event(e, rec);
		else
			err = cw_writer_append(e->w, rec);
	}
	for (size_t i = 0; i < cw_reader_nproblems(r); i++)
		fprintf(stderr, "capture_edit: %s: %s\n", e->in, cw_reader_problem(r, i)->text);
	return err;
}

/* The header of the copy: all keys but the id, because caches may go by that. The caller frees it.
 */
static struct cw_meta_kv *copy_keys(const struct cw_reader *r)
{
	const struct cw_meta_kv *from = cw_reader_metas(r);
	struct cw_meta_kv *keys;
	size_t n = 0, kept = 0;

	while (from[n].key)
		n++;
	keys = calloc(n + 1, sizeof(*keys));
	for (size_t i = 0; keys && i < n; i++)
		if (strcmp(from[i].key, "capture_id"))
			keys[kept++] = from[i];
	return keys;
}

/* ---- segments ---------------------------------------------------------------------------------
 */

static uint64_t count_events(const struct edit *e)
{
	struct cw_reader *r = open_in(e);
	const struct cw_rec *rec;
	uint64_t n = 0;

	while (r && cw_reader_next(r, &rec, NULL) > 0)
		n += is_event(r, rec);
	cw_reader_free(r);
	return n;
}

static int end_segment(struct edit *e, bool last)
{
	struct cw_end end = {.h = {.type = CW_END, .cpu = CW_CPU_NONE, .ts = e->last_ts},
			     .reason = CW_END_NEXT};
	int err = last ? 0 : cw_writer_append_tail(e->w, &end.h, sizeof(end), "", 0);

	if (!err)
		err = cw_writer_finish(e->w, true);
	cw_writer_free(e->w);
	e->w = NULL;
	close(e->fd);
	return err;
}

/* The next file, with all that records refer to. The first one begins when the capture did. */
static int begin_segment(struct edit *e, const struct cw_reader *r)
{
	struct cw_meta_kv keys[64] = {{"capture_id", "0123456789abcdef0123456789abcdef"}};
	char number[16], mono[32], path[4096];
	size_t n = 1;
	int err;

	snprintf(number, sizeof(number), "%" PRIu64, ++e->segment);
	snprintf(mono, sizeof(mono), "%" PRIu64, e->last_ts);
	snprintf(path, sizeof(path), "%.*s.%04" PRIu64 ".cwc", (int)strlen(e->out) - 4, e->out,
		 e->segment);
	keys[n++] = (struct cw_meta_kv){"segment", number};
	for (const struct cw_meta_kv *k = e->keys; k->key && n < 63; k++) {
		bool begin = !strcmp(k->key, "start_mono_ns") && e->segment > 1;

		keys[n++] = (struct cw_meta_kv){k->key, begin ? mono : k->value};
	}
	e->fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	err = e->fd < 0 ? -errno : cw_writer_new(&e->w, e->fd, keys);
	if (!err)
		err = copy_types(e, r);
	for (size_t i = 0; i < e->nrefs && !err; i++)
		err = cw_writer_append(e->w, e->refs[i]);
	return err;
}

static int keep(struct edit *e, const struct cw_rec *rec)
{
	struct cw_rec **more = reallocarray(e->refs, e->nrefs + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	e->refs = more;
	more[e->nrefs] = malloc(rec->size);
	if (!more[e->nrefs])
		return -ENOMEM;
	memcpy(more[e->nrefs++], rec, rec->size);
	return 0;
}

static int copy_segments(struct edit *e, struct cw_reader *r)
{
	const struct cw_rec *rec;
	uint64_t here = 0;
	int err = begin_segment(e, r);

	while (!err && (err = cw_reader_next(r, &rec, NULL)) > 0) {
		const struct cw_type *type = cw_type_by_id(rec->type);

		err = 0;
		if (rec->type == CW_CHUNK) {
			follow_chunk(e, (const struct cw_chunk *)rec);
			continue;
		}
		if (is_event(r, rec) && here++ == e->each && e->segment < e->segments) {
			here = 1;
			err = end_segment(e, false);
			if (!err)
				err = begin_segment(e, r);
		}
		e->last_ts = rec->ts > e->last_ts ? rec->ts : e->last_ts;
		if (!err && ((type && type->class == CW_CLASS_REF) || rec->type == CW_PLAN_TEXT))
			err = keep(e, rec);
		if (!err)
			err = cw_writer_append(e->w, rec);
	}
	return err ? err : end_segment(e, true);
}

static int cut_into_segments(struct edit *e)
{
	struct cw_reader *r = open_in(e);
	struct cw_meta_kv *keys = r ? copy_keys(r) : NULL;
	int err = keys && strlen(e->out) > 4 ? 0 : -EINVAL;

	e->keys = keys;
	e->each = (count_events(e) + e->segments - 1) / e->segments;
	if (!err)
		err = copy_segments(e, r);
	if (err)
		fprintf(stderr, "capture_edit: %s: %s\n", e->out, strerror(-err));
	for (size_t i = 0; i < e->nrefs; i++)
		free(e->refs[i]);
	free(e->refs);
	cw_writer_free(e->w);
	cw_reader_free(r);
	free(keys);
	return err ? 1 : 0;
}

static int thin(struct edit *e)
{
	struct cw_reader *r = NULL;
	struct cw_meta_kv *keys = NULL;
	int fd, err;

	if (!find_range(e))
		return 1;
	fd = open(e->out, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : 0;
	if (!err) {
		r = open_in(e);
		keys = r ? copy_keys(r) : NULL;
		err = keys ? cw_writer_new(&e->w, fd, keys) : -EIO;
	}
	if (!err)
		err = copy_records(e, r);
	if (e->w && !err)
		err = cw_writer_finish(e->w, cw_reader_clean_end(r));
	cw_writer_free(e->w);
	cw_reader_free(r);
	free(keys);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "capture_edit: %s: %s\n", e->out, strerror(-err));
	else
		printf("deleted %" PRIu64 " of %" PRIu64 " events\n", e->deleted, e->events);
	return err ? 1 : 0;
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

static uint8_t *read_whole(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *mem = NULL;

	if (f && !fstat(fileno(f), &st))
		mem = malloc(st.st_size + 1);
	if (mem)
		*size = fread(mem, 1, st.st_size, f);
	if (f)
		fclose(f);
	return mem;
}

static int damage(struct edit *e)
{
	size_t size;
	uint8_t *mem = read_whole(e->in, &size);
	FILE *out = mem ? fopen(e->out, "wb") : NULL;

	if (!out) {
		fprintf(stderr, "capture_edit: %s: %s\n", mem ? e->out : e->in, strerror(errno));
		free(mem);
		return 1;
	}
	if (e->cuts && e->cut < size)
		size = e->cut;
	for (uint64_t i = 0; i < e->flips && size; i++) {
		uint64_t bit = random_next(e) % (8 * size);

		mem[bit / 8] ^= 1u << bit % 8;
	}
	for (int i = 0; e->versions && i < 4 && size > VERSION_OFFSET + 3; i++)
		mem[VERSION_OFFSET + i] = e->format_version >> 8 * i;
	if (fwrite(mem, 1, size, out) != size || fclose(out)) {
		fprintf(stderr, "capture_edit: %s: %s\n", e->out, strerror(errno));
		return 1;
	}
	free(mem);
	return 0;
}

int main(int argc, char **argv)
{
	struct edit e = {.to_ms = -1, .seed = 1};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &e);
	if (e.segments)
		return cut_into_segments(&e);
	return e.cuts || e.flips || e.versions ? damage(&e) : thin(&e);
}
