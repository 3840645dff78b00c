/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recording loop. Records pass through undecoded: only headers are looked at, and the few types
 * that say which modules and processes must be described. Must not know how programs are attached.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "clock.h"
#include "drain.h"
#include "maxrate.h"
#include "overwrite.h"
#include "resolve.h"
#include "rings.h"
#include "rotate.h"
#include "slowcalls.h"
#include "tracked.h"

#define TICK_MS       20
#define POLL_NS       100000000ull
#define EMBED_NS      1000000000ull
#define EPOCH_BYTES   (64ull << 20)
#define PLAN_PIECE    60000
#define CARRY_NS      50000000ull /* the rings may never be empty: others wait, too */
#define ROUND         1024 /* records between two looks at the clock and the size of the file */
#define REST_ROUNDS   100
#define REST_PAUSE_NS 5000000l
#define OPEN_CALLS    4096u

enum { ON_RING, ON_SIGNAL, ON_EXIT, ON_OUTPUT, ON_USER };

struct cw_drain {
	struct cw_drain_setup s;
	struct cw_rings *rings;
	struct cw_tracked *tracked;
	struct cw_rotation rotation;
	struct cw_slowcalls *slow;
	enum { KEEP, WANTED, COMING } kept; /* what becomes of the last seconds in memory */
	uint64_t not_before;                /* when they may be wanted again because of a call */
	int epoll;
	uint64_t counted;               /* calls of the last function */
	uint64_t received, thrown_away; /* records out of the rings */
	uint64_t start, next_poll, next_embed;
	uint64_t pause_at;         /* of what is carried over now */
	uint64_t reached;          /* time of the last record */
	size_t running;            /* processes that are waited for */
	uint32_t open[OPEN_CALLS]; /* of the function that is counted, by thread id */
	bool enough;               /* what comes now is thrown away */
	bool full;                 /* for the file has its size */
	bool paused;               /* there is more in the rings */
};

static bool is_full(const struct cw_drain *d)
{
	return cw_segments_full(d->s.segments, cw_rings_waiting(d->rings));
}

/*
 * One more call that is over, when it has a return and its entry is recorded, too: the return probe
 * is there a moment before the other.
 */
static void count_call(struct cw_drain *d, uint32_t probe, uint32_t tid, bool returned)
{
	const struct cw_points *p = d->s.points;
	uint32_t *open = &d->open[tid % OPEN_CALLS];

	if (!d->s.max_events || probe >= p->n || !p->at[probe].last)
		return;
	if (!returned && p->at[probe].ret) {
		++*open;
		return;
	}
	if (returned && !*open)
		return;
	*open -= returned;
	if (++d->counted >= d->s.max_events)
		d->enough = true;
}

static void want_kept(struct cw_drain *d, uint64_t ts)
{
	d->kept = WANTED;
	cw_flight_want(d->s.segments->flight, ts);
}

static void follow_record(struct cw_drain *d, const struct cw_rec *rec)
{
	const struct cw_probe_entry *entry;
	const struct cw_probe_return *ret;

	switch (rec->type) {
	case CW_STACK:
		cw_modules_note_stack(d->s.modules, (const struct cw_stack *)rec);
		break;
	case CW_STACK_REGS:
		cw_modules_note_saved(d->s.modules, (const struct cw_stack_regs *)rec);
		break;
	case CW_THREAD:
	case CW_FORK:
	case CW_EXEC:
	case CW_EXIT:
		cw_tracked_record(d->tracked, rec);
		break;
	case CW_PROBE_ENTRY:
		entry = (const void *)rec;
		if (entry->probe_id < d->s.points->n)
			d->s.points->at[entry->probe_id].called = true;
		count_call(d, entry->probe_id, entry->tid, false);
		if (d->slow)
			cw_slowcalls_entry(d->slow, entry);
		break;
	case CW_PROBE_RETURN:
		ret = (const void *)rec;
		count_call(d, ret->probe_id, ret->tid, true);
		if (d->slow && cw_slowcalls_return(d->slow, ret) && rec->ts >= d->not_before)
			want_kept(d, rec->ts);
		break;
	}
}

/*
 * Is it time for signals, the clock and mappings? And full rings are a good part of a file: do not
 * carry all of it over at once.
 */
static bool must_pause(const struct cw_drain *d)
{
	if (cw_clock_ns(CLOCK_MONOTONIC) >= d->pause_at)
		return true;
	return !d->enough && d->s.segments->o->max_bytes && !d->rotation.until && is_full(d);
}

static int on_record(void *arg, const struct cw_rec *rec)
{
	struct cw_drain *d = arg;
	int rc;

	d->reached = rec->ts;
	d->received++;
	if (d->enough) {
		d->thrown_away++;
		cw_losses_discard(d->s.losses, rec->type, rec->cpu);
	} else {
		rc = cw_rotate_append(&d->rotation, rec);
		if (rc)
			return rc;
		follow_record(d, rec);
	}
	d->paused = d->received % ROUND == 0 && must_pause(d);
	return d->paused ? -EAGAIN : 0;
}

static int watch_fd(struct cw_drain *d, int fd, uint32_t what, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u32 = what};

	return fd < 0 ? 0 : epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int watch_rings(struct cw_drain *d, const int *rings, size_t n)
{
	size_t i;
	int rc = 0;

	/* Edge-triggered: while a ring is never quite empty a level would never let us sleep. */
	for (i = 0; !rc && i < n; i++)
		rc = watch_fd(d, rings[i], ON_RING, EPOLLIN | EPOLLET);
	return rc;
}

static int watch_processes(struct cw_drain *d)
{
	const struct cw_target *t = d->s.target;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < t->nprocs; i++) {
		rc = watch_fd(d, t->procs[i].fd, ON_EXIT, EPOLLIN | EPOLLONESHOT);
		d->running += t->procs[i].fd >= 0;
	}
	return rc;
}

struct cw_drain *cw_drain_new(const struct cw_drain_setup *s, char *err)
{
	struct cw_drain *d = calloc(1, sizeof(*d));
	uint64_t bytes;
	size_t n;
	const int *rings = cw_probes_rings(s->probes, &n, &bytes);
	char text[256];
	int rc;

	if (!d)
		return NULL;
	d->s = *s;
	d->rotation.s = &d->s;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	d->rings = cw_rings_new(rings, n, bytes);
	if (d->epoll < 0 || !d->rings || watch_rings(d, rings, n) ||
	    watch_fd(d, s->signal_fd, ON_SIGNAL, EPOLLIN) || watch_processes(d)) {
		snprintf(err, CW_ERR, "cannot map the ring buffers: %s", strerror(errno));
		cw_drain_free(d);
		return NULL;
	}
	/* A pipe tells when its reader is gone; a file does not take part in this. */
	if (!s->segments->flight)
		watch_fd(d, s->segments->out.fd, ON_OUTPUT, 0);
	watch_fd(d, s->user_fd, ON_USER, EPOLLIN);
	if (s->flight_when) {
		d->slow = cw_slowcalls_new(s->points, s->flight_when, s->flight_module,
					   s->flight_limit_ns);
		if (!d->slow) {
			cw_drain_free(d);
			return NULL;
		}
	}
	d->tracked = cw_tracked_new(s->modules, s->probes, s->target);
	if (!d->tracked) {
		cw_drain_free(d);
		return NULL;
	}
	rc = cw_modules_watch(s->modules, cw_tracked_keep, d->tracked);
	if (rc) {
		snprintf(text, sizeof(text),
			 "new mappings are not reported by the kernel (%s): they are looked for in "
			 "/proc, and those of processes that end soon are missed",
			 strerror(-rc));
		s->warn(text);
	}
	d->start = cw_clock_ns(CLOCK_MONOTONIC);
	d->next_poll = d->start + POLL_NS;
	d->next_embed = d->start + POLL_NS; /* soon, for files that are soon full */
	return d;
}

int cw_drain_write_plan(struct cw_writer *w, const char *yaml, bool repeated)
{
	size_t len = strlen(yaml), off;
	struct cw_plan_text r = {
		.h = {.type = CW_PLAN_TEXT,
		      .cpu = CW_CPU_NONE,
		      .flags = repeated ? CW_REC_REPEATED : 0,
		      .ts = cw_clock_ns(CLOCK_MONOTONIC)},
		.pieces = (len + PLAN_PIECE - 1) / PLAN_PIECE,
	};
	int rc = 0;

	for (off = 0; !rc && off < len; off += PLAN_PIECE, r.piece++)
		rc = cw_writer_append_tail(w, &r.h, sizeof(r), yaml + off,
					   len - off < PLAN_PIECE ? len - off : PLAN_PIECE);
	return rc;
}

/* What records refer to is written again, so that a damaged part costs nothing behind it. */
static int next_epoch(struct cw_drain *d)
{
	int rc;

	cw_writer_new_epoch(d->s.segments->w);
	cw_probes_next_epoch(d->s.probes);
	rc = cw_modules_repeat(d->s.modules);
	if (!rc)
		rc = cw_points_write(d->s.points, d->s.segments->w, d->s.modules, true);
	if (!rc)
		rc = cw_losses_repeat(d->s.losses);
	return rc ? rc : cw_drain_write_plan(d->s.segments->w, d->s.plan_yaml, true);
}

/* A file that has its size is followed by another, or ends the recording. */
static int check_size(struct cw_drain *d, char *err)
{
	if (d->rotation.until || !is_full(d))
		return 0;
	if (cw_segments_more(d->s.segments)) {
		/* Its symbols come soon, before it can be full. */
		d->next_embed = cw_clock_ns(CLOCK_MONOTONIC) + POLL_NS;
		return cw_rotate_begin(&d->rotation, err);
	}
	d->enough = d->full = true;
	return 0;
}

/*
 * What is kept is wanted: the present piece is closed first, as it holds what happened last. Slow
 * calls that come in a row want nothing more for a whole span.
 */
static int serve_kept(struct cw_drain *d, uint64_t now, char *err)
{
	char text[128];
	int n, rc;

	if (d->kept == WANTED && !d->rotation.until) {
		d->kept = COMING;
		d->not_before = now + d->s.segments->o->flight_ns;
		d->next_embed = now + POLL_NS;
		rc = cw_rotate_begin(&d->rotation, err);
		return rc;
	}
	if (d->kept != COMING || d->rotation.until)
		return 0;
	d->kept = KEEP;
	n = cw_segments_write_kept(d->s.segments, err);
	if (n < 0)
		return n;
	snprintf(text, sizeof(text), "wrote the last %.1f s into %d files; recording goes on",
		 (double)d->s.segments->o->flight_ns / 1e9, n);
	d->s.say(text);
	return 0;
}

static int tick(struct cw_writer *w, uint64_t now)
{
	int rc = w ? cw_writer_tick(w, now) : 0;

	return rc || !w ? rc : cw_writer_error(w);
}

static int periodic(struct cw_drain *d, uint64_t now, char *err)
{
	struct cw_writer_stats st;
	int rc = cw_maxrate_poll(d->s.probes, d->s.losses, d->s.points, d->s.segments->o->max_rate,
				 d->s.warn);

	if (!rc)
		rc = cw_overwrite_poll(d->s.probes, d->s.losses, d->s.points, d->s.warn);
	if (!rc && now >= d->next_poll) {
		d->next_poll = now + POLL_NS;
		rc = cw_losses_poll(d->s.losses);
		if (!rc && !d->paused)
			rc = cw_modules_look_again(d->s.modules, false);
	}
	if (!rc && now >= d->next_embed) {
		d->next_embed = now + EMBED_NS;
		rc = cw_modules_embed(d->s.modules);
		cw_writer_get_stats(d->s.segments->w, &st);
		if (!rc && st.epoch_records_bytes >= EPOCH_BYTES)
			rc = next_epoch(d);
	}
	if (!rc)
		rc = cw_rotate_poll(&d->rotation, now, d->paused ? d->reached : UINT64_MAX, err);
	if (!rc)
		rc = serve_kept(d, now, err);
	if (!rc)
		rc = check_size(d, err);
	if (!rc)
		rc = tick(d->s.segments->old, now);
	return rc ? rc : tick(d->s.segments->w, now);
}

static int carry(struct cw_drain *d)
{
	uint64_t now = cw_clock_ns(CLOCK_MONOTONIC);
	int rc;

	cw_modules_make_room(d->s.modules);
	d->pause_at = now + CARRY_NS;
	d->paused = false;
	rc = cw_rings_take(d->rings, on_record, d);
	if (!rc) /* what happened before has gone by */
		cw_modules_reach(d->s.modules, now);
	cw_tracked_settle(d->tracked);
	cw_probes_text_done(d->s.probes);
	return rc < 0 && !d->paused ? rc : 0;
}

static void ask_for_kept(struct cw_drain *d)
{
	uint64_t n;

	if (read(d->s.user_fd, &n, sizeof(n)) == sizeof(n))
		want_kept(d, cw_clock_ns(CLOCK_MONOTONIC));
}

int cw_drain_run(struct cw_drain *d, char *err)
{
	struct epoll_event ev[4];
	uint64_t now;
	bool all_gone = false; /* those named; their children may live on */
	int i, n, rc, reason = 0;

	while (!reason) {
		n = epoll_wait(d->epoll, ev, 4, d->paused ? 0 : TICK_MS);
		for (i = 0; i < n; i++) {
			if (ev[i].data.u32 == ON_SIGNAL)
				reason = CW_END_SIGNAL;
			else if (ev[i].data.u32 == ON_OUTPUT)
				return -EPIPE;
			else if (ev[i].data.u32 == ON_USER)
				ask_for_kept(d);
			else if (ev[i].data.u32 == ON_EXIT)
				all_gone = !--d->running;
		}
		rc = carry(d);
		now = cw_clock_ns(CLOCK_MONOTONIC);
		if (!rc)
			rc = periodic(d, now, err);
		if (rc)
			return rc;
		if (!reason && all_gone &&
		    !(d->s.target->follow && cw_probes_any_process(d->s.probes)))
			reason = CW_END_TARGET;
		if (d->enough)
			reason = d->full ? CW_END_SIZE : CW_END_EVENTS;
		else if (!reason && d->s.duration_ns && now - d->start >= d->s.duration_ns)
			reason = CW_END_DURATION;
	}
	if (d->s.segments->flight) /* what comes now takes its time, too */
		cw_flight_want(d->s.segments->flight, now);
	return reason;
}

/* Records emitted, whatever became of them after. */
static uint64_t all_emitted(struct cw_drain *d)
{
	uint64_t n = d->thrown_away;
	uint32_t kind;

	for (kind = 0; kind < CW_KINDS; kind++)
		n += cw_losses_emitted(d->s.losses, kind);
	return n;
}

/* A program that was interrupted in the middle of a record holds up those behind it. */
int cw_drain_rest(struct cw_drain *d, char *err)
{
	const struct timespec pause = {.tv_nsec = REST_PAUSE_NS};
	int rc, i;

	for (i = 0; i < REST_ROUNDS; i += !d->paused) {
		rc = carry(d);
		if (!rc)
			rc = cw_losses_poll(d->s.losses);
		if (rc)
			return rc;
		if (d->received >= all_emitted(d))
			break;
		if (!d->paused)
			nanosleep(&pause, NULL);
	}
	rc = cw_rotate_poll(&d->rotation, UINT64_MAX, UINT64_MAX, err);
	if (!rc)
		rc = cw_modules_drain_last(d->s.modules);
	if (!rc)
		rc = cw_modules_embed(d->s.modules);
	return rc ? rc : cw_modules_embed_last(d->s.modules);
}

void cw_drain_free(struct cw_drain *d)
{
	if (!d)
		return;
	cw_rings_free(d->rings);
	if (d->epoll >= 0)
		close(d->epoll);
	cw_tracked_free(d->tracked);
	cw_slowcalls_free(d->slow);
	free(d);
}
