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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "privilege.h"
#include "resolve.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
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

bool cw_have_capability(unsigned int cap)
{
	return effective_caps() >> cap & 1;
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

/*
 * What goes on needs: BPF maps (before 5.19 every call on one wants CAP_BPF) and perf events;
 * files, maps and names of processes yet to come; the kernel's symbols.
 */
#define KEPT \
	(1ull << CAP_BPF | 1ull << CAP_PERFMON | 1ull << CAP_SYS_PTRACE | \
	 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYSLOG | 1ull << CAP_CHECKPOINT_RESTORE)

int cw_drop_privileges(bool child, bool files, char *err)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];
	uint64_t keep = KEPT;

	if (child)
		keep |= 1ull << CAP_KILL;
	if (files)
		keep |= 1ull << CAP_DAC_OVERRIDE;
	memset(d, 0, sizeof(d));
	if (syscall(SYS_capget, &h, d))
		goto fail;
	keep &= (uint64_t)d[1].permitted << 32 | d[0].permitted;
	/* Where there is no CAP_BPF (before 5.8) or it was not given, CAP_SYS_ADMIN stands for it.
	 */
	if (!(keep >> CAP_BPF & 1) || !(keep >> CAP_PERFMON & 1))
		keep |= (uint64_t)d[0].permitted & 1ull << CAP_SYS_ADMIN;
	for (int i = 0; i < 2; i++) {
		d[i].effective = d[i].permitted = keep >> 32 * i;
		d[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &h, d) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		goto fail;
	return 0;
fail:
	snprintf(err, CW_ERR, "cannot give up privileges: %s", strerror(errno));
	return -errno;
}
