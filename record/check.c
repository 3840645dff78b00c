/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --check: each feature is tried as the recorder would use it, and the answer put into words. Must
 * not know how the features are used.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "attach.h"
#include "check.h"
#include "mmapwatch.h"
#include "privilege.h"
#include "resolve.h"

#define NOTE   640
#define WIDTH  100
#define INDENT 4

/* What the checks share. */
struct machine {
	struct btf *btf;
	bool multi, loads, needed_missing;
};

/* A check returns whether the feature is there, and says in note what that means or what to do. */
struct check {
	const char *feature;
	bool needed;
	bool (*try)(struct machine *m, char *note);
};

#define SAY(...) snprintf(note, NOTE, __VA_ARGS__)

static long read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

static bool try_btf(struct machine *m, char *note)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		SAY("/sys/kernel/btf/vmlinux: %s; a kernel with CONFIG_DEBUG_INFO_BTF is needed",
		    strerror(errno));
		return false;
	}
	m->btf = btf__load_vmlinux_btf();
	if (!m->btf)
		SAY("the kernel's BTF cannot be read: %s", strerror(errno));
	return m->btf;
}

static bool try_load(struct machine *m, char *note)
{
	char err[CW_ERR];

	if (cw_check_privilege(true, err)) {
		SAY("%s", err);
		return false;
	}
	errno = 0;
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) != 1 ||
	    libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_KPROBE, NULL) != 1) {
		SAY("the kernel refuses BPF programs (lockdown, a container's seccomp filter, or a "
		    "kernel without CONFIG_BPF_EVENTS)");
		return false;
	}
	return m->loads = true;
}

static bool cannot_try(char *note)
{
	SAY("cannot be tried without loading BPF programs");
	return false;
}

static bool try_ring(struct machine *m, char *note)
{
	if (!m->loads)
		return cannot_try(note);
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 1)
		return true;
	SAY("BPF ring buffers came with 5.8");
	return false;
}

static bool try_probes(struct machine *m, char *note)
{
	char err[CW_ERR];

	if (!m->loads)
		return cannot_try(note);
	m->multi = cw_has_uprobe_multi();
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) && !m->multi) {
		SAY("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
		return false;
	}
	if (!cw_check_privilege(m->multi, err))
		return true;
	SAY("%s", err);
	return false;
}

static bool try_multi(struct machine *m, char *note)
{
	if (!m->loads)
		return cannot_try(note);
	if (m->multi)
		return true;
	SAY("from 6.6 on; without it, attaching and detaching take about 0.1 s a probe");
	return false;
}

static bool try_sched(struct machine *m, char *note)
{
	static const char *const points[] = {"sched_switch",       "sched_waking",
					     "sched_wakeup",       "sched_process_fork",
					     "sched_process_exec", "sched_process_exit"};
	char name[64];

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		snprintf(name, sizeof(name), "btf_trace_%s", points[i]);
		if (m->btf && btf__find_by_name_kind(m->btf, name, BTF_KIND_TYPEDEF) > 0)
			continue;
		SAY("this kernel's BTF has no tracepoint %s", points[i]);
		return false;
	}
	return true;
}

static bool try_maps(struct machine *m, char *note)
{
	struct cw_mmapwatch *w = NULL;
	int rc = cw_mmapwatch_new(&w, 0);
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");

	(void)m;
	cw_mmapwatch_free(w);
	if (!rc)
		return true;
	/* Levels above 2 are Debian's own, and take no account of CAP_PERFMON. */
	SAY("perf_event_open: %s; %s, or kernel.perf_event_paranoid (%ld) at most %s; maps are "
	    "read from /proc alone and short-lived ones may be missed",
	    strerror(-rc), paranoid > 2 ? "CAP_SYS_ADMIN" : "CAP_PERFMON", paranoid,
	    paranoid > 2 ? "2 with CAP_PERFMON" : "0");
	return false;
}

static bool try_build_ids(struct machine *m, char *note)
{
	if (m->btf && btf__find_by_name_kind(m->btf, "build_id_parse", BTF_KIND_FUNC) > 0)
		return true;
	SAY("from 5.12 on; files are matched by device and inode");
	return false;
}

static bool have_cap(unsigned int cap, const char *name, const char *lost, char *note)
{
	if (cw_have_capability(cap))
		return true;
	SAY("%s is missing: %s", name, lost);
	return false;
}

static bool try_other_users(struct machine *m, char *note)
{
	(void)m;
	return have_cap(
		CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
		"programs, libraries and root folders of other users' processes cannot be opened",
		note);
}

static bool try_deleted(struct machine *m, char *note)
{
	(void)m;
	if (cw_have_capability(CAP_SYS_ADMIN))
		return true;
	return have_cap(40 /* CAP_CHECKPOINT_RESTORE, 5.9 */, "CAP_CHECKPOINT_RESTORE",
			"mapped files that were deleted or replaced cannot be opened", note);
}

static bool try_private_files(struct machine *m, char *note)
{
	(void)m;
	return have_cap(CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
			"program files that this user may not read give no symbols", note);
}

static bool try_exec_as(struct machine *m, char *note)
{
	(void)m;
	if (cw_have_capability(CAP_SETUID) && cw_have_capability(CAP_SETGID))
		return true;
	SAY("CAP_SETUID and CAP_SETGID are missing: --exec starts programs as this user");
	return false;
}

static bool try_kernel_names(struct machine *m, char *note)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	bool shown = false;
	char line[512];

	(void)m;
	/* The first ones are offsets of data of each CPU on x86 before 6.15, of which one is 0. */
	while (f && !shown && fgets(line, sizeof(line), f))
		shown = strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	if (shown)
		return true;
	SAY("/proc/kallsyms shows no addresses: CAP_SYSLOG is needed (kernel.kptr_restrict is %ld)",
	    read_number("/proc/sys/kernel/kptr_restrict"));
	return false;
}

static bool try_cgroups(struct machine *m, char *note)
{
	(void)m;
	if (!access("/sys/fs/cgroup/cgroup.controllers", F_OK) ||
	    !access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK))
		return true;
	SAY("no cgroup file system of version 2 is mounted");
	return false;
}

static bool try_depth(struct machine *m, char *note)
{
	long n = read_number("/proc/sys/kernel/perf_event_max_stack");

	(void)m;
	if (n >= 127)
		return true;
	SAY("kernel stacks end after %ld frames: sysctl kernel.perf_event_max_stack=127", n);
	return false;
}

static const struct check checks[] = {
	{"kernel type information (BTF)", true, try_btf},
	{"loading BPF programs", true, try_load},
	{"BPF ring buffer", true, try_ring},
	{"function entry and return probes", true, try_probes},
	{"attaching many probes at once", false, try_multi},
	{"scheduler, wake-ups, futexes", true, try_sched},
	{"executable maps as they appear", false, try_maps},
	{"build-ids from the kernel", false, try_build_ids},
	{"processes of other users", false, try_other_users},
	{"files of other users", false, try_private_files},
	{"files that were deleted", false, try_deleted},
	{"--exec as the caller of sudo", false, try_exec_as},
	{"names of kernel functions", false, try_kernel_names},
	{"deep kernel stacks", false, try_depth},
	{"--cgroup", false, try_cgroups},
};

/* Below its row, in lines that a terminal of 100 columns holds. */
static void print_note(const char *note)
{
	size_t n;

	while (*note) {
		n = strlen(note);
		if (n > WIDTH - INDENT) {
			n = WIDTH - INDENT;
			while (n > 1 && note[n] != ' ')
				n--;
		}
		printf("%*s%.*s\n", INDENT, "", (int)n, note);
		note += n;
		while (*note == ' ')
			note++;
	}
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int cw_check_print(void)
{
	struct machine m = {0};
	struct utsname u;
	char note[NOTE];

	libbpf_set_print(quiet);
	uname(&u);
	printf("callweave-record on Linux %s, %s, as user %d\n\n", u.release, u.machine,
	       (int)geteuid());
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		const struct check *c = &checks[i];
		bool there;

		*note = 0;
		there = c->try(&m, note);
		m.needed_missing |= c->needed && !there;
		printf("%-34s %s\n", c->feature, there ? "yes" : "NO");
		if (*note)
			print_note(note);
	}
	btf__free(m.btf);
	printf("\n%s\n",
	       m.needed_missing ? "Recording is not possible here." : "Recording is possible.");
	return m.needed_missing;
}
