/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that exist, and the help text. What they mean is options.c's. */
#include <stddef.h>
#include "optable.h"

const char *argp_program_version = "callweave-record 1";
const char *argp_program_bug_address = NULL;

const char cw_option_doc[] =
	"Record calls and handoffs of running programs into a file for callweave-analyze.\v"
	"Examples:\n"
	"  callweave-record -p 1234 --ret --time handle_request\n"
	"      entries, return values and durations of a function in process 1234\n"
	"  callweave-record -p 1234 --attribution --duration 10 write_result\n"
	"      and what each call waited for, for ten seconds\n"
	"  callweave-record -p 1234 --async-hop submit_task,2,run_task,1 run_task\n"
	"      follow a task pointer from submit_task's second argument to run_task's first\n"
	"  callweave-record -p 1234 --config pool.yaml\n"
	"      functions, hops and filters from a file; options given beside it win\n"
	"  callweave-record -p 1234 --discover-async run_task -o - | callweave-analyze discover - "
	"run_task\n"
	"      who wakes a thread before it runs a task, and may have handed it over\n"
	"  callweave-record -p 1234 --function 'queue_*' --duration 5\n"
	"      raw arguments of many functions, for callweave-analyze suggest\n"
	"  callweave-record -p 1234 libc.so.6:malloc ./server:+0x11c9\n"
	"      a function of a mapped library, and a place in a file\n"
	"  callweave-record /usr/bin/server handle_request\n"
	"      every process that runs this file (a name with a '/' is a BINARY)\n"
	"  callweave-record --cgroup /sys/fs/cgroup/system.slice/web.service handle_request\n"
	"      every process of a service or container\n"
	"  callweave-record --time --exec ./server handle_request -- --port 8080\n"
	"      start the program once everything is in place\n"
	"  callweave-record -p 1234 --max-size 256M --rotate 8 -o trace.cwc handle_request\n"
	"      at most eight files, trace.0001.cwc and so on\n"
	"  callweave-record -p 1234 --flight 30 --flight-when handle_request,250 handle_request\n"
	"      what happened in the 30 s before a slow call, and nothing else on disk\n"
	"  callweave-record -p 1234 --max-rate 10000 --function 'queue_*'\n"
	"      let go of those that are called too often to be recorded at little cost\n"
	"  callweave-record -p 1234 -o - f | callweave-analyze follow -\n"
	"      watch while recording\n"
	"  callweave-record --check\n"
	"      what can be recorded on this machine, and what is missing\n"
	"  callweave-record -p 1234 --find-symbol malloc\n"
	"      where the process has a function of this name; needs no privileges\n"
	"  callweave-record -p 1234 --find-symbol '*queue*'\n"
	"      which functions there are, before recording any\n\n"
	"FUNCTION is [MODULE:]SYMBOL or [MODULE:]+0xOFFSET; a SYMBOL with *, ? or [ is a pattern. "
	"MODULE is the base name or path of a mapped file. Exit status: 0 recorded, 1 failed, 2 "
	"usage.";

const struct argp_option cw_option_table[] = {
	{NULL, 0, NULL, 0, "What to trace:", 1},
	{"pid", 'p', "PID", 0, "trace this process; repeat for several", 1},
	{"follow-forks", 'f', NULL, 0,
	 "and its children, by fork and exec, until the last of them has ended", 1},
	{"cgroup", OPT_CGROUP, "PATH", 0, "trace every process of this cgroup (version 2)", 1},
	{"exec", OPT_EXEC, "PROG", 0, "start PROG with the arguments after -- and trace it", 1},
	{"binary", OPT_BINARY, "FILE", 0, "as BINARY, also for names without a '/'", 1},
	{"module", OPT_MODULE, "MODULE", 0, "ELF file the functions are in (name or path)", 1},
	{"offset", OPT_OFFSET, "OFFSET", 0, "probe this file offset instead of a symbol", 1},
	{"function", OPT_FUNCTION, "PATTERN", 0,
	 "functions whose names match, at most 200, listed first", 1},
	{"config", OPT_CONFIG, "FILE", 0,
	 "read functions, hops and filters from a YAML file (see examples/every-key.yaml)", 1},
	{NULL, 0, NULL, 0, "What to record:", 2},
	{"ret", OPT_RET, NULL, 0, "return values", 2},
	{"return-value", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"time", OPT_TIME, NULL, 0, "durations", 2},
	{"latency", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"attribution", OPT_ATTRIBUTION, NULL, 0, "what calls waited for; implies --time", 2},
	{"breakdown", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"discover-async", OPT_DISCOVER, "FUNCTION", 0,
	 "FUNCTION and who wakes its threads, for callweave-analyze discover; implies "
	 "--attribution",
	 2},
	{"async-hop", OPT_HOP, "SOURCE,ARG,TARGET[,ARG|auto]", 0,
	 "a handoff: the key is argument ARG of SOURCE and of TARGET; repeat for chains", 2},
	{"async-source", OPT_SOURCE, "SOURCE", 0, "a handoff from SOURCE to FUNCTION", 2},
	{"async-source-arg", OPT_SOURCE_ARG, "N", 0, "its key in SOURCE (1)", 2},
	{"async-source-binary", OPT_SOURCE_BINARY, "FILE", 0, "ELF file SOURCE is in", 2},
	{"async-target-arg", OPT_TARGET_ARG, "N|auto", 0, "its key in FUNCTION (auto)", 2},
	{"async-max-age-ms", OPT_MAX_AGE, "MS", 0, "submissions older than this expire (30000)", 2},
	{"min-total-ms", OPT_MIN_TOTAL, "MS", 0, "filter kept in the plan for reports", 2},
	{"min-queue-ms", OPT_MIN_QUEUE, "MS", 0, "filter kept in the plan for reports", 2},
	{"min-work-ms", OPT_MIN_WORK, "MS", 0, "filter kept in the plan for reports", 2},
	{"stack", OPT_STACK, "fp|dwarf[=BYTES]|none", 0,
	 "user stacks: by frame pointers (fp); registers and up to BYTES (16K, at most 32K) of "
	 "each "
	 "distinct stack, to be unwound by unwind tables when analyzed (dwarf); none",
	 2},
	{"embed", OPT_EMBED, "symbols|none|all", 0,
	 "what of programs and libraries goes into the capture: symbol tables, also of their "
	 "separate debug files, and unwind information of those that stacks show (symbols), "
	 "nothing, or the whole files (all)",
	 2},
	{"embed-max", OPT_EMBED_MAX, "BYTES", 0,
	 "at most so much of that in a capture file, uncompressed, with K, M or G (1G)", 2},
	{"max-rate", OPT_MAX_RATE, "N", 0,
	 "detach a function that is called more than N times a second, and go on without it", 2},
	{"force-return-probes", OPT_FORCE_RETURN, NULL, 0,
	 "return probes in programs of Go or another runtime that moves stacks", 2},
	{NULL, 0, NULL, 0, "When to stop, where to write:", 3},
	{"duration", OPT_DURATION, "SECONDS", 0, "stop after this time", 3},
	{"max-events", OPT_MAX_EVENTS, "N", 0, "stop after N completed calls of the last function",
	 3},
	{"max-size", OPT_MAX_SIZE, "BYTES", 0, "stop when the file has this size, with K, M or G",
	 3},
	{"rotate", OPT_ROTATE, "N", 0, "go on in up to N files of --max-size, FILE.0001.cwc ...",
	 3},
	{"flight", OPT_FLIGHT, "SECONDS", 0,
	 "keep the last SECONDS in memory (256M, or --max-size); write them, into FILE.0001.cwc "
	 "..., "
	 "on SIGUSR1 and at the end",
	 3},
	{"flight-when", OPT_FLIGHT_WHEN, "FUNCTION,MS", 0,
	 "and when a call of FUNCTION took MS or longer", 3},
	{"ring-size", OPT_RING, "BYTES", 0,
	 "buffer between kernel and recorder, with K or M (16M; 4M a ring if that is more)", 3},
	{"rings", OPT_RINGS, "N", 0,
	 "share it out among N rings for groups of CPUs (one for 8 CPUs)", 3},
	{"output", 'o', "FILE", 0, "capture file, - for standard output (callweave.cwc)", 3},
	{"quiet", 'q', NULL, 0, "no closing line", 3},
	{"verbose", 'v', NULL, 0, "messages of the BPF library", 3},
	{NULL, 0, NULL, 0, "Instead of recording:", 4},
	{"find-symbol", OPT_FIND_SYMBOL, "SYMBOL", 0,
	 "list where -p, --module or BINARY has it, with its file offset; a pattern ('*queue*') "
	 "lists every function that matches",
	 4},
	{"check-config", OPT_CHECK_CONFIG, "FILE", 0, "say whether a YAML file is a valid plan", 4},
	{"check", OPT_CHECK, NULL, 0, "say what can be recorded on this machine with these rights",
	 4},
	{0}};
