/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the order of the passes and hands events to them. Must not know what any of them does. */
#include <stdio.h>
#include "passes.h"

extern const struct cw_pass cw_pass_loss, cw_pass_identity, cw_pass_images, cw_pass_stacks,
	cw_pass_files, cw_pass_probes, cw_pass_state, cw_pass_calls, cw_pass_stitch;

/* Each pass relies on those before it having seen the record. */
const struct cw_pass *const cw_pass_table[] = {
	&cw_pass_loss,   &cw_pass_identity, &cw_pass_images, &cw_pass_stacks, &cw_pass_files,
	&cw_pass_probes, &cw_pass_state,    &cw_pass_calls,  &cw_pass_stitch, NULL,
};

#define WATERMARK_EVERY_NS 1000000000ull

const char *cw_passes_versions(void)
{
	static char text[256];
	size_t n = 0;

	for (const struct cw_pass *const *p = cw_pass_table; *p; p++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s.%u", n ? " " : "",
				      (*p)->name, (*p)->version);
	return text;
}

int cw_passes_begin(struct cw_trace *t)
{
	int err = 0;

	for (const struct cw_pass *const *p = cw_pass_table; *p && !err; p++)
		if ((*p)->begin)
			err = (*p)->begin(t);
	return err;
}

static void note_time(struct cw_trace *t, uint64_t ts)
{
	uint64_t last = t->last_ts;

	if (!t->any_event)
		t->first_ts = ts;
	t->any_event = true;
	if (ts <= last)
		return;
	t->last_ts = ts;
	if (ts / WATERMARK_EVERY_NS == last / WATERMARK_EVERY_NS)
		return;
	for (const struct cw_pass *const *p = cw_pass_table; *p; p++)
		if ((*p)->watermark)
			(*p)->watermark(t, ts);
}

int cw_passes_event(struct cw_trace *t, const struct cw_rec *rec)
{
	uint64_t bit;
	int err = 0;

	if (rec->type >= 64)
		return 0;
	bit = CW_TYPE_BIT(rec->type);
	if (bit & CW_EVENT_TYPES) {
		t->totals.events++;
		note_time(t, rec->ts);
	}
	t->totals.by_type[rec->type]++;
	for (const struct cw_pass *const *p = cw_pass_table; *p && !err; p++)
		if ((*p)->types & bit)
			err = (*p)->event(t, rec);
	return err;
}

int cw_passes_call_begin(struct cw_trace *t, struct cw_task *task, struct cw_call *c)
{
	int err = 0;

	for (const struct cw_pass *const *p = cw_pass_table; *p && !err; p++)
		if ((*p)->call_begin)
			err = (*p)->call_begin(t, task, c);
	return err;
}

void cw_passes_call_end(struct cw_trace *t, struct cw_task *task, struct cw_call *c,
			const char *reason)
{
	for (const struct cw_pass *const *p = cw_pass_table; *p; p++)
		if ((*p)->call_end)
			(*p)->call_end(t, task, c, reason);
}

void cw_passes_task_gone(struct cw_trace *t, struct cw_task *task)
{
	for (const struct cw_pass *const *p = cw_pass_table; *p; p++)
		if ((*p)->task_gone)
			(*p)->task_gone(t, task);
}

int cw_passes_flush(struct cw_trace *t)
{
	int err = 0;

	for (const struct cw_pass *const *p = cw_pass_table; *p && !err; p++)
		if ((*p)->flush)
			err = (*p)->flush(t);
	return err;
}

/* In the order of the table: calls that the end of the capture cuts end chains. */
int cw_passes_finish(struct cw_trace *t)
{
	int err = 0;

	for (const struct cw_pass *const *p = cw_pass_table; *p && !err; p++)
		if ((*p)->finish)
			err = (*p)->finish(t);
	return err ? err : cw_passes_flush(t);
}

/* The other way round: what a pass keeps in others' structs goes before those. */
void cw_passes_free(struct cw_trace *t)
{
	size_t n = 0;

	while (cw_pass_table[n])
		n++;
	while (n--)
		if (cw_pass_table[n]->free)
			cw_pass_table[n]->free(t);
}
