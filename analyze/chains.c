/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns lineage and the rows of paths. Must not know how handoffs are matched. */
#include <stdio.h>
#include <stdlib.h>
#include "chains.h"
#include "loss.h"

#define MAX_LINKS 64u /* stages of a plan that a path is written with */

void cw_link_put(struct cw_link *l)
{
	while (l && !--l->refs) {
		struct cw_link *prev = l->prev;

		free(l);
		l = prev;
	}
}

const char *cw_doubt_text(unsigned doubt, const char *none)
{
	static const char *const names[] = {"ambiguous",   "auto",      "loss",     "capture edge",
					    "missing hop", "unmatched", "no return"};
	static char texts[CW_DOUBT_ALL + 1][96];
	char *text = texts[doubt & CW_DOUBT_ALL];
	size_t n = 0;

	if (!(doubt & CW_DOUBT_ALL))
		return none;
	if (*text)
		return text;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (doubt & 1u << i)
			n += (size_t)snprintf(text + n, sizeof(texts[0]) - n, "%s%s", n ? "+" : "",
					      names[i]);
	return text;
}

/* The links of a path, first one first. Returns how many; *whole when no stage is left out. */
static size_t collect(const struct cw_link *last, uint32_t nstages, const struct cw_link **out,
		      bool *whole)
{
	size_t n = 0;

	for (const struct cw_link *l = last; l && n < MAX_LINKS; l = l->prev)
		out[n++] = l;
	for (size_t i = 0; i < n / 2; i++) {
		const struct cw_link *l = out[i];

		out[i] = out[n - 1 - i];
		out[n - 1 - i] = l;
	}
	*whole = n == nstages;
	return n;
}

static void write_hop(struct cw_trace *t, uint64_t chain_id, uint64_t index, uint64_t edge_id,
		      uint64_t end_ts, const struct cw_parts *work)
{
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_PATH_HOP,
				  !end_ts << 3 | (end_ts && t->attribution ? 0 : 0x1f0));

	w[0] = chain_id;
	w[1] = index;
	w[2] = edge_id;
	w[3] = end_ts;
	memcpy(&w[4], work->ns, sizeof(work->ns));
}

void cw_chain_write(struct cw_trace *t, uint64_t chain_id, const struct cw_link *last,
		    const struct cw_chain_end *end)
{
	uint64_t queue = 0, work = 0, max_queue = 0, max_work = 0, *w;
	const struct cw_link *links[MAX_LINKS];
	uint64_t start_ts = last->src_ts;
	unsigned doubt = end->doubt;
	bool whole;
	size_t n = collect(last, end->nstages, links, &whole);

	for (size_t i = 0; i < n; i++) {
		bool is_last = i + 1 == n;
		uint64_t end_ts = !is_last ? links[i + 1]->src_ts : end->returned ? end->end_ts : 0;
		uint64_t q = links[i]->dst_ts - links[i]->src_ts;
		uint64_t spent = end_ts ? end_ts - links[i]->dst_ts : 0;
		const struct cw_parts *spent_on = is_last ? &end->work : &links[i + 1]->prev_work;

		write_hop(t, chain_id, i, links[i]->edge_id, end_ts, spent_on);
		queue += q;
		work += spent;
		max_queue = q > max_queue ? q : max_queue;
		max_work = spent > max_work ? spent : max_work;
		doubt |= links[i]->doubt;
		doubt |= spent_on->ns[CW_UNKNOWN] ? CW_DOUBT_LOSS : 0;
	}
	if (n)
		start_ts = links[0]->src_ts;
	if (!whole)
		doubt |= CW_DOUBT_MISSING;
	if (cw_loss_touches(t, start_ts, end->seen_ts, CW_SCHED_TYPES | CW_CALL_TYPES))
		doubt |= CW_DOUBT_LOSS;
	w = cw_rows_put(t->rows, CW_ROW_PATH, end->returned ? 0 : 1 << 4 | 1 << 6);
	w[0] = chain_id;
	w[1] = start_ts;
	w[2] = end->returned ? end->end_ts : last->dst_ts;
	w[3] = queue;
	w[4] = work;
	w[5] = max_queue;
	w[6] = max_work;
	w[7] = n;
	w[8] = whole && !end->cut;
	w[9] = cw_word(cw_doubt_text(doubt, ""));
	w[10] = end->last_slice;
	if (t->watch)
		t->watch->chain(t->watch->arg, chain_id, end->last_slice, end->seen_ts);
}
