/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does this kernel let a BPF program be attached to a plain tracepoint by its name and to a kernel
 * function, by a breakpoint (kprobe) and by a call in it (fentry)? One of each counts how often
 * this process renames itself, which it does a known number of times. Usage: kernel_probes TIMES.
 * Prints a line each: KIND NAME HITS, or KIND NAME - REASON. Needs nothing of the recorder.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KPROBES    "/sys/bus/event_source/devices/kprobe/type"
#define FUNCTION   "__set_task_comm"
#define TRACEPOINT "task/task_rename"

struct probe {
	const char *kind, *name, *file; /* the file has the number that perf_event_open wants */
	enum bpf_prog_type type;
	int map, fd;
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int make_counter(void)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

	return bpf(BPF_MAP_CREATE, &a);
}

/* Adds one to the map's only value when the current process is this one. */
static int load_counting(int map, enum bpf_prog_type type, int function)
{
	struct bpf_insn code[] = {
		{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid},
		{BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32},
		{BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 9, getpid()},
		{BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0},
		{BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map},
		{0},
		{BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0},
		{BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4},
		{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem},
		{BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0},
		{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1},
		{BPF_STX | BPF_XADD | BPF_DW, BPF_REG_0, BPF_REG_1, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	union bpf_attr a = {
		.prog_type = type,
		.expected_attach_type = function ? BPF_TRACE_FENTRY : 0,
		.attach_btf_id = function,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.license = (uintptr_t) "GPL",
	};

	return bpf(BPF_PROG_LOAD, &a);
}

/* The function's number among the kernel's types; 0 when there is none. */
static int type_of_function(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : 0;

	btf__free(btf);
	return id > 0 ? id : 0;
}

static const char *attach_fentry(struct probe *p)
{
	int function = type_of_function(p->name), prog;
	union bpf_attr a = {0};

	if (!function)
		return "the kernel's BTF does not have it";
	p->map = make_counter();
	prog = p->map < 0 ? -1 : load_counting(p->map, p->type, function);
	if (prog < 0)
		return "cannot load the program";
	a.raw_tracepoint.prog_fd = prog;
	p->fd = bpf(BPF_RAW_TRACEPOINT_OPEN, &a);
	return p->fd < 0 ? strerror(errno) : NULL;
}

static const char *attach_perf(struct probe *p)
{
	struct perf_event_attr a = {.size = sizeof(a)};
	FILE *f = fopen(p->file, "re");
	unsigned int number = 0;
	int prog;

	if (!f)
		return "this kernel has none";
	if (fscanf(f, "%u", &number) != 1)
		number = 0;
	fclose(f);
	a.type = p->type == BPF_PROG_TYPE_KPROBE ? number : PERF_TYPE_TRACEPOINT;
	a.config = p->type == BPF_PROG_TYPE_KPROBE ? 0 : number;
	a.config1 = p->type == BPF_PROG_TYPE_KPROBE ? (uintptr_t)p->name : 0;
	p->map = make_counter();
	prog = p->map < 0 ? -1 : load_counting(p->map, p->type, 0);
	if (prog < 0)
		return "cannot load the program";
	p->fd = syscall(SYS_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (p->fd < 0)
		return strerror(errno);
	if (ioctl(p->fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(p->fd, PERF_EVENT_IOC_ENABLE, 0))
		return "cannot attach the program";
	return NULL;
}

static uint64_t hits(const struct probe *p)
{
	uint32_t key = 0;
	uint64_t value = 0;
	union bpf_attr a = {.map_fd = p->map, .key = (uintptr_t)&key, .value = (uintptr_t)&value};

	bpf(BPF_MAP_LOOKUP_ELEM, &a);
	return value;
}

int main(int argc, char **argv)
{
	struct probe probes[] = {
		{"kprobe", FUNCTION, KPROBES, BPF_PROG_TYPE_KPROBE, -1, -1},
		{"fentry", FUNCTION, NULL, BPF_PROG_TYPE_TRACING, -1, -1},
		{"tracepoint", TRACEPOINT, "/sys/kernel/tracing/events/" TRACEPOINT "/id",
		 BPF_PROG_TYPE_TRACEPOINT, -1, -1},
	};
	enum { KINDS = sizeof(probes) / sizeof(*probes) };
	const char *wrong[KINDS];
	long times = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

	if (times <= 0) {
		fprintf(stderr, "usage: kernel_probes TIMES\n");
		return 2;
	}
	for (int i = 0; i < KINDS; i++)
		wrong[i] = probes[i].file ? attach_perf(&probes[i]) : attach_fentry(&probes[i]);
	for (long i = 0; i < times; i++)
		prctl(PR_SET_NAME, "renamed");
	for (int i = 0; i < KINDS; i++) {
		if (wrong[i])
			printf("%s %s - %s\n", probes[i].kind, probes[i].name, wrong[i]);
		else
			printf("%s %s %llu\n", probes[i].kind, probes[i].name,
			       (unsigned long long)hits(&probes[i]));
	}
	return 0;
}
