/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a capture: records one by one, in this build's layout, with what is wrong or missing said
 * in words. Owns the order of records, what each becomes, and the list of problems; must not know
 * how frames are found, decoded or decoded ahead. Input may be hostile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "ahead.h"
#include "capture.h"
#include "describe.h"
#include "header.h"
#include "problems.h"
#include "typeset.h"
#include "wire.h"

#define SMALL_FILE (1u << 20) /* not worth a thread */

struct cw_reader {
	int fd;
	bool own_fd;
	uint64_t size;
	struct cw_ahead *ahead;
	struct cw_header header;
	struct cw_typeset *types;
	struct cw_problems problems;

	/* where reading is */
	struct cw_item *item; /* the one being read, of ahead; NULL before the first */
	size_t at;
	uint64_t offset, index, unknown;
	uint64_t records_left; /* that the chunk still promises */
	uint64_t next_seq;
	uint64_t chunk_from, chunk_to; /* time that the chunk being read covers */
	uint64_t last_from;            /* first time that a loss behind it could touch */
	bool begun, any_chunk, saw_end, saw_table, torn, over;
	int error;

	const struct cw_rec *written; /* the last record as it stands in the file */
	uint64_t translated[CW_MAX_RECORD / 8 + 1];
};

/* ---- what is wrong --------------------------------------------------------------------------- */

static struct cw_problem *add_problem(struct cw_reader *r, uint64_t offset, bool lost_data,
				      const char *text)
{
	struct cw_problem *p = cw_problems_add(&r->problems, offset, lost_data, text);

	if (!p)
		r->error = -ENOMEM;
	else if (lost_data)
		p->from_ts = r->last_from;
	return p;
}

/* The rest of a frame cannot be read: what it held lies within the time its chunk covers. */
static void add_frame_problem(struct cw_reader *r, const char *what)
{
	struct cw_problem *p;
	char text[256];

	snprintf(text, sizeof(text), "record %llu, in the frame at byte %llu, %s",
		 (unsigned long long)r->index, (unsigned long long)r->item->offset, what);
	p = add_problem(r, r->item->offset, true, text);
	if (p && r->chunk_to) {
		p->from_ts = r->chunk_from;
		p->to_ts = r->chunk_to;
	}
}

static void check_seq(struct cw_reader *r, const struct cw_chunk *c)
{
	char text[256];

	if (c->seq == r->next_seq || cw_problems_any_open(&r->problems))
		return;
	if (c->seq > r->next_seq)
		snprintf(
			text, sizeof(text),
			"%llu chunks are missing before byte %llu: number %llu follows number %lld",
			(unsigned long long)(c->seq - r->next_seq),
			(unsigned long long)r->item->offset, (unsigned long long)c->seq,
			(long long)r->next_seq - 1);
	else
		snprintf(text, sizeof(text),
			 "the chunk at byte %llu has number %llu where %llu was expected",
			 (unsigned long long)r->item->offset, (unsigned long long)c->seq,
			 (unsigned long long)r->next_seq);
	add_problem(r, r->item->offset, c->seq > r->next_seq, text);
}

/*
 * An event can be stamped long before it reaches the ring, so what a missing chunk held lies
 * somewhere between the first event of the chunk before and the last one of the chunk behind.
 */
static void enter_chunk(struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_chunk *c = (const struct cw_chunk *)rec;

	check_seq(r, c);
	if (c->seq == r->next_seq)
		cw_problems_absolve(&r->problems); /* chunk numbers prove that nothing is missing */
	r->next_seq = c->seq + 1;
	r->any_chunk = true;
	r->records_left = c->records;
	r->chunk_from = c->min_ts ? c->min_ts : c->mono_ns;
	r->chunk_to = c->max_ts ? c->max_ts : c->mono_ns;
	cw_problems_close(&r->problems, r->chunk_to);
	if (c->min_ts)
		r->last_from = c->min_ts;
}

static void leave_frame(struct cw_reader *r)
{
	char what[96];

	if (r->records_left) {
		snprintf(what, sizeof(what), "is missing, and so are %llu more of the chunk",
			 (unsigned long long)r->records_left - 1);
		add_frame_problem(r, what);
	}
	r->records_left = 0;
}

/* The end of the file: say what a recorder that stopped cleanly would have written behind it. */
static void at_end(struct cw_reader *r)
{
	struct cw_problem *p = NULL;

	r->over = true;
	r->error = r->item->error;
	if (r->error) {
		char text[128];

		snprintf(text, sizeof(text), "the file cannot be read behind byte %llu: %s",
			 (unsigned long long)r->offset, strerror(-r->error));
		p = add_problem(r, r->offset, true, text);
		if (p)
			p->fatal = true;
		return;
	}
	if (r->saw_end)
		cw_problems_absolve(&r->problems); /* nothing is written behind the end record */
	if (r->torn || cw_problems_any_open(&r->problems))
		return;
	if (!r->any_chunk)
		add_problem(r, r->offset, true,
			    "the capture ends behind its header: it holds no records");
	else if (!r->saw_end)
		add_problem(r, r->offset, true,
			    "the capture has no end record: the recorder was killed, or the file "
			    "was cut between two frames");
	else if (!r->saw_table)
		add_problem(r, r->offset, false,
			    "the seek table is missing: the file was cut behind its last record");
}

/* Take the next item. True when it is a frame; at the end reading is over. */
static bool take_item(struct cw_reader *r)
{
	struct cw_item *item = r->item = cw_ahead_next(r->ahead);
	struct cw_problem *p;

	r->at = 0;
	r->offset = item->kind == CW_ITEM_PROBLEM ? item->offset : item->end;
	switch (item->kind) {
	case CW_ITEM_FRAME:
		return true;
	case CW_ITEM_TABLE:
		r->saw_table = true;
		break;
	case CW_ITEM_PROBLEM:
		p = add_problem(r, item->offset, item->lost_data, item->text);
		if (p)
			p->fatal = item->fatal;
		r->torn |= item->torn || item->fatal;
		break;
	case CW_ITEM_END:
		at_end(r);
		break;
	}
	return false;
}

/* ---- records --------------------------------------------------------------------------------- */

/* What is wrong with the record at the front, or NULL. left: bytes to the end of the frame. */
static const char *record_defect(const struct cw_reader *r, const struct cw_rec *rec, size_t left)
{
	const struct cw_entry *e;

	if (left < sizeof(*rec) || rec->size < sizeof(*rec) || rec->size > CW_MAX_RECORD)
		return "has an impossible size: the rest of the frame is skipped";
	if (cw_rec_stride(rec) > left)
		return "runs past the end of its frame: the rest of the frame is skipped";
	e = cw_typeset_get(r->types, rec->type);
	if (e && rec->size < e->file->fixed_size)
		return "is shorter than its type: the rest of the frame is skipped";
	if (r->at && rec->type == CW_CHUNK)
		return "is a chunk record inside a chunk: the rest of the frame is skipped";
	return NULL;
}

static void register_type(struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_type_info *info = (const struct cw_type_info *)rec;
	const char *why;
	char text[256];
	int err = cw_typeset_add(r->types, info, &why);

	if (!err)
		return;
	if (err == -ENOMEM)
		r->error = err;
	snprintf(text, sizeof(text), "the description of type %u, in the frame at byte %llu, %s",
		 info->id, (unsigned long long)r->item->offset, why);
	add_problem(r, r->item->offset, false, text);
}

/* The record in this build's layout, or NULL when it must not be shown under its id. */
static const struct cw_rec *to_native(struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_entry *e = cw_typeset_get(r->types, rec->type);

	if (!e || !e->native) {
		r->unknown++;
		return e && e->clash ? NULL : rec;
	}
	if (e->same)
		return rec;
	cw_type_translate(e->file, rec, e->native, (struct cw_rec *)r->translated);
	return (const struct cw_rec *)r->translated;
}

static void note_record(struct cw_reader *r, const struct cw_rec *rec, bool first)
{
	if (!first && r->records_left)
		r->records_left--;
	if (rec->type == CW_CHUNK)
		enter_chunk(r, rec);
	else if (rec->type == CW_TYPE_INFO)
		register_type(r, rec);
	else if (rec->type == CW_END)
		r->saw_end = true;
}

/* The next record of the current frame, or NULL when there is no more (or only a broken one). */
static const struct cw_rec *frame_record(struct cw_reader *r, struct cw_pos *pos)
{
	while (r->at < r->item->size) {
		struct cw_rec *rec = (struct cw_rec *)(r->item->mem + r->at);
		size_t left = r->item->size - r->at;
		const struct cw_rec *native;
		const struct cw_entry *known;
		bool first = r->at == 0;
		const char *defect;

		if (CW_SWAP_FILE && left >= sizeof(*rec))
			cw_rec_swap(NULL, rec, true);
		defect = record_defect(r, rec, left);
		if (defect) {
			add_frame_problem(r, defect);
			r->records_left = 0;
			break;
		}
		known = CW_SWAP_FILE ? cw_typeset_get(r->types, rec->type) : NULL;
		if (known) {
			cw_rec_swap(NULL, rec, false);
			cw_rec_swap(known->file, rec, true);
		}
		r->at += cw_rec_stride(rec);
		r->written = rec;
		native = to_native(r, rec);
		if (native)
			note_record(r, native, first);
		else if (r->records_left)
			r->records_left--;
		pos->frame = r->item->number;
		pos->offset = r->item->offset;
		pos->index = r->index++;
		if (native)
			return native;
	}
	r->at = r->item->size;
	return NULL;
}

static bool small_file(const struct cw_reader *r)
{
	return r->size && r->size <= SMALL_FILE;
}

static void begin(struct cw_reader *r)
{
	if (r->begun)
		return;
	r->begun = true;
	r->error = small_file(r) ? 0 : cw_ahead_start(r->ahead);
	r->over = r->error;
}

static bool in_frame(const struct cw_reader *r)
{
	return r->item && r->item->kind == CW_ITEM_FRAME;
}

int cw_reader_next(struct cw_reader *r, const struct cw_rec **rec, struct cw_pos *pos)
{
	struct cw_pos unused;

	*rec = NULL;
	begin(r);
	while (!r->over) {
		if (in_frame(r)) {
			*rec = frame_record(r, pos ? pos : &unused);
			if (*rec)
				return 1;
			leave_frame(r);
		}
		while (!r->over && !take_item(r))
			;
	}
	return r->error;
}

bool cw_reader_wait(struct cw_reader *r, unsigned ms)
{
	struct timespec until;

	begin(r);
	if (in_frame(r) && r->at < r->item->size)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000l) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000l;
	}
	while (!r->over) {
		if (in_frame(r) && r->at < r->item->size)
			break;
		if (in_frame(r))
			leave_frame(r);
		if (!cw_ahead_ready(r->ahead, &until))
			return false;
		take_item(r);
	}
	return true;
}

/* ---- the rest of the interface --------------------------------------------------------------- */

const char *cw_reader_meta(const struct cw_reader *r, const char *key)
{
	for (size_t i = 0; i < r->header.n; i++)
		if (!strcmp(r->header.kv[i].key, key))
			return r->header.kv[i].value;
	return NULL;
}

const struct cw_meta_kv *cw_reader_metas(const struct cw_reader *r)
{
	return r->header.kv;
}

const struct cw_type *cw_reader_type(const struct cw_reader *r, uint16_t id)
{
	const struct cw_entry *e = cw_typeset_get(r->types, id);

	return e ? e->file : NULL;
}

const struct cw_type *cw_reader_type_at(const struct cw_reader *r, size_t i)
{
	return cw_typeset_at(r->types, i);
}

const struct cw_rec *cw_reader_as_written(const struct cw_reader *r)
{
	return r->written;
}

size_t cw_reader_nproblems(const struct cw_reader *r)
{
	return r->problems.n;
}

const struct cw_problem *cw_reader_problem(const struct cw_reader *r, size_t i)
{
	return i < r->problems.n ? &r->problems.list[i] : NULL;
}

bool cw_reader_clean_end(const struct cw_reader *r)
{
	return r->saw_end && r->saw_table;
}

uint64_t cw_reader_unknown_records(const struct cw_reader *r)
{
	return r->unknown;
}

size_t cw_reader_unknown_fields(const struct cw_reader *r)
{
	const struct cw_type *t;
	size_t n = 0;

	for (size_t i = 0; (t = cw_typeset_at(r->types, i)); i++) {
		const struct cw_entry *e = cw_typeset_get(r->types, t->id);

		for (uint32_t k = 0; e->native && !e->same && k < t->nfields; k++)
			n += !cw_type_field(e->native, t->fields[k].name);
	}
	return n;
}

uint64_t cw_reader_offset(const struct cw_reader *r)
{
	return r->offset;
}

uint64_t cw_reader_size(const struct cw_reader *r)
{
	return r->size;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_input(struct cw_reader *r, const char *name, char *err, size_t errsize)
{
	struct stat st;

	if (fstat(r->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(err, errsize, "%s is a directory, not a capture", name);
		return -EISDIR;
	}
	if (S_ISREG(st.st_mode))
		r->size = st.st_size;
	r->types = cw_typeset_new();
	r->ahead = cw_ahead_new(r->fd);
	if (r->types && r->ahead)
		return 0;
	snprintf(err, errsize, "cannot read %s: %s", name, strerror(ENOMEM));
	return -ENOMEM;
}

static int open_reader(struct cw_reader **out, int fd, bool own_fd, const char *name, char *err,
		       size_t errsize)
{
	struct cw_reader *r = calloc(1, sizeof(*r));
	int ret;

	if (!r) {
		snprintf(err, errsize, "cannot read %s: %s", name, strerror(ENOMEM));
		if (own_fd)
			close(fd);
		return -ENOMEM;
	}
	r->fd = fd;
	r->own_fd = own_fd;
	ret = open_input(r, name, err, errsize);
	if (!ret)
		ret = cw_header_read(&r->header, cw_ahead_frames(r->ahead), r->types, name, err,
				     errsize);
	if (ret) {
		cw_reader_free(r);
		return ret;
	}
	if (r->header.defect[0])
		add_problem(r, 0, false, r->header.defect);
	*out = r;
	return 0;
}

int cw_reader_open_fd(struct cw_reader **out, int fd, const char *name, char *err, size_t errsize)
{
	*out = NULL;
	return open_reader(out, fd, false, name, err, errsize);
}

int cw_reader_open(struct cw_reader **out, const char *path, char *err, size_t errsize)
{
	int fd;

	*out = NULL;
	if (!strcmp(path, "-"))
		return open_reader(out, STDIN_FILENO, false, "standard input", err, errsize);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int e = errno;

		snprintf(err, errsize, "cannot open %s: %s", *path ? path : "''", strerror(e));
		return -e;
	}
	return open_reader(out, fd, true, path, err, errsize);
}

void cw_reader_free(struct cw_reader *r)
{
	if (!r)
		return;
	cw_ahead_free(r->ahead);
	cw_header_free(&r->header);
	cw_typeset_free(r->types);
	cw_problems_free(&r->problems);
	if (r->own_fd)
		close(r->fd);
	free(r);
}
