/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does this kernel let a BPF program be attached to a plain tracepoint by its name and to a kernel
 * function? One of each counts how often this process renames itself, which it does a known number
 * of times. Usage: kernel_probes TIMES. Prints a line each: KIND NAME HITS, or KIND NAME - REASON.
 * Needs nothing of the recorder.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
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
	bool function;
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
static int load_counting(int map, bool function)
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
		.prog_type = function ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACEPOINT,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.license = (uintptr_t) "GPL",
	};

	return bpf(BPF_PROG_LOAD, &a);
}

static const char *attach(struct probe *p)
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
	a.type = p->function ? number : PERF_TYPE_TRACEPOINT;
	a.config = p->function ? 0 : number;
	a.config1 = p->function ? (uintptr_t)p->name : 0;
	p->map = make_counter();
	prog = p->map < 0 ? -1 : load_counting(p->map, p->function);
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
		{"kprobe", FUNCTION, KPROBES, true, -1, -1},
		{"tracepoint", TRACEPOINT, "/sys/kernel/tracing/events/" TRACEPOINT "/id", false,
		 -1, -1},
	};
	const char *wrong[2];
	long times = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

	if (times <= 0) {
		fprintf(stderr, "usage: kernel_probes TIMES\n");
		return 2;
	}
	for (int i = 0; i < 2; i++)
		wrong[i] = attach(&probes[i]);
	for (long i = 0; i < times; i++)
		prctl(PR_SET_NAME, "renamed");
	for (int i = 0; i < 2; i++) {
		if (wrong[i])
			printf("%s %s - %s\n", probes[i].kind, probes[i].name, wrong[i]);
		else
			printf("%s %s %llu\n", probes[i].kind, probes[i].name,
			       (unsigned long long)hits(&probes[i]));
	}
	return 0;
}
