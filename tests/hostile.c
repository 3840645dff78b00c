/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures that no recorder would write, with frames and checksums that are right: hostile CASE OUT
 * [N] makes one of the cases below, of size N; hostile wild OUT N SEED makes N wild records;
 * hostile mutate OUT N SEED IN copies IN with every N-th record changed, on average. "hostile"
 * alone lists the cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fuzz/wild.h"

#define SECOND 1000000000ull
#define YEAR   (31536000ull * SECOND)

struct out {
	struct cw_writer *w;
	uint64_t ts, n, seed;
	const char *in;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "hostile: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void put(struct out *o, struct cw_rec *rec, size_t fixed, const void *tail, size_t n)
{
	int err = cw_writer_append_tail(o->w, rec, fixed, tail, n);

	if (err)
		die("cannot append", err);
}

#define PUT(o, NAME, ...) \
	do { \
		struct cw_##NAME r_ = {__VA_ARGS__}; \
		put(o, &r_.h, sizeof(r_), NULL, 0); \
	} while (0)
#define HEAD(TYPE)       .h = {.type = (TYPE), .ts = o->ts}
#define HEAD_AT(TYPE, t) .h = {.type = (TYPE), .ts = (t)}

static void thread(struct out *o, uint32_t pid, uint32_t tid, const char *comm)
{
	struct cw_thread r = {HEAD(CW_THREAD), .pid = pid,    .tid = tid,
			      .ns_pid = pid,   .ns_tid = tid, .flags = 1};

	put(o, &r.h, sizeof(r), comm, strlen(comm));
}

static void process(struct out *o, uint32_t pid, const char *exe)
{
	struct cw_process r = {HEAD(CW_PROCESS), .pid = pid, .ns_pid = pid, .rec_pid = pid,
			       .flags = 1};

	put(o, &r.h, sizeof(r), exe, strlen(exe));
}

static void probe(struct out *o, uint32_t id, const char *name)
{
	struct cw_probe r = {HEAD(CW_PROBE), .probe_id = id, .module_id = 1, .flags = 3};

	put(o, &r.h, sizeof(r), name, strlen(name));
}

static void module(struct out *o, uint32_t id, const char *path)
{
	struct cw_module r = {HEAD(CW_MODULE), .module_id = id};

	put(o, &r.h, sizeof(r), path, strlen(path));
}

static void plan(struct out *o, const char *yaml)
{
	size_t n = strlen(yaml), piece = 60000, pieces = (n + piece - 1) / piece;

	for (size_t i = 0; i < pieces; i++) {
		struct cw_plan_text r = {HEAD(CW_PLAN_TEXT), .piece = (uint32_t)i,
					 .pieces = (uint32_t)pieces};

		put(o, &r.h, sizeof(r), yaml + i * piece,
		    n - i * piece < piece ? n - i * piece : piece);
	}
}

static void entry(struct out *o, uint32_t tid, uint32_t id, uint64_t sp, uint64_t key)
{
	PUT(o, probe_entry, HEAD(CW_PROBE_ENTRY), .pid = 1, .tid = tid, .probe_id = id, .sp = sp,
	    .args = {key, key});
}

static void leave(struct out *o, uint32_t tid, uint32_t id, uint64_t sp)
{
	PUT(o, probe_return, HEAD(CW_PROBE_RETURN), .pid = 1, .tid = tid, .probe_id = id,
	    .sp = sp + 8);
}

static const char two_hops[] = "functions:\n- name: c\n  ret: true\nhops:\n- {source: a, "
			       "source_arg: 1, target: b, target_arg: 1}\n"
			       "- {source: b, source_arg: 1, target: c, target_arg: 1}\n";

static void begin(struct out *o)
{
	plan(o, two_hops);
	process(o, 1, "/bin/target");
	thread(o, 1, 1, "target");
	probe(o, 0, "a");
	probe(o, 1, "b");
	probe(o, 2, "c");
}

static void end(struct out *o)
{
	PUT(o, end, HEAD(CW_END), .reason = 1);
}

/* ---- cases --------------------------------------------------------------------------------------
 */

static void threads(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, (uint32_t)i + 2, i % 3, 0x7fff0000, i / 2 + 1);
}

/* All of them runnable on one CPU on which others run. */
static void crowd(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		PUT(o, sched_wakeup, HEAD(CW_SCHED_WAKEUP), .pid = 1, .tid = (uint32_t)i + 2);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		PUT(o, sched_switch, HEAD(CW_SCHED_SWITCH), .prev_pid = 7, .prev_tid = 8 + i % 2,
		    .next_pid = 7, .next_tid = 8 + (i + 1) % 2);
}

static void recursion(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, 1, 1, 0x7fff00000000 - 64 * i, i + 1);
	for (uint64_t i = o->n; i--; o->ts += 1000)
		leave(o, 1, 1, 0x7fff00000000 - 64 * i);
}

/* Returns that fit no call, on a stack that is deep. */
static void returns(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, 1, 1, 0x7fff00000000 - (i << 28), i + 1);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		leave(o, 1, 2, 0x1000);
}

static void years(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += YEAR) {
		entry(o, 1, i % 3, 0x7fff0000, i / 3 + 1);
		if (i % 2)
			leave(o, 1, i % 3, 0x7fff0000);
	}
}

/* Times at the ends of what 64 bits hold. */
static void times(struct out *o)
{
	static const uint64_t list[] = {
		0, 1, INT64_MAX - 1, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};

	begin(o);
	for (uint64_t i = 0; i < o->n; i++) {
		o->ts = list[i % 7];
		entry(o, 1 + i % 2, i % 3, 0x7fff0000, 1 + i % 5);
		PUT(o, sched_block, HEAD(CW_SCHED_BLOCK), .prev_pid = 1, .prev_tid = 1,
		    .prev_state = 1);
		o->ts = list[(i + 3) % 7];
		PUT(o, sched_waking, HEAD(CW_SCHED_WAKING), .wakee_pid = 1, .wakee_tid = 1,
		    .tid = 2, .pid = 1);
		PUT(o, sched_switch, HEAD(CW_SCHED_SWITCH), .next_pid = 1, .next_tid = 1,
		    .flags = 4);
		leave(o, 1 + i % 2, i % 3, 0x7fff0000);
		PUT(o, lost, HEAD(CW_LOST), .kind = 32, .count = UINT64_MAX,
		    .end_ts = list[(i + 1) % 7]);
	}
}

/* Payloads that never become complete. */
static void blobs(struct out *o)
{
	static uint8_t data[61440];

	begin(o);
	for (uint64_t i = 0; i < o->n; i++) {
		struct cw_blob r = {HEAD(CW_BLOB), .module_id = (uint32_t)(i / 1000) + 1, .kind = 1,
				    .offset = i % 1000 * sizeof(data),
				    .total = 1001 * sizeof(data)};

		put(o, &r.h, sizeof(r), data, sizeof(data));
	}
	entry(o, 1, 1, 0x7fff0000, 1);
}

/* Payloads that do. */
static void whole_blobs(struct out *o)
{
	static uint8_t data[61440];

	begin(o);
	for (uint64_t i = 0; i < o->n; i++) {
		struct cw_blob r = {HEAD(CW_BLOB), .module_id = (uint32_t)(i / 1000) + 1, .kind = 1,
				    .offset = i % 1000 * sizeof(data),
				    .total = 1000 * sizeof(data)};

		put(o, &r.h, sizeof(r), data, sizeof(data));
	}
	entry(o, 1, 1, 0x7fff0000, 1);
}

/* Ranges of loss that never end, and calls. */
static void losses(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000) {
		PUT(o, lost, HEAD(CW_LOST), .kind = 35, .count = 1, .end_ts = INT64_MAX);
		entry(o, 1, 1, 0x7fff0000, i + 1);
		leave(o, 1, 1, 0x7fff0000);
	}
}

static void late_losses(struct out *o)
{
	begin(o);
	entry(o, 1, 1, 0x7fff0000, 1);
	o->ts += 3600 * SECOND;
	for (uint64_t i = 0; i < 100000; i++)
		entry(o, 1, 1, 0x7fff0000, 1);
	for (uint64_t i = 0; i < o->n; i++)
		PUT(o, lost, HEAD_AT(CW_LOST, SECOND + o->n - i), .kind = 35, .count = 1,
		    .end_ts = SECOND + o->n - i);
}

static void maps(struct out *o)
{
	begin(o);
	module(o, 1, "/lib/a.so");
	for (uint64_t i = o->n; i--; o->ts += 1000)
		PUT(o, map, HEAD(CW_MAP), .pid = 1, .module_id = 1, .start = 0x1000 * (2 * i + 1),
		    .end = 0x1000 * (2 * i + 2), .prot = 5);
}

/* Each child inherits what its parent has mapped. */
static void forks(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n / 10; i++)
		PUT(o, map, HEAD(CW_MAP), .pid = 1, .module_id = 1, .start = 0x2000 * i,
		    .end = 0x2000 * i + 0x1000, .prot = 5);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		PUT(o, fork, HEAD(CW_FORK), .pid = 1, .tid = 1, .child_pid = (uint32_t)i + 2,
		    .child_tid = (uint32_t)i + 2, .child_start_boottime = o->ts);
}

/* What cw_hash would send to few buckets when nothing random is in it: keys that differ above
 * bit 44. */
static void keys(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, 1, 0, 0x7fff0000, (i + 1) << 44 | 1);
}

/* The inverse of what multiplies in cw_hash, so that sums have the same low bits. */
static void collide(struct out *o)
{
	uint64_t k = 0x9e3779b97f4a7c15ull, inv = k;

	for (int i = 0; i < 6; i++)
		inv *= 2 - k * inv;
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000) {
		uint64_t h = (i + 1) << 32 | (i + 1); /* h ^ h >> 32 ends in 32 zeros */
		struct cw_stack r = {HEAD(CW_STACK), .id = (i + 1) << 32, .pid = 1};

		put(o, &r.h, sizeof(r), &h, sizeof(h));
		entry(o, 1, 0, 0x7fff0000, h * inv);
	}
}

static void probes(struct out *o)
{
	begin(o);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, 1, (uint32_t)(UINT32_MAX - i), 0x7fff0000, 1);
}

static void hops(struct out *o)
{
	size_t size = 200 * o->n + 200, used = 0;
	char *yaml = malloc(size);

	used += (size_t)snprintf(yaml, size, "functions:\n- name: b\nhops:\n");
	for (uint64_t i = 0; i < o->n; i++)
		used += (size_t)snprintf(
			yaml + used, size - used,
			"- {source: a, source_arg: 1, target: b, target_arg: auto, match: all}\n");
	plan(o, yaml);
	free(yaml);
	probe(o, 0, "a");
	probe(o, 1, "b");
	for (int i = 0; i < 20000; i++, o->ts += 1000)
		entry(o, 1 + i % 2, i % 2, 0x7fff0000, 1 + i % 7);
}

/* A target of "match: all" that takes the same submission again and again. */
static void fan(struct out *o)
{
	plan(o, "functions:\n- name: a\nhops:\n- {source: a, source_arg: 1, target: a, target_arg: "
		"1, match: all}\n");
	probe(o, 0, "a");
	for (uint64_t i = 0; i < o->n; i++, o->ts += 1000)
		entry(o, 1, 0, 0x7fff00000000 - 64 * i, 1);
}

static void names(struct out *o)
{
	static const char evil[] = "\033]0;owned\007\033[2J\n\r\x9b"
				   "31m\xe2\x80\xae<b>\"',\\";
	uint64_t frames[2] = {0x400010, 0x400020};
	struct cw_stack st = {HEAD(CW_STACK), .id = 9, .pid = 1};
	struct cw_process_args args = {HEAD(CW_PROCESS_ARGS), .pid = 1};
	struct cw_file file = {HEAD(CW_FILE), .id = 3, .mode = 0100644};

	plan(o, two_hops);
	process(o, 1, evil);
	put(o, &args.h, sizeof(args), evil, strlen(evil));
	thread(o, 1, 1, "\033[2J\nevil");
	module(o, 1, evil);
	PUT(o, map, HEAD(CW_MAP), .pid = 1, .module_id = 1, .start = 0x400000, .end = 0x500000,
	    .prot = 5);
	put(o, &file.h, sizeof(file), evil, strlen(evil));
	put(o, &st.h, sizeof(st), frames, sizeof(frames));
	probe(o, 0, "a");
	probe(o, 1, "b");
	probe(o, 2, "c");
	probe(o, 3, evil);
	for (uint64_t i = 0; i < o->n; i++, o->ts += 5000) {
		PUT(o, probe_entry, HEAD(CW_PROBE_ENTRY), .pid = 1, .tid = 1, .probe_id = i % 4,
		    .sp = 0x7fff0000, .stack = 9, .args = {1 + i / 3});
		o->ts += 5000;
		PUT(o, sched_block, HEAD(CW_SCHED_BLOCK), .prev_pid = 1, .prev_tid = 1,
		    .prev_state = 1, .syscall = 0, .ustack = 9, .file = 3);
		o->ts += 5000;
		PUT(o, sched_waking, HEAD(CW_SCHED_WAKING), .wakee_pid = 1, .wakee_tid = 1,
		    .pid = 1, .tid = 1, .ustack = 9);
		PUT(o, sched_switch, HEAD(CW_SCHED_SWITCH), .next_pid = 1, .next_tid = 1,
		    .flags = 4);
		leave(o, 1, i % 4, 0x7fff0000);
	}
}

static void wild(struct out *o)
{
	static uint64_t buf[CW_MAX_RECORD / 8 + 1];
	struct wild w = {.seed = o->seed * 0x9e3779b97f4a7c15ull | 1, .ts = SECOND};

	plan(o, wild_plans[wild_byte(&w) % WILD_PLANS]);
	for (uint64_t i = 0; i < o->n; i++) {
		int err = cw_writer_append(o->w, wild_record(&w, buf));

		if (err)
			die("cannot append", err);
	}
}

/* ---- a copy of another capture, changed ---------------------------------------------------------
 */

static void change(struct wild *w, const struct cw_type *t, struct cw_rec *rec)
{
	const struct cw_field *f = t && t->nfields ? &t->fields[wild_random(w) % t->nfields] : NULL;
	uint8_t *bytes = (uint8_t *)rec;
	uint64_t v, how = wild_random(w) % 10;

	if (how == 0) {
		rec->ts = wild_time(w);
	} else if (how == 1) {
		rec->cpu = (uint16_t)wild_random(w);
	} else if (how < 4) { /* a bit anywhere behind the head */
		size_t at = sizeof(*rec) + wild_random(w) % (rec->size - sizeof(*rec) + 1u);

		if (at < rec->size)
			bytes[at] ^= (uint8_t)(1u << wild_random(w) % 8);
	} else if (how == 4) { /* shorter, or longer */
		size_t fixed = t ? t->fixed_size : sizeof(*rec);

		rec->size = (uint16_t)(fixed + wild_random(w) % (rec->size - fixed + 9u));
	} else if (f && f->count) {
		v = wild_random(w) % 2 ? wild_value(w, f->name)
				       : wild_extreme(w, (uint8_t)wild_random(w));
		memcpy(bytes + f->offset, &v,
		       f->type == CW_T_U32 || f->type == CW_T_I32 ? 4
		       : f->type == CW_T_U8                       ? 1
								  : 8);
	}
}

static void mutate(struct out *o)
{
	static uint64_t buf[CW_MAX_RECORD / 8 + 8];
	struct wild w = {.seed = o->seed * 0x9e3779b97f4a7c15ull | 1};
	const struct cw_rec *rec;
	struct cw_reader *r;
	char why[512];
	int err;

	if (!o->in || cw_reader_open(&r, o->in, why, sizeof(why)))
		die(o->in ? why : "mutate needs a capture", -EINVAL);
	while (cw_reader_next(r, &rec, NULL) > 0) {
		if (rec->type == CW_CHUNK)
			continue;
		memcpy(buf, rec, rec->size);
		w.ts = rec->ts;
		if (wild_random(&w) % o->n == 0) {
			uint64_t how = wild_random(&w) % 8;

			if (how == 0)
				continue; /* dropped */
			if (how == 1)     /* doubled */
				cw_writer_append(o->w, (const struct cw_rec *)buf);
			else
				change(&w, cw_type_by_id(rec->type), (struct cw_rec *)buf);
		}
		err = cw_writer_append(o->w, (const struct cw_rec *)buf);
		if (err && err != -EINVAL)
			die("cannot append", err);
	}
	cw_reader_free(r);
}

static const struct {
	const char *name;
	void (*make)(struct out *o);
	uint64_t n;
} cases[] = {
	{"threads", threads, 1000000},
	{"crowd", crowd, 100000},
	{"recursion", recursion, 100000},
	{"returns", returns, 100000},
	{"years", years, 1000},
	{"times", times, 700},
	{"blobs", blobs, 30000},
	{"whole_blobs", whole_blobs, 30000},
	{"losses", losses, 300000},
	{"late_losses", late_losses, 300000},
	{"maps", maps, 300000},
	{"forks", forks, 100000},
	{"keys", keys, 1000000},
	{"collide", collide, 500000},
	{"probes", probes, 500000},
	{"hops", hops, 10000},
	{"fan", fan, 100000},
	{"names", names, 100},
	{"wild", wild, 5000},
	{"mutate", mutate, 50},
};

int main(int argc, char **argv)
{
	static const struct cw_meta_kv keys_of[] = {{"arch", "x86_64"}, {NULL, NULL}};
	struct out o = {.ts = SECOND,
			.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1,
			.in = argc > 5 ? argv[5] : NULL};
	int fd, err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc < 3) {
			puts(cases[i].name);
			continue;
		}
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		o.n = argc > 3 ? strtoull(argv[3], NULL, 10) : cases[i].n;
		fd = open(argv[2], O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
		err = fd < 0 ? -errno : cw_writer_new(&o.w, fd, keys_of);
		if (err)
			die(argv[2], err);
		/* Closed at a time that allows any. */
		if (cases[i].make != mutate)
			cw_writer_set_clock(o.w, 1ull << 60, 0);
		cases[i].make(&o);
		end(&o);
		err = cw_writer_finish(o.w, true);
		cw_writer_free(o.w);
		if (err)
			die(argv[2], err);
		return 0;
	}
	return argc < 3 ? 0 : 2;
}
