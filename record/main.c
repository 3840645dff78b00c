/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * callweave-record: the steps of a recording, in order. Every step that fails has put one sentence
 * into err; only this file prints it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "capture.h"
#include "check.h"
#include "closing.h"
#include "config.h"
#include "drain.h"
#include "exec.h"
#include "findsym.h"
#include "losses.h"
#include "interrupt.h"
#include "modules.h"
#include "options.h"
#include "overwrite.h"
#include "points.h"
#include "privilege.h"
#include "probes.h"
#include "resolve.h"
#include "say.h"
#include "segments.h"
#include "stdfds.h"
#include "target.h"

struct recording {
	int argc;
	char **argv;
	struct cw_options opt;
	struct cw_target target;
	struct cw_points points;
	struct cw_probes *probes;
	struct cw_segments segments;
	struct cw_modules *modules;
	struct cw_losses *losses;
	struct cw_drain *drain;
	char *plan_yaml;
	int signal_fd, user_fd;
	int reason; /* enum cw_end_reason, or a negative errno */
	char err[CW_ERR];
};

static void warn(const char *text)
{
	cw_say("warning: %s", text);
}

static void say(const char *text)
{
	cw_say("%s", text);
}

static int step_signals(struct recording *r)
{
	r->signal_fd = cw_interrupt_init();
	if (r->signal_fd >= 0 && r->opt.flight_ns)
		r->user_fd = cw_interrupt_user();
	if (r->signal_fd < 0)
		return r->signal_fd;
	return r->opt.flight_ns && r->user_fd < 0 ? r->user_fd : 0;
}

static int step_privilege(struct recording *r)
{
	int rc = cw_check_kernel(r->err);

	return rc ? rc : cw_check_privilege(true, r->err);
}

static int step_target(struct recording *r)
{
	int rc = cw_target_open(&r->target, &r->opt, r->err);

	if (r->target.child)
		cw_interrupt_child(cw_child_pid(r->target.child));
	return rc;
}

static int step_points(struct recording *r)
{
	return cw_points_find(&r->points, r->opt.plan, &r->target, r->opt.force_return, say, warn,
			      r->err);
}

static int step_output(struct recording *r)
{
	return cw_segments_open(&r->segments, &r->opt, r->argc, r->argv, r->err);
}

static int step_load(struct recording *r)
{
	return cw_probes_load(&r->probes, &r->opt, &r->target, &r->points, r->err);
}

static int step_writer(struct recording *r)
{
	int rc = cw_segments_begin(&r->segments, r->err);

	if (rc)
		return rc;
	r->plan_yaml = cw_plan_to_yaml(r->opt.plan);
	r->modules = cw_modules_new(r->segments.w);
	r->losses = cw_losses_new(r->probes, r->segments.w);
	if (!r->plan_yaml || !r->modules || !r->losses)
		return -ENOMEM;
	cw_modules_set_embed(r->modules, r->opt.embed, r->opt.embed_max);
	cw_modules_on_text(r->modules, cw_probes_text, r->probes);
	if (r->opt.plan->attribution)
		cw_modules_know_kernel(r->modules);
	if (r->opt.segments || r->opt.flight_ns) {
		cw_modules_keep_files(r->modules);
		rc = cw_losses_count_files(r->losses);
	}
	if (!rc)
		rc = cw_drain_write_plan(r->segments.w, r->plan_yaml, false);
	return rc ? rc : cw_points_write(&r->points, r->segments.w, r->modules, false);
}

static void want_pid(void *arg, uint32_t pid)
{
	cw_probes_want(arg, pid);
}

/* Wanted processes are taken in once the programs run that notice their new threads. */
static int step_attach(struct recording *r)
{
	size_t i;
	int rc;

	for (i = 0; i < r->target.nprocs; i++)
		cw_probes_want(r->probes, r->target.procs[i].pid);
	if (r->target.by_file)
		cw_target_scan(&r->target, want_pid, r->probes);
	cw_overwrite_watch(&r->points);
	rc = cw_probes_attach(r->probes, &r->target, &r->points, warn, r->err);
	if (!rc) {
		rc = cw_probes_seed(r->probes);
		if (rc)
			snprintf(r->err, CW_ERR,
				 "cannot list threads by a BPF iterator: %s; kernel 5.8 or "
				 "newer is needed",
				 strerror(-rc));
	}
	return rc;
}

static void say_recording(const struct recording *r)
{
	if (r->opt.flight_ns)
		cw_say("recording the last %.1f s into memory; kill -USR1 %d writes them; stop "
		       "with Ctrl-C",
		       (double)r->opt.flight_ns / 1e9, (int)getpid());
	else
		cw_say("recording into %s; stop with Ctrl-C", r->segments.path);
}

static int step_run(struct recording *r)
{
	struct cw_drain_setup s = {
		.probes = r->probes,
		.segments = &r->segments,
		.modules = r->modules,
		.points = &r->points,
		.losses = r->losses,
		.target = &r->target,
		.plan_yaml = r->plan_yaml,
		.max_events = r->opt.plan->filters.max_events,
		.duration_ns = r->opt.plan->filters.duration_ns,
		.signal_fd = r->signal_fd,
		.user_fd = r->user_fd,
		.flight_when = r->opt.flight_when,
		.flight_module = r->opt.flight_module,
		.flight_limit_ns = r->opt.flight_limit_ns,
		.say = say,
		.warn = warn,
	};
	int rc;

	r->drain = cw_drain_new(&s, r->err);
	if (!r->drain)
		return -ENOMEM;
	rc = cw_drop_privileges(r->target.child, r->opt.segments || r->opt.flight_ns, r->err);
	if (rc)
		return rc;
	rc = r->target.child ? cw_child_go(r->target.child, r->err) : 0;
	if (rc)
		return rc;
	if (!r->opt.quiet && strcmp(r->opt.output, "-") != 0)
		say_recording(r);
	r->reason = cw_drain_run(r->drain, r->err);
	return 0;
}

/* Everything after the loop. The file is closed properly whatever happened before. */
static int step_finish(struct recording *r)
{
	char name[512];
	int rc = r->reason < 0 ? r->reason : 0;
	struct cw_writer_stats st;

	cw_interrupt_next_kills();
	cw_probes_stop(r->probes);
	if (!rc) /* the target lives */
		rc = cw_modules_look_again(r->modules, true);
	cw_child_stop(r->target.child);
	cw_interrupt_child(0);
	if (!rc)
		rc = cw_drain_rest(r->drain, r->err);
	if (!rc)
		rc = cw_losses_finish(r->losses);
	if (!rc)
		rc = cw_segments_finish(&r->segments, r->reason, r->err);
	if (!rc && r->segments.flight && cw_segments_write_kept(&r->segments, r->err) < 0)
		rc = -EIO;
	st = cw_segments_stats(&r->segments);
	if (r->opt.quiet || rc == -EPIPE)
		return rc;
	cw_closing_line(cw_segments_name(&r->segments, name, sizeof(name)), r->losses, r->modules,
			&st);
	cw_closing_uncalled(&r->points, r->modules);
	if (!r->opt.stack_bytes)
		cw_closing_stacks(r->modules);
	cw_closing_left_out(r->modules, r->opt.embed_max);
	return rc;
}

/* Target first: what is wrong with it is said before anything is created. */
static int (*const steps[])(struct recording *r) = {
	step_privilege, step_signals, step_target, step_points, step_output,
	step_load,      step_writer,  step_attach, step_run,    step_finish};

static void cleanup(struct recording *r, bool failed)
{
	cw_drain_free(r->drain);
	cw_losses_free(r->losses);
	cw_modules_free(r->modules);
	cw_probes_free(r->probes);
	cw_segments_close(&r->segments, failed && !r->drain);
	cw_points_free(&r->points);
	cw_target_close(&r->target);
	free(r->plan_yaml);
	cw_options_free(&r->opt);
}

/* Steps that write leave it to the writer to know what went wrong. */
static const char *failure(struct recording *r, int rc)
{
	int werr = r->segments.w ? cw_writer_error(r->segments.w) : 0;

	if (!werr && r->segments.old)
		werr = cw_writer_error(r->segments.old);
	if (werr || (!*r->err && r->segments.w))
		snprintf(r->err, CW_ERR, "writing %s failed: %s", r->segments.path,
			 cw_output_reason(werr ? werr : rc));
	if (!*r->err)
		snprintf(r->err, CW_ERR, "cannot record: %s", strerror(-rc));
	return r->err;
}

/* Who reads along has seen enough: that is no failure. */
static bool reader_left(const struct recording *r, int rc)
{
	return rc == -EPIPE && r->segments.path && !strcmp(r->segments.path, "-");
}

int main(int argc, char **argv)
{
	struct recording r = {.argc = argc, .argv = argv, .signal_fd = -1, .user_fd = -1};
	size_t i;
	int rc = 0;

	cw_keep_std_fds();
	r.target.cgroup_fd = -1;
	cw_options_parse(&r.opt, argc, argv);
	if (r.opt.check)
		return cw_check_print();
	if (r.opt.check_config)
		return cw_config_check(r.opt.check_config);
	if (r.opt.find_symbol)
		return cw_find_symbol(&r.opt);
	for (i = 0; !rc && i < sizeof(steps) / sizeof(*steps); i++)
		rc = steps[i](&r);
	if (reader_left(&r, rc)) {
		say("the reader of the capture has gone: stopped recording");
		rc = 0;
	} else if (rc) {
		cw_say("%s", failure(&r, rc));
	}
	cleanup(&r, rc != 0);
	return rc ? 1 : 0;
}
