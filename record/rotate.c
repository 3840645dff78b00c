/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Going on in the next file. The BPF programs hand references over anew in a new epoch. A program
 * that took its time stamp before may have seen the old epoch or the new one: its event goes to the
 * old file, and all references of that time go to both. Those that are younger, as they are when
 * this program did not run for a while, would only be far ahead of what the next file begins with.
 */
#include "clock.h"
#include "rotate.h"

#define OVERLAP_NS 150000000ull /* more than a program takes from time stamp to record */

int cw_rotate_begin(struct cw_rotation *r, char *err)
{
	const struct cw_drain_setup *s = r->s;
	int rc = cw_modules_drain(s->modules); /* what is mapped by now is known to both files */

	if (!rc)
		rc = cw_modules_embed(s->modules);
	if (!rc)
		rc = cw_losses_poll(s->losses);
	if (!rc)
		rc = cw_segments_next(s->segments, err);
	if (rc)
		return rc;
	cw_probes_next_epoch(s->probes);
	r->cut = cw_clock_ns(CLOCK_MONOTONIC);
	r->until = r->cut + OVERLAP_NS;
	cw_losses_next_file(s->losses, s->segments->w);
	rc = cw_drain_write_plan(s->segments->w, s->plan_yaml, false);
	if (!rc)
		rc = cw_modules_restart(s->modules, s->segments->w);
	if (!rc)
		rc = cw_points_write(s->points, s->segments->w, s->modules, false);
	return rc ? rc : cw_losses_repeat(s->losses);
}

int cw_rotate_poll(struct cw_rotation *r, uint64_t now, uint64_t reached, char *err)
{
	int rc;

	if (!r->until || now < r->until || (reached < r->until && now != UINT64_MAX))
		return 0;
	r->until = 0;
	rc = cw_losses_end_file(r->s->losses, r->s->segments->old);
	return rc ? rc : cw_segments_finish_old(r->s->segments, err);
}

int cw_rotate_append(struct cw_rotation *r, const struct cw_rec *rec)
{
	struct cw_segments *seg = r->s->segments;
	const struct cw_type *type = r->until ? cw_type_by_id(rec->type) : NULL;
	bool ref = type && type->class == CW_CLASS_REF;
	bool old = type && rec->ts < r->cut + (ref ? OVERLAP_NS : 0);
	bool present = !old || ref;
	int rc = old ? cw_writer_append(seg->old, rec) : 0;

	if (!rc && present)
		rc = cw_writer_append(seg->w, rec);
	cw_losses_wrote(r->s->losses, rec, old, present);
	return rc;
}
