/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF object is configured for kernel, options and points, and loaded. Must not know how
 * programs are attached or what they count.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "attach.h"
#include "privilege.h"
#include "probes_own.h"

#define WAKE_BYTES (256u << 10)

static bool verbose;

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (!verbose || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* Arguments of a raw tracepoint, by its BTF typedef btf_trace_NAME; 0 when it is not there. */
static unsigned int tracepoint_args(const struct btf *btf, const char *name)
{
	char type[64];
	const struct btf_type *t;
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return 0;
	t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type); /* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;             /* prototype */
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0;
}

/* Is there an enumerator of this name, as helpers and map types have in the kernel's BTF? */
static bool kernel_has(const struct btf *btf, const char *enum_name, const char *value)
{
	int id = btf__find_by_name_kind(btf, enum_name, BTF_KIND_ENUM), i;
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (i = 0; t && i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), value))
			return true;
	}
	return false;
}

static uint64_t kernel_stack_bytes(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 16384 ? page : 16384;
}

/*
 * Before kernels had an allocator for BPF programs (6.1), they warn of maps of tracing programs
 * that allocate, even where only this process adds to one: there it holds what fits into a
 * megabyte.
 */
static void use_no_allocator(struct cw_probes *pr, const struct btf *btf)
{
	if (btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0)
		return;
	bpf_map__set_map_flags(pr->skel->maps.texts, 0);
	bpf_map__set_max_entries(pr->skel->maps.texts, 512);
}

static int configure(struct cw_probes *pr, const struct cw_options *o, const struct cw_target *t,
		     const struct cw_points *p, char *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct cw_bpf_config *c = &pr->skel->rodata->cfg;
	struct stat ns;

	if (!btf) {
		snprintf(err, CW_ERR, "the kernel's type information (BTF) is damaged: %s",
			 strerror(errno));
		return -ENOTSUP;
	}
	c->switch_args = tracepoint_args(btf, "sched_switch");
	pr->cookies = kernel_has(btf, "bpf_func_id", "BPF_FUNC_get_attach_cookie");
	use_no_allocator(pr, btf);
	btf__free(btf);
	c->adopt = cw_target_adopts(t);
	c->follow = c->adopt || t->follow || t->child;
	c->match_exec = c->adopt && t->given;
	c->in_cgroup = t->cgroup_fd >= 0;
	c->exec_dev = t->own.at[0].dev;
	c->exec_ino = t->own.at[0].ino;
	c->wake_bytes = pr->ring_bytes / 4 < WAKE_BYTES ? pr->ring_bytes / 4 : WAKE_BYTES;
	c->thread_size = kernel_stack_bytes();
	c->max_rate = o->max_rate;
	c->stacks = o->plan->stacks;
	c->stack_bytes = o->stack_bytes;
	c->save_bytes = c->stack_bytes > CW_SAVE_MIN ? c->stack_bytes : CW_SAVE_MIN;
	if (!stat("/proc/self/ns/pid", &ns))
		c->pid_ns = ns.st_ino;
	if (p->n)
		c->only_cookie =
			CW_COOKIE(0,
				  (p->at[0].at.flags & CW_PROBE_NO_FP ? CW_COOKIE_NO_FP : 0) |
					  (o->plan->stacks ? CW_COOKIE_STACK : 0),
				  p->at[0].at.sp_adjust);
	bpf_map__set_max_entries(pr->skel->maps.rings, pr->cpus);
	bpf_map__set_max_entries(pr->skel->maps.runq, pr->cpus);
	bpf_map__set_max_entries(pr->skel->maps.saves, pr->cpus * CW_STACK_SLOTS);
	bpf_map__set_value_size(pr->skel->maps.saves, CW_SAVE_VALUE(c->save_bytes));
	bpf_map__set_max_entries(pr->skel->maps.probe_guard, p->n ? p->n : 1);
	bpf_map__set_max_entries(pr->skel->maps.probe_verdict, p->n ? p->n : 1);
	bpf_map__set_max_entries(pr->skel->maps.probe_rates, p->n ? p->n : 1);
	if (pr->multi) {
		bpf_program__set_expected_attach_type(pr->skel->progs.cw_func_entry,
						      CW_ATTACH_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(pr->skel->progs.cw_func_return,
						      CW_ATTACH_UPROBE_MULTI);
	}
	return 0;
}

uint64_t cw_probes_cookie(const struct cw_probes *pr, const struct cw_points *p, size_t i)
{
	uint32_t flags = 0;

	if (p->at[i].at.flags & CW_PROBE_NO_FP)
		flags |= CW_COOKIE_NO_FP;
	if (pr->skel->rodata->cfg.stacks)
		flags |= CW_COOKIE_STACK;
	return CW_COOKIE(i, flags, p->at[i].at.sp_adjust);
}

/*
 * Without cookies a program cannot ask which probe it serves: each point gets its own copy of the
 * two programs, which knows, on the maps of the first.
 */
static int load_copy(struct cw_probes *pr, struct callweave_bpf **out, uint64_t cookie)
{
	struct callweave_bpf *copy = callweave_bpf__open();
	struct bpf_program *prog;
	struct bpf_map *map, *from;
	int rc = copy ? 0 : -errno;

	if (rc)
		return rc;
	*out = copy;
	bpf_object__for_each_program(prog, copy->obj)
	{
		bpf_program__set_autoload(prog, prog == copy->progs.cw_func_entry ||
							prog == copy->progs.cw_func_return);
	}
	bpf_object__for_each_map(map, copy->obj)
	{
		from = bpf_object__find_map_by_name(pr->skel->obj, bpf_map__name(map));
		if (!rc && map != copy->maps.rodata)
			rc = bpf_map__reuse_fd(map, bpf_map__fd(from));
	}
	copy->rodata->cfg = pr->skel->rodata->cfg;
	copy->rodata->cfg.only_cookie = cookie;
	return rc ? rc : callweave_bpf__load(copy);
}

static int load_copies(struct cw_probes *pr, const struct cw_points *p)
{
	int rc = 0;

	pr->copies = calloc(p->n ? p->n : 1, sizeof(*pr->copies));
	for (; pr->copies && !rc && pr->ncopies < p->n; pr->ncopies++)
		rc = load_copy(pr, &pr->copies[pr->ncopies], cw_probes_cookie(pr, p, pr->ncopies));
	return pr->copies ? rc : -ENOMEM;
}

static int set_cgroup(struct cw_probes *pr, int fd)
{
	uint32_t first = 0;

	return bpf_map_update_elem(bpf_map__fd(pr->skel->maps.cgroup), &first, &fd, BPF_ANY)
		       ? -errno
		       : 0;
}

/*
 * A ring's lock costs more the more CPUs want it (two that do nothing else: seven times as much),
 * so that many share several.
 */
static int make_rings(struct cw_probes *pr, const struct cw_options *o, char *err)
{
	size_t n;
	int rc;

	pr->ring_bytes = o->ring_bytes;
	n = cw_rings_share(&pr->ring_bytes, o->rings, sysconf(_SC_NPROCESSORS_ONLN));
	for (; pr->nrings < n; pr->nrings++) {
		pr->rings[pr->nrings] =
			bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cw_ring", 0, 0, pr->ring_bytes, NULL);
		if (pr->rings[pr->nrings] < 0) {
			rc = -errno;
			snprintf(err, CW_ERR,
				 "the kernel gives no buffer of %llu KiB: %s; a smaller "
				 "--ring-size may do",
				 (unsigned long long)(pr->ring_bytes * n >> 10), strerror(-rc));
			return rc;
		}
	}
	return bpf_map__set_inner_map_fd(pr->skel->maps.rings, pr->rings[0]);
}

static int share_rings(struct cw_probes *pr)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t cpu;
	int *ring;

	for (cpu = 0; cpu < pr->cpus; cpu++) {
		ring = &pr->rings[cw_rings_of_cpu(cpu, pr->nrings, online)];
		if (bpf_map_update_elem(bpf_map__fd(pr->skel->maps.rings), &cpu, ring, BPF_ANY))
			return -errno;
	}
	return 0;
}

int cw_probes_load(struct cw_probes **out, const struct cw_options *o, const struct cw_target *t,
		   const struct cw_points *p, char *err)
{
	struct cw_probes *pr;
	int rc;

	verbose = o->verbose;
	libbpf_set_print(print_libbpf);
	rc = cw_check_kernel(err);
	if (rc)
		return rc;
	pr = calloc(1, sizeof(*pr));
	if (!pr)
		return -ENOMEM;
	pr->cpus = libbpf_num_possible_cpus();
	pr->multi = cw_has_uprobe_multi();
	pr->links = calloc(CW_MAX_LINKS, sizeof(*pr->links));
	pr->own = calloc(p->n ? p->n : 1, sizeof(*pr->own));
	pr->nown = p->n;
	rc = pr->links && pr->own ? cw_check_privilege(pr->multi, err) : -ENOMEM;
	if (!rc) {
		pr->skel = callweave_bpf__open();
		rc = pr->skel ? make_rings(pr, o, err) : -errno;
	}
	if (!rc) {
		rc = configure(pr, o, t, p, err);
	}
	if (!rc) {
		rc = callweave_bpf__load(pr->skel);
		if (!rc)
			rc = share_rings(pr);
		if (!rc && t->cgroup_fd >= 0)
			rc = set_cgroup(pr, t->cgroup_fd);
		if (!rc && !pr->cookies)
			rc = load_copies(pr, p);
		if (rc)
			snprintf(err, CW_ERR,
				 "the kernel refused the BPF programs: %s; --verbose shows its "
				 "reasons",
				 strerror(-rc));
	}
	malloc_trim(0); /* the kernel's types took some megabytes */
	if (rc)
		cw_probes_free(pr);
	else
		*out = pr;
	return rc;
}
