/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uprobe_multi by the bare system call: libbpf has a call for it only from 1.3 on. Must not know
 * about plans or captures.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "attach.h"

#define MULTI_RETURN 1u

/* Of union bpf_attr (linux/bpf.h, 6.6), as far as BPF_LINK_CREATE with uprobe_multi uses it. */
struct link_attr {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t padding;
};

static int link_create(struct link_attr *attr)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/* A kernel that knows the attach type refuses a directory with EBADF, any other refuses the type.
 */
bool cw_has_uprobe_multi(void)
{
	struct bpf_prog_load_opts opts = {
		.sz = sizeof(opts),
		.expected_attach_type = CW_ATTACH_UPROBE_MULTI,
	};
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	uint64_t offset = 0;
	struct link_attr attr = {.attach_type = CW_ATTACH_UPROBE_MULTI,
				 .path = (uintptr_t) "/",
				 .offsets = (uintptr_t)&offset,
				 .cnt = 1};
	int prog, rc;

	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, 2, &opts);
	if (prog < 0)
		return false;
	attr.prog_fd = prog;
	rc = link_create(&attr);
	if (rc >= 0)
		close(rc);
	close(prog);
	return rc == -EBADF;
}

int cw_attach_multi(int prog_fd, int elf_fd, const uint64_t *offsets, const uint64_t *cookies,
		    size_t n, bool ret, pid_t pid)
{
	char path[64];
	struct link_attr attr;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_fd);
	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = prog_fd;
	attr.attach_type = CW_ATTACH_UPROBE_MULTI;
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)offsets;
	attr.cookies = (uintptr_t)cookies;
	attr.cnt = n;
	attr.multi_flags = ret ? MULTI_RETURN : 0;
	attr.pid = pid;
	return link_create(&attr);
}
