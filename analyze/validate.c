/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking a capture as a whole. What can be wrong with single frames and records is the reader's
 * to find; here is what only shows when records are held against each other. Knows no database.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"
#include "print.h"
#include "validate.h"

#define MAX_SAID 20         /* sentences of one kind; the rest is counted */
#define MAX_PLAN (1u << 20) /* bytes of a plan that are kept */

/* ---- sets of numbers --------------------------------------------------------------------------
 */

struct slot {
	uint64_t key;   /* 0: empty; 0 itself is never referred to by a key that is looked up */
	uint64_t where; /* offset of the frame of the first reference */
	uint32_t refs;
	bool there;
};

struct set {
	struct slot *slots;
	size_t n, room;
};

static struct slot *probe(const struct set *s, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	size_t i = (h ^ h >> 29) & (s->room - 1);

	while (s->slots[i].key && s->slots[i].key != key)
		i = (i + 1) & (s->room - 1);
	return &s->slots[i];
}

static bool grow(struct set *s)
{
	struct set bigger = {.n = s->n, .room = s->room ? 2 * s->room : 1024};

	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->slots[i].key)
			*probe(&bigger, s->slots[i].key) = s->slots[i];
	free(s->slots);
	*s = bigger;
	return true;
}

static struct slot *slot_of(struct set *s, uint64_t key)
{
	struct slot *slot;

	if (2 * s->n >= s->room && !grow(s))
		return NULL;
	slot = probe(s, key);
	if (!slot->key) {
		slot->key = key;
		s->n++;
	}
	return slot;
}

/* ---- the check --------------------------------------------------------------------------------
 */

enum ref { REF_STACK, REF_MODULE, REF_PROBE, REF_FILE, NREFS };
static const char *const ref_names[NREFS] = {"stack", "module", "probe", "file"};

struct payload {
	uint32_t module_id, kind;
	uint64_t total, next;
};

struct check {
	struct cw_reader *r;
	const char *name;
	FILE *out;
	long wrong;
	bool no_memory;
	struct set refs[NREFS];
	struct payload *payloads; /* found by payload_index: slot.where is the place */
	struct set payload_index;
	size_t npayloads;
	uint64_t records, events, frames;
	uint32_t plan_next, plan_pieces;
	char *plan; /* pieces so far */
	size_t plan_size;

	/* of the chunk being read */
	uint64_t min_ts, max_ts, said_min, said_max, offset;
	uint32_t epoch;
	bool in_chunk;

	uint64_t received[CW_USER_TYPE_MIN], lost[CW_USER_TYPE_MIN];
	uint64_t dropped[CW_USER_TYPE_MIN]; /* lost after the BPF programs had counted them */
	uint64_t emitted[CW_USER_TYPE_MIN], emitted_lost[CW_USER_TYPE_MIN];
	bool counted[CW_USER_TYPE_MIN];
};

__attribute__((format(printf, 2, 3))) static void say(struct check *c, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cw_print_safe(c->out, text);
	putc('\n', c->out);
	c->wrong++;
}

/* Key 0 means none; ids that begin at 0 are stored one higher. */
static void refer(struct check *c, enum ref kind, uint64_t key, const struct cw_pos *pos)
{
	struct slot *slot = key ? slot_of(&c->refs[kind], key) : NULL;

	if (!key)
		return;
	c->no_memory |= !slot;
	if (slot && !slot->refs++)
		slot->where = pos->offset;
}

static void define(struct check *c, enum ref kind, uint64_t key)
{
	struct slot *slot = key ? slot_of(&c->refs[kind], key) : NULL;

	if (!key)
		return;
	c->no_memory |= !slot;
	if (slot)
		slot->there = true;
}

static void end_chunk(struct check *c)
{
	if (!c->in_chunk || (c->min_ts == c->said_min && c->max_ts == c->said_max))
		return;
	say(c,
	    "the chunk at byte %" PRIu64 " says that its events lie from %" PRIu64 " to %" PRIu64
	    ", but they lie from %" PRIu64 " to %" PRIu64,
	    c->offset, c->said_min, c->said_max, c->min_ts, c->max_ts);
}

static void begin_chunk(struct check *c, const struct cw_chunk *k, const struct cw_pos *pos)
{
	end_chunk(c);
	if (c->in_chunk && k->epoch < c->epoch)
		say(c, "the chunk at byte %" PRIu64 " has epoch %u, behind epoch %u", pos->offset,
		    k->epoch, c->epoch);
	if ((k->h.size - sizeof(*k)) % 16)
		say(c, "the chunk at byte %" PRIu64 " has half a pair of lost events", pos->offset);
	c->in_chunk = true;
	c->frames++;
	c->min_ts = c->max_ts = 0;
	c->said_min = k->min_ts;
	c->said_max = k->max_ts;
	c->epoch = k->epoch;
	c->offset = pos->offset;
}

static struct payload *payload_of(struct check *c, const struct cw_blob *b)
{
	uint64_t key = (1ull << 63) | (uint64_t)b->kind << 32 | b->module_id;
	struct slot *slot = slot_of(&c->payload_index, key);
	struct payload *bigger;

	if (slot && slot->there)
		return &c->payloads[slot->where];
	bigger = slot ? realloc(c->payloads, (c->npayloads + 1) * sizeof(*bigger)) : NULL;
	if (!bigger) {
		c->no_memory = true;
		return NULL;
	}
	slot->there = true;
	slot->where = c->npayloads;
	c->payloads = bigger;
	bigger += c->npayloads++;
	*bigger = (struct payload){b->module_id, b->kind, b->total, 0};
	return bigger;
}

/* Pieces come in order; a whole payload may come again in another epoch. */
static void check_blob(struct check *c, const struct cw_blob *b, const struct cw_pos *pos)
{
	struct payload *p = payload_of(c, b);
	uint64_t n = b->h.size - sizeof(*b);

	if (!p)
		return;
	if (p->next == p->total && b->offset == 0) {
		p->next = 0;
		p->total = b->total;
	}
	if (b->offset != p->next || b->total != p->total || n > p->total - p->next)
		say(c,
		    "the payload piece of module %u in the frame at byte %" PRIu64
		    " begins at %" PRIu64 " of %" PRIu64 " where %" PRIu64 " of %" PRIu64
		    " was expected",
		    b->module_id, pos->offset, (uint64_t)b->offset, (uint64_t)b->total, p->next,
		    p->total);
	p->next = b->offset + n <= p->total ? b->offset + n : p->total;
}

static void add_plan_piece(struct check *c, const struct cw_plan_text *t)
{
	size_t n = cw_tail_strlen(&t->h, t->yaml);
	char *bigger;

	if (t->piece == 0)
		c->plan_size = 0;
	if (c->plan_size > MAX_PLAN)
		return; /* refused as a whole when its last piece comes */
	bigger = realloc(c->plan, c->plan_size + n + 1);
	if (!bigger) {
		c->no_memory = true;
		return;
	}
	c->plan = bigger;
	memcpy(bigger + c->plan_size, t->yaml, n);
	c->plan_size += n;
}

static void read_plan(struct check *c, const struct cw_pos *pos)
{
	char err[CW_PLAN_ERR];
	struct cw_plan *p;

	if (c->plan && cw_plan_from_yaml(&p, c->plan, c->plan_size, "the plan", err))
		say(c, "the plan in the frame at byte %" PRIu64 " cannot be read: %s", pos->offset,
		    err);
	else if (c->plan)
		cw_plan_free(p);
}

static void check_plan(struct check *c, const struct cw_plan_text *t, const struct cw_pos *pos)
{
	if (t->piece == 0)
		c->plan_next = 0;
	if (t->piece != c->plan_next || t->piece >= t->pieces)
		say(c, "piece %u of %u of the plan stands in the frame at byte %" PRIu64, t->piece,
		    t->pieces, pos->offset);
	c->plan_next = t->piece + 1;
	c->plan_pieces = t->pieces;
	add_plan_piece(c, t);
	if (c->plan_next == c->plan_pieces)
		read_plan(c, pos);
}

static void check_lost(struct check *c, const struct cw_lost *l, const struct cw_pos *pos)
{
	if ((!l->count && l->reason != CW_LOST_DETACHED) || l->end_ts < l->h.ts)
		say(c,
		    "a record in the frame at byte %" PRIu64 " says that %" PRIu64
		    " events were lost from %" PRIu64 " to %" PRIu64,
		    pos->offset, (uint64_t)l->count, (uint64_t)l->h.ts, (uint64_t)l->end_ts);
	if (l->kind >= CW_USER_TYPE_MIN)
		return;
	c->lost[l->kind] += l->count;
	if (l->reason >= CW_LOST_OVERLOAD)
		c->dropped[l->kind] += l->count;
}

static void note_references(struct check *c, const struct cw_rec *rec, const struct cw_pos *pos)
{
	switch (rec->type) {
	case CW_PROBE_ENTRY:
		refer(c, REF_PROBE, ((const struct cw_probe_entry *)rec)->probe_id + 1ull, pos);
		refer(c, REF_STACK, ((const struct cw_probe_entry *)rec)->stack, pos);
		break;
	case CW_PROBE_RETURN:
		refer(c, REF_PROBE, ((const struct cw_probe_return *)rec)->probe_id + 1ull, pos);
		break;
	case CW_SCHED_BLOCK:
		refer(c, REF_STACK, ((const struct cw_sched_block *)rec)->ustack, pos);
		refer(c, REF_STACK, ((const struct cw_sched_block *)rec)->kstack, pos);
		refer(c, REF_FILE, ((const struct cw_sched_block *)rec)->file, pos);
		break;
	case CW_SCHED_WAKING:
		refer(c, REF_STACK, ((const struct cw_sched_waking *)rec)->ustack, pos);
		break;
	case CW_MAP:
		refer(c, REF_MODULE, ((const struct cw_map *)rec)->module_id, pos);
		break;
	case CW_PROBE:
		refer(c, REF_MODULE, ((const struct cw_probe *)rec)->module_id, pos);
		define(c, REF_PROBE, ((const struct cw_probe *)rec)->probe_id + 1ull);
		break;
	case CW_BLOB:
		refer(c, REF_MODULE, ((const struct cw_blob *)rec)->module_id, pos);
		break;
	case CW_MODULE:
		define(c, REF_MODULE, ((const struct cw_module *)rec)->module_id);
		break;
	case CW_STACK:
		define(c, REF_STACK, ((const struct cw_stack *)rec)->id);
		break;
	case CW_FILE:
		define(c, REF_FILE, ((const struct cw_file *)rec)->id);
		break;
	}
}

static void note_counter(struct check *c, const struct cw_counter *k)
{
	if (k->kind >= CW_USER_TYPE_MIN)
		return;
	c->counted[k->kind] = true;
	c->emitted[k->kind] += k->emitted;
	c->emitted_lost[k->kind] += k->lost;
}

static void check_record(struct check *c, const struct cw_rec *rec, const struct cw_pos *pos)
{
	const struct cw_type *t = cw_type_by_id(rec->type);

	c->records++;
	if (t && t->class == CW_CLASS_EVENT) {
		c->events++;
		if (!c->min_ts || rec->ts < c->min_ts)
			c->min_ts = rec->ts;
		if (rec->ts > c->max_ts)
			c->max_ts = rec->ts;
	}
	if (rec->type < CW_USER_TYPE_MIN)
		c->received[rec->type]++;
	note_references(c, rec, pos);
	if (rec->type == CW_CHUNK)
		begin_chunk(c, (const struct cw_chunk *)rec, pos);
	else if (rec->type == CW_BLOB)
		check_blob(c, (const struct cw_blob *)rec, pos);
	else if (rec->type == CW_PLAN_TEXT)
		check_plan(c, (const struct cw_plan_text *)rec, pos);
	else if (rec->type == CW_LOST)
		check_lost(c, (const struct cw_lost *)rec, pos);
	else if (rec->type == CW_COUNTER)
		note_counter(c, (const struct cw_counter *)rec);
}

/* ---- at the end -------------------------------------------------------------------------------
 */

static void say_missing(struct check *c, enum ref kind)
{
	const struct set *s = &c->refs[kind];
	size_t missing = 0;

	for (size_t i = 0; i < s->room; i++) {
		const struct slot *slot = &s->slots[i];
		char id[24];

		if (!slot->refs || slot->there || missing++ >= MAX_SAID)
			continue;
		if (kind == REF_STACK || kind == REF_FILE)
			snprintf(id, sizeof(id), "0x%" PRIx64, slot->key);
		else
			snprintf(id, sizeof(id), "%" PRIu64, slot->key - (kind == REF_PROBE));
		say(c,
		    "%s %s is not in the file; references to it: %u, the first in the frame at "
		    "byte %" PRIu64,
		    ref_names[kind], id, slot->refs, slot->where);
	}
	if (missing > MAX_SAID)
		say(c, "%zu more %ss are referred to but are not in the file", missing - MAX_SAID,
		    ref_names[kind]);
}

static void say_unfinished(struct check *c)
{
	for (size_t i = 0; i < c->npayloads; i++)
		if (c->payloads[i].next != c->payloads[i].total)
			say(c,
			    "the payload of module %u, kind %u, has %" PRIu64 " of %" PRIu64
			    " bytes",
			    c->payloads[i].module_id, c->payloads[i].kind, c->payloads[i].next,
			    c->payloads[i].total);
	if (c->plan_next != c->plan_pieces)
		say(c, "the plan has %u of %u pieces", c->plan_next, c->plan_pieces);
}

/* Nothing is lost silently: what the BPF programs counted is in the file or said to be lost. */
static void say_counts(struct check *c)
{
	for (unsigned kind = 0; kind < CW_USER_TYPE_MIN; kind++) {
		const struct cw_type *t = cw_type_by_id(kind);

		if (!c->counted[kind] || !t || t->class != CW_CLASS_EVENT)
			continue;
		if (c->emitted[kind] == c->received[kind] + c->dropped[kind])
			continue;
		say(c,
		    "%" PRIu64 " records of type %s were emitted, but %" PRIu64 " are in the file",
		    c->emitted[kind], t->name, c->received[kind]);
	}
}

static void say_problems(struct check *c)
{
	for (size_t i = 0; i < cw_reader_nproblems(c->r); i++) {
		const struct cw_problem *p = cw_reader_problem(c->r, i);
		char range[80] = "";

		if (p->lost_data && p->to_ts == UINT64_MAX)
			snprintf(range, sizeof(range), " (events from %" PRIu64 " on are missing)",
				 p->from_ts);
		else if (p->lost_data)
			snprintf(range, sizeof(range),
				 " (events from %" PRIu64 " to %" PRIu64 " are missing)",
				 p->from_ts, p->to_ts);
		say(c, "%s%s", p->text, range);
	}
}

static void sum_up(struct check *c)
{
	uint64_t unknown = cw_reader_unknown_records(c->r);
	uint64_t lost = 0;

	for (unsigned kind = 0; kind < CW_USER_TYPE_MIN; kind++)
		lost += c->lost[kind];
	cw_print_safe(c->out, c->name);
	fprintf(c->out,
		": format version %s, %" PRIu64 " frames, %" PRIu64 " records, %" PRIu64
		" events, ",
		cw_reader_meta(c->r, "format_version") ? cw_reader_meta(c->r, "format_version")
						       : "?",
		c->frames, c->records, c->events);
	if (lost)
		fprintf(c->out, "%" PRIu64 " events said to be lost, ", lost);
	if (unknown)
		fprintf(c->out, "%" PRIu64 " records of unknown types, ", unknown);
	if (cw_reader_unknown_fields(c->r))
		fprintf(c->out, "%zu unknown fields, ", cw_reader_unknown_fields(c->r));
	if (c->wrong)
		fprintf(c->out, "%ld problem%s\n", c->wrong, c->wrong == 1 ? "" : "s");
	else
		fputs("nothing wrong\n", c->out);
}

static void release(struct check *c)
{
	for (int i = 0; i < NREFS; i++)
		free(c->refs[i].slots);
	free(c->plan);
	free(c->payload_index.slots);
	free(c->payloads);
	free(c);
}

long cw_validate(struct cw_reader *r, const char *name, FILE *out)
{
	struct check *c = calloc(1, sizeof(*c));
	const struct cw_rec *rec;
	struct cw_pos pos;
	long ret;

	if (!c)
		return -ENOMEM;
	c->r = r;
	c->name = name;
	c->out = out;
	while ((ret = cw_reader_next(r, &rec, &pos)) > 0)
		check_record(c, rec, &pos);
	end_chunk(c);
	say_problems(c);
	for (int kind = 0; kind < NREFS; kind++)
		say_missing(c, kind);
	say_unfinished(c);
	if (cw_reader_clean_end(r) && !cw_reader_nproblems(r))
		say_counts(c);
	if (c->no_memory)
		ret = -ENOMEM;
	sum_up(c);
	if (ret >= 0)
		ret = c->wrong;
	release(c);
	return ret;
}
