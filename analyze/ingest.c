/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the way of a record through the sorter to the passes, the plan that comes with the capture,
 * and the totals. Must not know files, nor what passes do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"
#include "ingest.h"
#include "loss.h"
#include "passes.h"
#include "sort.h"
#include "stitch.h"
#include "syscalls.h"

#define MAX_PLAN_BYTES (1u << 20)
#define MAX_TS         (1ull << 60) /* 36 years after the start of the machine: no time of ours */

static const char schema[] =
#include "schema.inc"
	;
static const char first_index[] = "\nCREATE INDEX";
/* What is sorted beyond this goes through a file. */
static const char sort_room[] = "PRAGMA cache_size=-16384";

struct cw_ingest {
	sqlite3 *db;
	struct cw_trace trace;
	struct cw_sorter *sorter;
	bool live;
	struct cw_plan *own_plan; /* from the capture */
	char *yaml;
	size_t yaml_size;
	uint32_t next_piece;
	const struct cw_type *types[64];
	uint64_t emitted[64], lost[64]; /* by the BPF programs' own count */
	bool any_counter, wall_known;
	char err[CW_PLAN_ERR];
};

/* Types put in the order of time; the others are needed before what refers to them, or not timed.
 */
#define SORTED \
	(CW_EVENT_TYPES | CW_TYPE_BIT(CW_LOST) | CW_TYPE_BIT(CW_PROCESS) | \
	 CW_TYPE_BIT(CW_PROCESS_ARGS) | CW_TYPE_BIT(CW_THREAD) | CW_TYPE_BIT(CW_MAP) | \
	 CW_TYPE_BIT(CW_STACK) | CW_TYPE_BIT(CW_STACK_REGS))

static int sorted(void *arg, const struct cw_rec *rec)
{
	struct cw_ingest *in = arg;

	return cw_passes_event(&in->trace, rec);
}

static int run_sql(struct cw_ingest *in, const char *sql)
{
	if (sqlite3_exec(in->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	snprintf(in->err, sizeof(in->err), "cannot write the database: %s", sqlite3_errmsg(in->db));
	return sqlite3_errcode(in->db) == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* The indexes come last where nobody asks before. */
static int create_schema(struct cw_ingest *in)
{
	const char *index = in->live ? NULL : strstr(schema, first_index);
	char *tables = cw_strndup(schema, index ? (size_t)(index - schema) : sizeof(schema));
	int err = run_sql(in, "BEGIN");

	if (!err)
		err = run_sql(in, tables);
	free(tables);
	return err;
}

int cw_ingest_new(struct cw_ingest **out, sqlite3 *db, const struct cw_ingest_opts *o)
{
	struct cw_ingest *in = cw_zalloc(sizeof(*in));
	struct cw_trace *t = &in->trace;
	int err;

	*out = in;
	in->db = db;
	for (size_t i = 0; i < cw_ntypes; i++)
		if (cw_types[i].id < 64)
			in->types[cw_types[i].id] = &cw_types[i];
	t->plan = o->plan;
	t->restitch = o->plan != NULL;
	t->max_age_ns = o->max_age_ns;
	t->watch = o->watch;
	t->places = o->places;
	in->live = o->watch != NULL;
	t->attribution = true;
	t->futex_syscalls[0] = cw_syscall_number(o->arch, "futex");
	t->futex_syscalls[1] = cw_syscall_number(o->arch, "futex_wait");
	t->futex_syscalls[2] = cw_syscall_number(o->arch, "futex_waitv");
	t->return_sp_adjust = cw_arch_is_arm64(o->arch) ? 0 : 8;
	in->sorter = cw_sorter_new(CW_SORT_WINDOW_NS, CW_SORT_MAX_BYTES, sorted, in);
	err = create_schema(in);
	if (!err)
		err = cw_rows_new(&t->rows, db);
	if (err)
		return err;
	cw_syscalls_write(t->rows, o->arch);
	cw_rows_info_text(t->rows, "passes", cw_passes_versions());
	return cw_passes_begin(t);
}

/* ---- records that are about the file ------------------------------------------------------------
 */

static int take_plan(struct cw_ingest *in)
{
	struct cw_trace *t = &in->trace;
	int err;

	if (in->own_plan)
		return 0;
	err = cw_plan_from_yaml(&in->own_plan, in->yaml, in->yaml_size, "the capture's plan",
				in->err);
	if (err == -ENOMEM)
		return err;
	if (err) {
		/* Without its plan a capture still shows calls and states. */
		cw_rows_info_text(t->rows, "plan_problem", in->err);
		in->err[0] = '\0';
		return 0;
	}
	cw_rows_info_text(t->rows, "plan", in->yaml);
	t->recorded = in->own_plan;
	t->attribution = in->own_plan->attribution || in->own_plan->nhops;
	if (!t->plan)
		t->plan = in->own_plan;
	return 0;
}

/* Pieces come in order; each new epoch brings them again. */
static int on_plan(struct cw_ingest *in, const struct cw_plan_text *r)
{
	size_t n = r->h.size - offsetof(struct cw_plan_text, yaml);

	if (!r->piece) {
		in->yaml_size = 0;
		in->next_piece = 0;
	}
	if (in->own_plan || r->piece != in->next_piece || in->yaml_size + n > MAX_PLAN_BYTES)
		return 0;
	in->yaml = cw_grow(in->yaml, in->yaml_size + n + 1, 1);
	memcpy(in->yaml + in->yaml_size, r->yaml, n);
	in->yaml_size += strnlen(r->yaml, n);
	in->yaml[in->yaml_size] = '\0';
	return ++in->next_piece == r->pieces ? take_plan(in) : 0;
}

static void on_chunk(struct cw_ingest *in, const struct cw_chunk *r)
{
	in->trace.epoch = r->epoch;
	if (in->wall_known || !r->mono_ns || !r->wall_ns)
		return;
	in->wall_known = true;
	cw_rows_info(in->trace.rows, "wall_offset_ns", (int64_t)(r->wall_ns - r->mono_ns));
}

static void on_end(struct cw_ingest *in, const struct cw_end *r)
{
	char *text = cw_strndup(r->text, cw_tail_strlen(&r->h, r->text));

	cw_rows_info(in->trace.rows, "end_reason", r->reason);
	cw_rows_info_text(in->trace.rows, "end_text", text);
	free(text);
}

static void on_counter(struct cw_ingest *in, const struct cw_counter *r)
{
	if (r->kind >= 64)
		return;
	in->any_counter = true;
	in->emitted[r->kind] += r->emitted;
	in->lost[r->kind] += r->lost;
}

static int on_timed(struct cw_ingest *in, const struct cw_rec *rec)
{
	int rc;

	if (rec->ts > MAX_TS) {
		in->trace.totals.bad++;
		return 0;
	}
	rc = cw_sorter_push(in->sorter, rec, CW_TYPE_BIT(rec->type) & CW_EVENT_TYPES);
	if (rc <= 0)
		return rc;
	/* Its place has gone. What only tells of others is still good; an event would contradict.
	 */
	if (!(CW_TYPE_BIT(rec->type) & CW_EVENT_TYPES))
		return cw_passes_event(&in->trace, rec);
	cw_loss_late(&in->trace, rec);
	return 0;
}

int cw_ingest_record(struct cw_ingest *in, const struct cw_rec *rec)
{
	const struct cw_type *type = rec->type < 64 ? in->types[rec->type] : NULL;
	struct cw_trace *t = &in->trace;

	if (!type) {
		t->totals.unknown++;
		return 0;
	}
	if (rec->size < type->fixed_size) {
		t->totals.bad++;
		return 0;
	}
	switch (rec->type) {
	case CW_META:
	case CW_TYPE_INFO:
		return 0;
	case CW_CHUNK:
		on_chunk(in, (const void *)rec);
		return 0;
	case CW_COUNTER:
		on_counter(in, (const void *)rec);
		return 0;
	case CW_END:
		on_end(in, (const void *)rec);
		return 0;
	case CW_PLAN_TEXT:
		return on_plan(in, (const void *)rec);
	default:
		return CW_TYPE_BIT(rec->type) & SORTED ? on_timed(in, rec)
						       : cw_passes_event(t, rec);
	}
}

int cw_ingest_damage(struct cw_ingest *in, uint64_t from_ts, uint64_t to_ts)
{
	struct cw_lost lost = {
		.h = {.type = CW_LOST, .size = sizeof(lost), .cpu = CW_CPU_NONE, .ts = from_ts},
		.reason = CW_LOST_DAMAGED,
		.end_ts = to_ts,
	};

	return to_ts < from_ts ? 0 : on_timed(in, &lost.h);
}

void cw_ingest_info(struct cw_ingest *in, const char *key, int64_t value)
{
	cw_rows_info(in->trace.rows, key, value);
}

void cw_ingest_info_text(struct cw_ingest *in, const char *key, const char *value)
{
	cw_rows_info_text(in->trace.rows, key, value);
}

const struct cw_trace *cw_ingest_trace(const struct cw_ingest *in)
{
	return &in->trace;
}

uint64_t cw_ingest_time(const struct cw_ingest *in)
{
	return in->trace.last_ts;
}

const char *cw_ingest_error(const struct cw_ingest *in)
{
	return *in->err ? in->err : in->trace.err;
}

/* ---- the end ------------------------------------------------------------------------------------
 */

static void by_kind(struct cw_rows *rows, const char *prefix, const struct cw_type *type,
		    uint64_t n)
{
	char key[64];

	snprintf(key, sizeof(key), "%s.%s", prefix, type->name);
	cw_rows_info(rows, key, (int64_t)n);
}

static void write_span(struct cw_ingest *in)
{
	struct cw_trace *t = &in->trace;

	if (!t->any_event)
		return;
	cw_rows_info(t->rows, "start_ts", (int64_t)t->first_ts);
	cw_rows_info(t->rows, "end_ts", (int64_t)t->last_ts);
}

static int rows_error(struct cw_ingest *in, int err)
{
	if (err)
		snprintf(in->err, sizeof(in->err), "cannot write the database: %s",
			 sqlite3_errmsg(in->db));
	return err;
}

int cw_ingest_sync(struct cw_ingest *in)
{
	int err = 0;

	/* Before the first event the plan may not be complete. */
	if (in->trace.any_event)
		err = cw_stitch_check(&in->trace);
	if (in->trace.any_event && !err)
		err = cw_passes_flush(&in->trace);
	write_span(in);
	return err ? err : rows_error(in, cw_rows_sync(in->trace.rows));
}

int cw_ingest_pass_on(struct cw_ingest *in)
{
	return cw_sorter_flush(in->sorter);
}

static void write_totals(struct cw_ingest *in)
{
	struct cw_trace *t = &in->trace;
	struct cw_rows *r = t->rows;

	write_span(in);
	cw_rows_info(r, "events", (int64_t)t->totals.events);
	cw_rows_info(r, "late_records", (int64_t)t->totals.late);
	cw_rows_info(r, "unknown_records", (int64_t)t->totals.unknown);
	cw_rows_info(r, "bad_records", (int64_t)t->totals.bad);
	cw_rows_info(r, "unmatched_returns", (int64_t)t->totals.unmatched_returns);
	for (uint32_t id = 0; id < 64; id++) {
		if (!in->types[id])
			continue;
		if (CW_TYPE_BIT(id) & CW_EVENT_TYPES)
			by_kind(r, "events", in->types[id], t->totals.by_type[id]);
		if (in->any_counter && (in->emitted[id] || in->lost[id])) {
			by_kind(r, "emitted", in->types[id], in->emitted[id]);
			by_kind(r, "lost", in->types[id], in->lost[id]);
		}
	}
}

int cw_ingest_finish(struct cw_ingest *in)
{
	struct cw_trace *t = &in->trace;
	const char *index = in->live ? NULL : strstr(schema, first_index);
	int err = cw_sorter_flush(in->sorter), rows_err;

	if (!err)
		err = cw_passes_finish(t);
	if (!err)
		write_totals(in);
	rows_err = cw_rows_finish(t->rows);
	if (!err)
		err = rows_error(in, rows_err);
	if (!err && index)
		err = run_sql(in, sort_room);
	if (!err && index)
		err = run_sql(in, index);
	return err ? err : run_sql(in, "COMMIT");
}

void cw_ingest_free(struct cw_ingest *in)
{
	if (!in)
		return;
	cw_passes_free(&in->trace);
	cw_rows_free(in->trace.rows);
	if (!sqlite3_get_autocommit(in->db))
		sqlite3_exec(in->db, "ROLLBACK", NULL, NULL, NULL);
	cw_sorter_free(in->sorter);
	cw_plan_free(in->own_plan);
	free(in->yaml);
	free(in);
}
