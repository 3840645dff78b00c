/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/options.o record/optable.o record/optvalues.o record/config.o record/say.o */
/* The recorder's command line: what it means, and what it refuses with status 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../record/options.h"
#include "../../record/optvalues.h"

#define MAX_ARGS 24

/* Split text at blanks into argv; argv[0] is the program. Returns argc. */
static int split(char *text, char **argv)
{
	char *word;
	int argc = 0;

	argv[argc++] = "callweave-record";
	for (word = strtok(text, " "); word && argc < MAX_ARGS; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static void parse(struct cw_options *o, char *text)
{
	static char *argv[MAX_ARGS + 1];
	int argc = split(text, argv);

	cw_options_parse(o, argc, argv);
}

/* Exit status of the parser for a command line that it does not return from. */
static int status_of(const char *line)
{
	int status, null;
	pid_t pid = fork();

	if (!pid) {
		struct cw_options o;
		char text[256];

		null = open("/dev/null", O_WRONLY);
		dup2(null, STDERR_FILENO);
		dup2(null, STDOUT_FILENO);
		strncpy(text, line, sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
		parse(&o, text);
		_exit(99); /* it returned */
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(cw_parse_size("4096"), 4096);
	assert_int_equal(cw_parse_size("512K"), 512 << 10);
	assert_int_equal(cw_parse_size("16m"), 16 << 20);
	assert_int_equal(cw_parse_size("0x1000"), 4096);
	assert_int_equal(cw_parse_size(""), 0);
	assert_int_equal(cw_parse_size("-1"), 0);
	assert_int_equal(cw_parse_size("16MB"), 0);
	assert_int_equal(cw_parse_size("M"), 0);
	assert_int_equal(cw_parse_size("2G"), 2ull << 30);
	assert_int_equal(cw_parse_size("1KK"), 0);
	assert_int_equal(cw_parse_size("17592186044416M"), 0);
}

static void defaults(void **state)
{
	char line[] = "-p 12 handle";
	struct cw_options o;

	(void)state;
	parse(&o, line);
	assert_int_equal(o.pids[0], 12);
	assert_string_equal(o.output, "callweave.cwc");
	assert_int_equal(o.ring_bytes, 0);
	assert_int_equal(o.rings, 0);
	assert_int_equal(o.plan->nfuncs, 1);
	assert_string_equal(o.plan->funcs[0].name, "handle");
	assert_false(o.plan->funcs[0].ret);
	assert_false(o.plan->time);
	assert_true(o.plan->stacks);
	assert_null(o.exec_argv);
	cw_options_free(&o);
}

static void aliases(void **state)
{
	char a[] = "-p 1 --return-value --latency f", b[] = "-p 1 --breakdown f";
	struct cw_options o;

	(void)state;
	parse(&o, a);
	assert_true(o.plan->ret);
	assert_true(o.plan->time);
	assert_false(o.plan->attribution);
	assert_true(o.plan->funcs[0].ret);
	cw_options_free(&o);
	parse(&o, b);
	assert_true(o.plan->attribution);
	assert_true(o.plan->time);
	assert_true(o.plan->funcs[0].ret);
	cw_options_free(&o);
}

static void hops_need_no_function(void **state)
{
	char line[] = "-p 1 --async-hop put,2,get,1 --async-hop push,1,pop --async-max-age-ms 1500 "
		      "--duration 0.5 --max-events 7 --stack none";
	struct cw_options o;
	int last;

	(void)state;
	parse(&o, line);
	assert_int_equal(o.plan->nhops, 2);
	assert_int_equal(o.plan->nfuncs, 4);
	assert_int_equal(o.plan->hops[1].target_arg, CW_ARG_AUTO);
	assert_int_equal(o.plan->max_age_ns, 1500000000ull);
	assert_int_equal(o.plan->filters.duration_ns, 500000000ull);
	assert_int_equal(o.plan->filters.max_events, 7);
	assert_false(o.plan->stacks);
	last = cw_plan_find(o.plan, "pop", NULL);
	assert_true(last >= 0);
	assert_true(o.plan->funcs[last].ret);
	cw_options_free(&o);
}

static void binary_and_modules(void **state)
{
	char a[] = "./server handle --output x.cwc",
	     b[] = "-p 1 --module libc.so.6 malloc lib.so:f",
	     c[] = "-p 1 --binary server --offset 0x11c9";
	struct cw_options o;

	(void)state;
	parse(&o, a);
	assert_string_equal(o.binary, "./server");
	assert_string_equal(o.output, "x.cwc");
	cw_options_free(&o);
	parse(&o, b);
	assert_string_equal(o.plan->funcs[0].module, "libc.so.6");
	assert_string_equal(o.plan->funcs[1].module, "lib.so");
	cw_options_free(&o);
	parse(&o, c);
	assert_string_equal(o.binary, "server");
	assert_null(o.plan->funcs[0].name);
	assert_int_equal(o.plan->funcs[0].offset, 0x11c9);
	cw_options_free(&o);
}

static void stacks(void **state)
{
	static const struct {
		const char *value;
		uint32_t bytes;
	} good[] = {{"fp", 0},
		    {"none", 0},
		    {"dwarf", 16384},
		    {"dwarf=32K", 32768},
		    {"dwarf=1001", 1008}};
	struct cw_options o;
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(line, sizeof(line), "-p 1 --stack %s f", good[i].value);
		parse(&o, line);
		assert_int_equal(o.stack_bytes, good[i].bytes);
		assert_int_equal(o.plan->stacks, strcmp(good[i].value, "none") != 0);
		cw_options_free(&o);
	}
}

static void several_processes(void **state)
{
	char line[] = "-p 12 -p 13 -p 12 -f f g";
	struct cw_options o;

	(void)state;
	parse(&o, line);
	assert_int_equal(o.npids, 2);
	assert_int_equal(o.pids[1], 13);
	assert_true(o.follow);
	assert_int_equal(o.plan->nfuncs, 2);
	cw_options_free(&o);
}

/* A handoff spelled out; the module of all functions is not that of the source. */
static void async_source(void **state)
{
	char a[] = "-p 1 --async-source put get",
	     b[] = "-p 1 --async-source put --async-source-arg 2 --async-target-arg 3 "
		   "--async-source-binary /lib/q.so --module m.so other get";
	struct cw_options o;
	const struct cw_plan_hop *h;

	(void)state;
	parse(&o, a);
	assert_int_equal(o.plan->nhops, 1);
	h = o.plan->hops;
	assert_string_equal(h->source, "put");
	assert_string_equal(h->target, "get");
	assert_int_equal(h->source_arg, 1);
	assert_int_equal(h->target_arg, CW_ARG_AUTO);
	assert_null(h->source_module);
	cw_options_free(&o);
	parse(&o, b);
	h = o.plan->hops;
	assert_int_equal(h->source_arg, 2);
	assert_int_equal(h->target_arg, 3);
	assert_string_equal(h->source_module, "/lib/q.so");
	assert_string_equal(h->target_module, "m.so");
	assert_string_equal(o.plan->funcs[0].module, "m.so");
	assert_int_equal(o.plan->nfuncs, 3);
	cw_options_free(&o);
}

/* What the command line says wins over the file, also when it comes first. */
static void config_comes_first(void **state)
{
	static const char yaml[] =
		"target:\n  function: get\nhops:\n  - source: put\n    source_arg: 1\n    target: "
		"get\n"
		"filters:\n  duration: 30\n  max_events: 10\n  min_total_ms: 5\n";
	char path[] = "/tmp/cw-options-XXXXXX", line[256];
	int fd = mkstemp(path), i;
	struct cw_options o;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, yaml, sizeof(yaml) - 1), sizeof(yaml) - 1);
	close(fd);
	for (i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			 i ? "-p 1 --config %s --duration 2 --max-events 7"
			   : "-p 1 --duration 2 --max-events 7 --config %s",
			 path);
		parse(&o, line);
		assert_int_equal(o.plan->nhops, 1);
		assert_int_equal(o.plan->nfuncs, 2);
		assert_int_equal(o.plan->filters.duration_ns, 2000000000ull);
		assert_int_equal(o.plan->filters.max_events, 7);
		assert_int_equal(o.plan->filters.min_total_ns, 5000000);
		cw_options_free(&o);
	}
	snprintf(line, sizeof(line), "-p 1 --async-hop a,2,b,1 --config %s other", path);
	parse(&o, line);
	assert_int_equal(o.plan->nhops, 1);
	assert_string_equal(o.plan->hops[0].source, "a");
	assert_int_equal(o.plan->nfuncs, 3);
	assert_string_equal(o.plan->funcs[0].name, "other");
	cw_options_free(&o);
	unlink(path);
}

/*
 * What the command line says wins over the file in every key that both have, before it and behind
 * it; what it does not say is the file's.
 */
static const char config_yaml[] = "target:\n  function: get\n  module: a.so\n"
				  "hops:\n  - source: put\n    source_arg: 1\n    target: get\n"
				  "    target_module: a.so\n    max_age_ms: 700\n"
				  "filters:\n  duration: 30\n  max_events: 10\n  min_total_ms: 5\n"
				  "  min_queue_ms: 6\n  min_work_ms: 7\n"
				  "max_age_ms: 900\nret: false\ntime: false\nattribution: false\n"
				  "stacks: false\n";

static bool said_duration(const struct cw_options *o)
{
	return o->plan->filters.duration_ns == 2000000000ull;
}

static bool said_max_events(const struct cw_options *o)
{
	return o->plan->filters.max_events == 77;
}

static bool said_min_total(const struct cw_options *o)
{
	return o->plan->filters.min_total_ns == 500000;
}

static bool said_min_queue(const struct cw_options *o)
{
	return o->plan->filters.min_queue_ns == 250000;
}

static bool said_min_work(const struct cw_options *o)
{
	return o->plan->filters.min_work_ns == 8000000;
}

static bool said_max_age(const struct cw_options *o)
{
	return o->plan->max_age_ns == 123000000 && !o->plan->hops[0].max_age_ns;
}

static bool said_ret(const struct cw_options *o)
{
	return o->plan->ret;
}

static bool said_stacks(const struct cw_options *o)
{
	return o->plan->stacks;
}

static bool said_hop(const struct cw_options *o)
{
	return o->plan->nhops == 1 && !strcmp(o->plan->hops[0].source, "b") &&
	       o->plan->hops[0].source_arg == 3;
}

static bool said_function(const struct cw_options *o)
{
	return !strcmp(o->plan->funcs[0].name, "other");
}

static bool said_module(const struct cw_options *o)
{
	return !strcmp(o->plan->funcs[0].name, "get") &&
	       !strcmp(o->plan->funcs[0].module, "own.so");
}

static const struct {
	const char *words;
	bool (*said)(const struct cw_options *o);
} overrides[] = {
	{"--duration 2", said_duration},
	{"--max-events 77", said_max_events},
	{"--min-total-ms 0.5", said_min_total},
	{"--min-queue-ms 0.25", said_min_queue},
	{"--min-work-ms 8", said_min_work},
	{"--async-max-age-ms 123", said_max_age},
	{"--ret", said_ret},
	{"--return-value", said_ret},
	{"--stack fp", said_stacks},
	{"--async-hop b,3,get,1", said_hop},
	{"--function other", said_function},
	{"other", said_function},
	{"--module own.so", said_module},
};

/* All that the file says and line does not. */
static void expect_file(const struct cw_options *o, size_t except)
{
	static const struct cw_plan_filters f = {
		.duration_ns = 30000000000ull,
		.max_events = 10,
		.min_total_ns = 5000000,
		.min_queue_ns = 6000000,
		.min_work_ns = 7000000,
	};
	const struct cw_plan *p = o->plan;
	bool (*said)(const struct cw_options *) = overrides[except].said;

	assert_true(said == said_duration || p->filters.duration_ns == f.duration_ns);
	assert_true(said == said_max_events || p->filters.max_events == f.max_events);
	assert_true(said == said_min_total || p->filters.min_total_ns == f.min_total_ns);
	assert_true(said == said_min_queue || p->filters.min_queue_ns == f.min_queue_ns);
	assert_true(said == said_min_work || p->filters.min_work_ns == f.min_work_ns);
	assert_true(said == said_max_age || p->max_age_ns == 900000000);
	assert_true(said == said_ret || !p->ret);
	assert_true(said == said_stacks || !p->stacks);
	assert_int_equal(p->nhops, 1);
	assert_true(said == said_hop || !strcmp(p->hops[0].source, "put"));
	assert_true(said == said_hop || said == said_max_age || p->hops[0].max_age_ns == 700000000);
	assert_true(said == said_function || !strcmp(p->funcs[0].name, "get"));
	assert_true(said == said_function || said == said_module ||
		    !strcmp(p->funcs[0].module, "a.so"));
	assert_string_equal(o->output, "callweave.cwc");
}

static void options_win_over_config(void **state)
{
	char path[] = "/tmp/cw-options-XXXXXX", line[256];
	int fd = mkstemp(path);
	struct cw_options o;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, config_yaml, sizeof(config_yaml) - 1), sizeof(config_yaml) - 1);
	close(fd);
	for (size_t i = 0; i < 2 * sizeof(overrides) / sizeof(*overrides); i++) {
		const char *words = overrides[i / 2].words;

		snprintf(line, sizeof(line), "-p 1 %s --config %s %s", i % 2 ? "" : words, path,
			 i % 2 ? words : "");
		parse(&o, line);
		if (!overrides[i / 2].said(&o))
			fail_msg("%s %s --config is not what holds", words,
				 i % 2 ? "behind" : "before");
		expect_file(&o, i / 2);
		cw_options_free(&o);
	}
	unlink(path);
}

static void sizes_of_files(void **state)
{
	char line[] = "-p 1 --max-size 256M --rotate 8 -o x.cwc f";
	struct cw_options o;

	(void)state;
	parse(&o, line);
	assert_int_equal(o.max_bytes, 256 << 20);
	assert_int_equal(o.segments, 8);
	cw_options_free(&o);
}

/* What follows -- is the target's, also when it looks like an option of ours. */
static void exec_arguments(void **state)
{
	char a[] = "--time --exec prog f -- --time -p 3 x/y", b[] = "--exec prog f";
	struct cw_options o;

	(void)state;
	parse(&o, a);
	assert_string_equal(o.exec_prog, "prog");
	assert_int_equal(o.npids, 0);
	assert_null(o.binary);
	assert_int_equal(o.plan->nfuncs, 1);
	assert_string_equal(o.exec_argv[0], "prog");
	assert_string_equal(o.exec_argv[1], "--time");
	assert_string_equal(o.exec_argv[4], "x/y");
	assert_null(o.exec_argv[5]);
	cw_options_free(&o);
	parse(&o, b);
	assert_string_equal(o.exec_argv[0], "prog");
	assert_null(o.exec_argv[1]);
	cw_options_free(&o);
}

static void usage_errors(void **state)
{
	static const char *const bad[] = {
		"",
		"f",
		"-p 1",
		"-p abc f",
		"-p -1 f",
		"-p 0 f",
		"-p 1 --exec x f",
		"-p 1 f -- arg",
		"./a ./b f",
		"-p 1 --async-hop a,b",
		"-p 1 --async-hop a,9,b f",
		"-p 1 --ring-size 3000 f",
		"-p 1 --ring-size 24M f",
		"-p 1 --ring-size 2K f",
		"-p 1 --rings 0 f",
		"-p 1 --rings 65 f",
		"-p 1 --duration 0 f",
		"-p 1 --duration soon f",
		"-p 1 --max-events 1.5 f",
		"-p 1 --nonsense f",
		"-p 1 --offset zz",
		"-p 0x1 f",
		"-p 1 --cgroup /sys/fs/cgroup f",
		"-p 1 --stack dwarf=64K f",
		"-p 1 --stack dwarf=100 f",
		"-p 1 --stack dwarfs f",
		"--cgroup /sys/fs/cgroup --exec x f",
		"./a -f f",
		"--cgroup /x -f f",
		"-p 1 --async-source put",
		"-p 1 --async-source put --offset 0x10",
		"-p 1 --async-source put --async-hop a,1,b f",
		"-p 1 --async-source put --async-source put2 f",
		"-p 1 --async-source-arg 2 f",
		"-p 1 --async-source-binary x f",
		"-p 1 --async-target-arg 2 f",
		"-p 1 --async-source put --async-target-arg 9 f",
		"-p 1 --async-source put --async-source-arg auto f",
		"-p 1 --max-size 1K f",
		"-p 1 --max-size big f",
		"-p 1 --rotate 3 f",
		"-p 1 --max-size 1M --rotate 0 f",
		"-p 1 --max-size 1M --rotate 3 -o - f",
		"-p 1 --flight 0 f",
		"-p 1 --flight 3 -o - f",
		"-p 1 --flight 3 --max-size 1M --rotate 3 f",
		"-p 1 --flight-when f,3 f",
		"-p 1 --flight 3 --flight-when f f",
		"-p 1 --flight 3 --flight-when g,3 f",
		"--find-symbol malloc",
		"-p 1 --find-symbol malloc f",
		"--exec x --find-symbol malloc",
		"--check-config x -p 1",
		"--check -p 1",
		"-p 1 --duration 1e300 f",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (status_of(bad[i]) != 2)
			fail_msg("status %d for: %s", status_of(bad[i]), bad[i]);
	}
	assert_int_equal(status_of("--help"), 0);
	assert_int_equal(status_of("-p 1 --config /nonexistent.yaml"), 1);
	assert_int_equal(status_of("-p 1 f"), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(defaults),
		cmocka_unit_test(aliases),
		cmocka_unit_test(hops_need_no_function),
		cmocka_unit_test(binary_and_modules),
		cmocka_unit_test(stacks),
		cmocka_unit_test(several_processes),
		cmocka_unit_test(async_source),
		cmocka_unit_test(config_comes_first),
		cmocka_unit_test(options_win_over_config),
		cmocka_unit_test(sizes_of_files),
		cmocka_unit_test(exec_arguments),
		cmocka_unit_test(usage_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
