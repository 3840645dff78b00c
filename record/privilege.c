/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks before anything is attempted, so that a refusal names its reason. Must not know what the
 * privileges are used for beyond these sentences.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "privilege.h"
#include "resolve.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static uint64_t effective_caps(void)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	memset(d, 0, sizeof(d));
	if (syscall(SYS_capget, &h, d))
		return ~0ull;
	return (uint64_t)d[1].effective << 32 | d[0].effective;
}

int cw_check_privilege(bool multi, char *err)
{
	uint64_t caps = effective_caps();
	bool admin = caps >> CAP_SYS_ADMIN & 1, bpf = caps >> CAP_BPF & 1,
	     perfmon = caps >> CAP_PERFMON & 1;

	if (admin)
		return 0;
	if (!bpf || !perfmon) {
		snprintf(err, CW_ERR,
			 "missing privilege: %s%s%s to load BPF programs; run with sudo",
			 bpf ? "" : "CAP_BPF", !bpf && !perfmon ? " and " : "",
			 perfmon ? "" : "CAP_PERFMON");
		return -EPERM;
	}
	if (!multi) {
		snprintf(err, CW_ERR,
			 "missing privilege: CAP_SYS_ADMIN, which kernels before 6.6 want for "
			 "uprobes; run "
			 "with sudo");
		return -EPERM;
	}
	return 0;
}

int cw_check_kernel(char *err)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return 0;
	snprintf(err, CW_ERR,
		 "the kernel's type information (BTF) cannot be read: /sys/kernel/btf/vmlinux: %s; "
		 "a kernel "
		 "5.8 or newer built with CONFIG_DEBUG_INFO_BTF is needed",
		 strerror(errno));
	return -ENOTSUP;
}
