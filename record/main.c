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
#include "closing.h"
#include "config.h"
#include "drain.h"
#include "exec.h"
#include "findsym.h"
#include "losses.h"
#include "header_keys.h"
#include "interrupt.h"
#include "modules.h"
#include "options.h"
#include "output.h"
#include "points.h"
#include "privilege.h"
#include "probes.h"
#include "resolve.h"
#include "stdfds.h"
#include "target.h"

struct recording {
	int argc;
	char **argv;
	struct cw_options opt;
	struct cw_target target;
	struct cw_points points;
	struct cw_output out;
	struct cw_probes *probes;
	struct cw_writer *writer;
	struct cw_modules *modules;
	struct cw_losses *losses;
	struct cw_drain *drain;
	char *plan_yaml;
	int signal_fd;
	int reason; /* enum cw_end_reason, or a negative errno */
	char err[CW_ERR];
};

static void warn(const char *text)
{
	fprintf(stderr, "callweave-record: warning: %s\n", text);
}

static void say(const char *text)
{
	fprintf(stderr, "callweave-record: %s\n", text);
}

static int step_signals(struct recording *r)
{
	r->signal_fd = cw_interrupt_init();
	return r->signal_fd < 0 ? r->signal_fd : 0;
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
	return cw_output_open(&r->out, r->opt.output, r->err);
}

static int step_load(struct recording *r)
{
	return cw_probes_load(&r->probes, &r->opt, &r->target, &r->points, r->err);
}

static int step_writer(struct recording *r)
{
	struct cw_header_keys *meta = cw_header_keys_new(r->argc, r->argv);
	int rc = meta ? cw_writer_new(&r->writer, r->out.fd, cw_header_keys_kv(meta)) : -ENOMEM;

	cw_header_keys_free(meta);
	if (rc)
		snprintf(r->err, CW_ERR, "writing %s failed: %s", r->opt.output,
			 cw_output_reason(rc));
	r->plan_yaml = cw_plan_to_yaml(r->opt.plan);
	if (rc || !r->plan_yaml)
		return rc ? rc : -ENOMEM;
	r->modules = cw_modules_new(r->writer);
	r->losses = cw_losses_new(r->probes, r->writer);
	if (!r->modules || !r->losses)
		return -ENOMEM;
	cw_modules_on_text(r->modules, cw_probes_text, r->probes);
	rc = cw_drain_write_plan(r->writer, r->plan_yaml, false);
	return rc ? rc : cw_points_write(&r->points, r->writer, r->modules, false);
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

static int step_run(struct recording *r)
{
	struct cw_drain_setup s = {
		.probes = r->probes,
		.writer = r->writer,
		.modules = r->modules,
		.points = &r->points,
		.losses = r->losses,
		.target = &r->target,
		.plan_yaml = r->plan_yaml,
		.max_events = r->opt.plan->filters.max_events,
		.duration_ns = r->opt.plan->filters.duration_ns,
		.signal_fd = r->signal_fd,
		.warn = warn,
	};
	int rc;

	r->drain = cw_drain_new(&s, r->err);
	if (!r->drain)
		return -ENOMEM;
	rc = r->target.child ? cw_child_go(r->target.child, r->err) : 0;
	if (rc)
		return rc;
	if (!r->opt.quiet && strcmp(r->opt.output, "-") != 0)
		fprintf(stderr, "callweave-record: recording into %s; stop with Ctrl-C\n",
			r->opt.output);
	r->reason = cw_drain_run(r->drain);
	return 0;
}

static int append_end(struct recording *r)
{
	static const char *const words[] = {
		[CW_END_SIGNAL] = "stopped by a signal",
		[CW_END_TARGET] = "the target exited",
		[CW_END_DURATION] = "the duration is over",
		[CW_END_EVENTS] = "enough events",
		[CW_END_ERROR] = "an error",
	};
	struct cw_end e = {.h = {.type = CW_END, .cpu = CW_CPU_NONE}};
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	e.h.ts = t.tv_sec * 1000000000ull + t.tv_nsec;
	e.reason = r->reason < 0 ? CW_END_ERROR : r->reason;
	return cw_writer_append_tail(r->writer, &e.h, sizeof(e), words[e.reason],
				     strlen(words[e.reason]));
}

/* Everything after the loop. The file is closed properly whatever happened before. */
static int step_finish(struct recording *r)
{
	int rc = r->reason < 0 ? r->reason : 0;
	struct cw_writer_stats st;

	cw_interrupt_next_kills();
	cw_probes_stop(r->probes);
	cw_child_stop(r->target.child);
	cw_interrupt_child(0);
	if (!rc)
		rc = cw_drain_rest(r->drain);
	if (!rc)
		rc = cw_losses_finish(r->losses);
	if (!rc)
		rc = append_end(r);
	if (!rc)
		rc = cw_writer_finish(r->writer, true);
	cw_writer_get_stats(r->writer, &st);
	if (!rc)
		rc = cw_output_close(&r->out, false);
	if (rc)
		snprintf(r->err, CW_ERR, "writing %s failed: %s", r->opt.output,
			 cw_output_reason(rc));
	if (!r->opt.quiet)
		cw_closing_line(r->opt.output, r->losses, &st);
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
	cw_writer_free(r->writer);
	cw_probes_free(r->probes);
	cw_output_close(&r->out, failed && !r->drain);
	cw_points_free(&r->points);
	cw_target_close(&r->target);
	free(r->plan_yaml);
	cw_options_free(&r->opt);
}

/* Steps that write leave it to the writer to know what went wrong. */
static const char *failure(struct recording *r, int rc)
{
	int werr = r->writer ? cw_writer_error(r->writer) : 0;

	if (werr || (!*r->err && r->writer))
		snprintf(r->err, CW_ERR, "writing %s failed: %s", r->opt.output,
			 cw_output_reason(werr ? werr : rc));
	if (!*r->err)
		snprintf(r->err, CW_ERR, "cannot record: %s", strerror(-rc));
	return r->err;
}

int main(int argc, char **argv)
{
	struct recording r = {.argc = argc, .argv = argv, .signal_fd = -1};
	size_t i;
	int rc = 0;

	cw_keep_std_fds();
	r.out.fd = -1;
	r.target.cgroup_fd = -1;
	cw_options_parse(&r.opt, argc, argv);
	if (r.opt.check_config)
		return cw_config_check(r.opt.check_config);
	if (r.opt.find_symbol)
		return cw_find_symbol(&r.opt);
	for (i = 0; !rc && i < sizeof(steps) / sizeof(*steps); i++)
		rc = steps[i](&r);
	if (rc)
		fprintf(stderr, "callweave-record: %s\n", failure(&r, rc));
	cleanup(&r, rc != 0);
	return rc ? 1 : 0;
}
