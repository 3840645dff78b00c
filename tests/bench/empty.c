/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The floor under every tracer that uses BPF: an empty program on a uprobe. Usage: empty PID FILE
 * OFFSET (of the breakpoint, in the file). Says "ready" when it is attached and ends when the
 * process does. Needs Linux 6.6.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTACH_UPROBE_MULTI 48

/* The part of union bpf_attr that creates such a link, which older headers lack. */
struct create_link {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, reserved;
};

static int load_empty(void)
{
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = ATTACH_UPROBE_MULTI;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	union {
		union bpf_attr attr;
		struct create_link link;
	} u;
	uint64_t offset;
	struct pollfd p = {.events = POLLIN};
	int prog;

	if (argc != 4) {
		fprintf(stderr, "usage: empty PID FILE OFFSET\n");
		return 2;
	}
	offset = strtoull(argv[3], NULL, 0);
	prog = load_empty();
	memset(&u, 0, sizeof(u));
	u.link.prog_fd = (uint32_t)prog;
	u.link.attach_type = ATTACH_UPROBE_MULTI;
	u.link.path = (uintptr_t)argv[2];
	u.link.offsets = (uintptr_t)&offset;
	u.link.cnt = 1;
	u.link.pid = (uint32_t)atoi(argv[1]);
	if (prog < 0 || syscall(SYS_bpf, BPF_LINK_CREATE, &u, sizeof(u)) < 0) {
		fprintf(stderr, "empty: cannot attach to %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	p.fd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	puts("ready");
	fflush(stdout);
	return p.fd >= 0 && poll(&p, 1, -1) == 1 ? 0 : 1;
}
