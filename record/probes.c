/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the BPF object: what is set before it is loaded, how its programs are attached, and the maps
 * that user space reads and writes. Must not know what records mean.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "attach.h"
#include "privilege.h"
#include "probes.h"
#include "callweave.skel.h"

#define WAKE_BYTES (256u << 10)
#define MAX_LINKS  32

struct cw_probes {
	struct callweave_bpf *skel;
	struct callweave_bpf *
		*copies; /* of the uprobe programs, one a point, where there are no cookies */
	size_t ncopies;
	bool multi;
	bool cookies; /* 5.15: probes carry a number */
	unsigned int cpus;
	int fds[CW_MAX_POINT_FILES]
	       [2];              /* uprobe_multi links of files, entries and returns; 0 none */
	struct bpf_link **links; /* of tracepoints */
	size_t nlinks;
	struct own_links {
		int fd[2]; /* uprobe_multi links, entry and return; 0 none */
		struct bpf_link *link[2];
		bool gone;
	} * own; /* of each point; links only where points do not share those of their file */
	size_t nown;
	uint32_t hot; /* points that had too many hits and were seen */
};

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
	c->wake_bytes = o->ring_bytes / 4 < WAKE_BYTES ? o->ring_bytes / 4 : WAKE_BYTES;
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
	bpf_map__set_max_entries(pr->skel->maps.events, o->ring_bytes);
	bpf_map__set_max_entries(pr->skel->maps.runq, pr->cpus);
	bpf_map__set_max_entries(pr->skel->maps.saves, pr->cpus * CW_STACK_SLOTS);
	bpf_map__set_value_size(pr->skel->maps.saves, CW_SAVE_VALUE(c->save_bytes));
	bpf_map__set_max_entries(pr->skel->maps.probe_guard, p->n ? p->n : 1);
	bpf_map__set_max_entries(pr->skel->maps.probe_no_fp, p->n ? p->n : 1);
	bpf_map__set_max_entries(pr->skel->maps.probe_rates, p->n ? p->n : 1);
	if (pr->multi) {
		bpf_program__set_expected_attach_type(pr->skel->progs.cw_func_entry,
						      CW_ATTACH_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(pr->skel->progs.cw_func_return,
						      CW_ATTACH_UPROBE_MULTI);
	}
	return 0;
}

static uint64_t point_cookie(const struct cw_probes *pr, const struct cw_points *p, size_t i)
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
		rc = load_copy(pr, &pr->copies[pr->ncopies], point_cookie(pr, p, pr->ncopies));
	return pr->copies ? rc : -ENOMEM;
}

static int set_cgroup(struct cw_probes *pr, int fd)
{
	uint32_t first = 0;

	return bpf_map_update_elem(bpf_map__fd(pr->skel->maps.cgroup), &first, &fd, BPF_ANY)
		       ? -errno
		       : 0;
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
	pr->links = calloc(MAX_LINKS, sizeof(*pr->links));
	pr->own = calloc(p->n ? p->n : 1, sizeof(*pr->own));
	pr->nown = p->n;
	rc = pr->links && pr->own ? cw_check_privilege(pr->multi, err) : -ENOMEM;
	if (!rc) {
		pr->skel = callweave_bpf__open();
		rc = pr->skel ? configure(pr, o, t, p, err) : -errno;
	}
	if (!rc) {
		rc = callweave_bpf__load(pr->skel);
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

static int keep_link(struct cw_probes *pr, struct bpf_link *link)
{
	if (!link)
		return -errno;
	pr->links[pr->nlinks++] = link;
	return 0;
}

/* Tracepoints; without one of them the recording is poorer but still true. */
static void attach_tracepoints(struct cw_probes *pr, void (*warn)(const char *text))
{
	const struct {
		struct bpf_program *prog;
		const char *name, *lost;
	} list[] = {
		{pr->skel->progs.cw_process_fork, "sched_process_fork",
		 "new threads are not noticed"},
		{pr->skel->progs.cw_process_exec, "sched_process_exec",
		 "executed programs are not noticed"},
		{pr->skel->progs.cw_process_exit, "sched_process_exit",
		 "ends of threads are not noticed"},
		{pr->skel->progs.cw_task_rename, "task_rename",
		 "new names of threads are not noticed"},
		{pr->skel->progs.cw_sched_switch, "sched_switch", "times off the CPU are unknown"},
		{pr->skel->progs.cw_sched_waking, "sched_waking", "wakers are unknown"},
		{pr->skel->progs.cw_sched_wakeup, "sched_wakeup",
		 "times on the run queue are unknown"},
		{pr->skel->progs.cw_sched_wakeup_new, "sched_wakeup_new",
		 "first times on the run queue are unknown"},
		{pr->skel->progs.cw_sched_migrate, "sched_migrate_task",
		 "who ran instead of a thread moved to another CPU is unknown"},
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++) {
		int rc = keep_link(pr, bpf_program__attach(list[i].prog));

		if (!rc)
			continue;
		snprintf(text, sizeof(text), "cannot attach to the tracepoint %s (%s): %s",
			 list[i].name, strerror(-rc), list[i].lost);
		warn(text);
	}
}

/* All points of one file with one link. */
static int attach_file_multi(struct cw_probes *pr, size_t file, const struct cw_points *p, bool ret,
			     pid_t pid)
{
	const struct cw_elf_file *f = p->files[file];
	uint64_t *offsets = calloc(p->n, sizeof(*offsets)),
		 *cookies = calloc(p->n, sizeof(*cookies));
	struct bpf_program *prog =
		ret ? pr->skel->progs.cw_func_return : pr->skel->progs.cw_func_entry;
	size_t i, n = 0;
	int fd = 0;

	for (i = 0; offsets && cookies && i < p->n; i++) {
		if (p->at[i].file != f || (ret && !p->at[i].ret))
			continue;
		offsets[n] = p->at[i].at.placed;
		cookies[n++] = point_cookie(pr, p, i);
	}
	if (n)
		fd = cw_attach_multi(bpf_program__fd(prog), f->fd, offsets, cookies, n, ret, pid);
	free(offsets);
	free(cookies);
	if (n && fd >= 0)
		pr->fds[file][ret] = fd;
	return fd < 0 ? fd : 0;
}

/* The same for one point: a link that can be closed alone. */
static int attach_own_multi(struct cw_probes *pr, const struct cw_points *p, size_t i, bool ret,
			    pid_t pid)
{
	uint64_t offset = p->at[i].at.placed, cookie = point_cookie(pr, p, i);
	struct bpf_program *prog =
		ret ? pr->skel->progs.cw_func_return : pr->skel->progs.cw_func_entry;
	int fd = cw_attach_multi(bpf_program__fd(prog), p->at[i].file->fd, &offset, &cookie, 1, ret,
				 pid);

	pr->own[i].fd[ret] = fd > 0 ? fd : 0;
	return fd < 0 ? fd : 0;
}

static int attach_single(struct cw_probes *pr, const struct cw_points *p, size_t i, bool ret,
			 pid_t pid)
{
	struct bpf_uprobe_opts opts = {
		.sz = sizeof(opts),
		.bpf_cookie = pr->cookies ? point_cookie(pr, p, i) : 0,
		.retprobe = ret,
	};
	struct callweave_bpf *skel = pr->cookies ? pr->skel : pr->copies[i];
	struct bpf_program *prog = ret ? skel->progs.cw_func_return : skel->progs.cw_func_entry;
	struct bpf_link *link;
	char path[64];

	if (pr->multi)
		return attach_own_multi(pr, p, i, ret, pid);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->at[i].file->fd);
	link = bpf_program__attach_uprobe_opts(prog, pid ? pid : -1, path, p->at[i].at.placed,
					       &opts);
	pr->own[i].link[ret] = link;
	return link ? 0 : -errno;
}

static int attach_files(struct cw_probes *pr, const struct cw_points *p, pid_t pid, char *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->nfiles; i++) {
		rc = attach_file_multi(pr, i, p, true, pid);
		if (!rc)
			rc = attach_file_multi(pr, i, p, false, pid);
		if (rc)
			snprintf(err, CW_ERR, "cannot probe functions of %s: %s", p->files[i]->path,
				 strerror(-rc));
	}
	return rc;
}

static int attach_functions(struct cw_probes *pr, const struct cw_points *p, pid_t pid, char *err)
{
	size_t i;
	int rc = 0;

	if (pr->multi && !pr->skel->rodata->cfg.max_rate)
		return attach_files(pr, p, pid, err);
	for (i = 0; !rc && i < p->n; i++) {
		rc = p->at[i].ret ? attach_single(pr, p, i, true, pid) : 0;
		if (!rc)
			rc = attach_single(pr, p, i, false, pid);
		if (rc)
			snprintf(err, CW_ERR, "cannot probe %s in %s: %s", p->at[i].name,
				 p->at[i].file->path, strerror(-rc));
	}
	return rc;
}

/* The process to put breakpoints into; 0 when others can join it. */
static pid_t only_process(const struct cw_target *t)
{
	bool alone = t->nprocs == 1 && !t->child && !t->follow && !cw_target_adopts(t);

	return alone ? t->procs[0].pid : 0;
}

int cw_probes_attach(struct cw_probes *pr, const struct cw_target *t, const struct cw_points *p,
		     void (*warn)(const char *text), char *err)
{
	attach_tracepoints(pr, warn);
	return attach_functions(pr, p, only_process(t), err);
}

int cw_probes_want(struct cw_probes *pr, uint32_t pid)
{
	uint32_t none = 0;

	return bpf_map_update_elem(bpf_map__fd(pr->skel->maps.wanted), &pid, &none, BPF_ANY)
		       ? -errno
		       : 0;
}

int cw_probes_seed(struct cw_probes *pr)
{
	struct bpf_link *link = bpf_program__attach_iter(pr->skel->progs.cw_seed, NULL);
	char buf[64];
	int fd, rc = 0;
	ssize_t n;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		rc = -errno;
	} else {
		while ((n = read(fd, buf, sizeof(buf))) > 0 ||
		       (n < 0 && (errno == EAGAIN || errno == EINTR)))
			;
		rc = n < 0 ? -errno : 0;
		close(fd);
	}
	bpf_link__destroy(link);
	return rc;
}

uint32_t cw_probes_global_pid(const struct cw_probes *pr, uint32_t pid)
{
	uint32_t global = 0;

	bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.wanted), &pid, &global);
	return global;
}

bool cw_probes_any_process(const struct cw_probes *pr)
{
	uint32_t pid;

	return !bpf_map_get_next_key(bpf_map__fd(pr->skel->maps.procs), NULL, &pid);
}

static void texts_add(struct cw_texts *t, uint64_t start, uint64_t end)
{
	uint64_t at;
	uint32_t i;

	if ((end - start) >> CW_TEXT_SHIFT >= CW_TEXT_WORDS * 64)
		memset(t->bits, 0xff, sizeof(t->bits));
	else
		for (at = start >> CW_TEXT_SHIFT; at <= (end - 1) >> CW_TEXT_SHIFT; at++)
			t->bits[CW_TEXT_BIT(at << CW_TEXT_SHIFT) >> 6] |=
				1ull << (CW_TEXT_BIT(at << CW_TEXT_SHIFT) & 63);
	if (t->n >= CW_TEXT_RANGES) {
		t->n = CW_TEXT_RANGES + 1;
		return;
	}
	for (i = t->n++; i && t->ranges[i - 1].start > start; i--)
		t->ranges[i] = t->ranges[i - 1];
	t->ranges[i].start = start;
	t->ranges[i].end = end;
}

void cw_probes_text(void *probes, uint32_t pid, uint64_t start, uint64_t end)
{
	struct cw_probes *pr = probes;
	int fd = bpf_map__fd(pr->skel->maps.texts);
	struct cw_texts t;

	if (start >= end) {
		bpf_map_delete_elem(fd, &pid);
		return;
	}
	if (bpf_map_lookup_elem(fd, &pid, &t)) {
		memset(&t, 0, sizeof(t));
		memset(t.ranges, 0xff, sizeof(t.ranges));
	}
	texts_add(&t, start, end);
	/* Without room stacks are told apart by more than they need. */
	bpf_map_update_elem(fd, &pid, &t, BPF_ANY);
}

uint32_t cw_probes_rec_pid(const struct cw_probes *pr, uint32_t global)
{
	uint32_t pid = 0;

	bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.rec_pids), &global, &pid);
	return pid;
}

void cw_probes_stop(struct cw_probes *pr)
{
	pr->skel->bss->cw_stopped = 1;
}

static void detach_own(struct own_links *own)
{
	for (int ret = 0; ret < 2; ret++) {
		if (own->fd[ret])
			close(own->fd[ret]);
		bpf_link__destroy(own->link[ret]);
	}
	memset(own, 0, sizeof(*own));
	own->gone = true;
}

static void detach_files(int fds[2])
{
	for (int ret = 0; ret < 2; ret++) {
		if (fds[ret])
			close(fds[ret]);
		fds[ret] = 0;
	}
}

bool cw_probes_detach_point(struct cw_probes *pr, size_t point)
{
	if (pr->own[point].gone)
		return false;
	detach_own(&pr->own[point]);
	return true;
}

void cw_probes_detach_file(struct cw_probes *pr, const struct cw_points *p,
			   const struct cw_elf_file *f)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i] == f)
			detach_files(pr->fds[i]);
}

bool cw_probes_take_hot(struct cw_probes *pr, struct cw_hot_probe *out)
{
	struct cw_rate r;
	uint32_t i;

	if (pr->skel->bss->cw_too_hot == pr->hot)
		return false;
	for (i = 0; i < pr->nown; i++) {
		if (pr->own[i].gone ||
		    bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.probe_rates), &i, &r) || !r.off)
			continue;
		detach_own(&pr->own[i]);
		*out = (struct cw_hot_probe){.probe = i, .hits = r.count};
		/* Nobody is silent any more: what moved the moment to and fro is over. */
		bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.probe_rates), &i, &r);
		out->ts = r.off;
		out->ns = r.off > r.since ? r.off - r.since : 1;
		return true;
	}
	/* Two CPUs may have counted the same one. */
	pr->hot = pr->skel->bss->cw_too_hot;
	return false;
}

void cw_probes_detach(struct cw_probes *pr)
{
	for (size_t i = 0; i < CW_MAX_POINT_FILES; i++)
		detach_files(pr->fds[i]);
	while (pr->nown)
		detach_own(&pr->own[--pr->nown]);
	while (pr->nlinks)
		bpf_link__destroy(pr->links[--pr->nlinks]);
}

int cw_probes_ring_fd(const struct cw_probes *pr)
{
	return bpf_map__fd(pr->skel->maps.events);
}

unsigned int cw_probes_cpus(const struct cw_probes *pr)
{
	return pr->cpus;
}

int cw_probes_counts(const struct cw_probes *pr, uint32_t kind, struct cw_count *percpu)
{
	return bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.counts), &kind, percpu) ? -errno : 0;
}

uint32_t cw_probes_next_loss_gen(struct cw_probes *pr)
{
	return pr->skel->data->cw_loss_gen++;
}

void cw_probes_next_epoch(struct cw_probes *pr)
{
	pr->skel->data->cw_epoch++;
}

static uint64_t prog_misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) ? 0
									  : info.recursion_misses;
}

uint64_t cw_probes_missed(const struct cw_probes *pr, uint32_t kind)
{
	const struct {
		uint32_t kind;
		const struct bpf_program *prog;
	} list[] = {
		{CW_PROBE_ENTRY, pr->skel->progs.cw_func_entry},
		{CW_PROBE_RETURN, pr->skel->progs.cw_func_return},
		{CW_SCHED_SWITCH, pr->skel->progs.cw_sched_switch},
		{CW_SCHED_WAKING, pr->skel->progs.cw_sched_waking},
		{CW_SCHED_WAKEUP, pr->skel->progs.cw_sched_wakeup},
		{CW_SCHED_WAKEUP, pr->skel->progs.cw_sched_wakeup_new},
		{CW_FORK, pr->skel->progs.cw_process_fork},
		{CW_EXEC, pr->skel->progs.cw_process_exec},
		{CW_EXIT, pr->skel->progs.cw_process_exit},
		{CW_THREAD, pr->skel->progs.cw_task_rename},
	};
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		n += list[i].kind == kind ? prog_misses(list[i].prog) : 0;
	for (i = 0; i < pr->ncopies; i++) {
		if (kind == CW_PROBE_ENTRY)
			n += prog_misses(pr->copies[i]->progs.cw_func_entry);
		else if (kind == CW_PROBE_RETURN)
			n += prog_misses(pr->copies[i]->progs.cw_func_return);
	}
	return n;
}

void cw_probes_free(struct cw_probes *pr)
{
	if (!pr)
		return;
	cw_probes_detach(pr);
	while (pr->ncopies)
		callweave_bpf__destroy(pr->copies[--pr->ncopies]);
	free(pr->copies);
	callweave_bpf__destroy(pr->skel);
	free(pr->links);
	free(pr->own);
	free(pr);
}
