/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/modules.o record/pending.o record/perfmap.o record/moved.o record/modtab.o */
/* LINK: record/modopen.o record/proctab.o */
/* LINK: record/idmap.o record/snapshot.o record/mmapwatch.o record/kallsyms.o record/embed.o */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o */
/* LINK: record/cxxname.o record/unplaced.o record/wanted.o */
/*
 * Modules, mappings and kernel symbols: the tables with made-up facts, then this process and its
 * children as they are, read back from a capture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../format/capture.h"
#include "../../record/idmap.h"
#include "../../record/kallsyms.h"
#include "../../record/modules.h"
#include "../../record/proctab.h"
#include "../../record/resolve.h"

static char dir[] = "/tmp/cw-modules-XXXXXX";

static const char *in_dir(const char *name)
{
	static char paths[4][128];
	static int i;

	i = (i + 1) % 4;
	snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
	return paths[i];
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- a capture written and read back ------------------------------------------------------------
 */

static struct cw_writer *writer;
static int capture_fd;
static struct cw_rec *recs[20000];
static size_t nrecs;

static void begin(void)
{
	struct cw_meta_kv kv[] = {{NULL, NULL}};

	capture_fd = open(in_dir("capture"), O_CREAT | O_TRUNC | O_RDWR, 0600);
	assert_true(capture_fd >= 0);
	assert_int_equal(cw_writer_new(&writer, capture_fd, kv), 0);
}

static void forget_records(void)
{
	while (nrecs)
		free(recs[--nrecs]);
}

/* Finish the capture and keep its REF records in recs. */
static void end(void)
{
	struct cw_end rec = {.h.type = CW_END, .reason = CW_END_TARGET};
	const struct cw_rec *r;
	struct cw_reader *reader;
	struct cw_pos pos;
	char err[512];

	forget_records();
	assert_int_equal(cw_writer_append_tail(writer, &rec.h, sizeof(rec), "", 0), 0);
	assert_int_equal(cw_writer_finish(writer, true), 0);
	cw_writer_free(writer);
	close(capture_fd);
	assert_int_equal(cw_reader_open(&reader, in_dir("capture"), err, sizeof(err)), 0);
	while (cw_reader_next(reader, &r, &pos) == 1) {
		if (r->type < CW_PROCESS || r->type > CW_PROBE || nrecs == 20000)
			continue;
		recs[nrecs] = calloc(1, r->size + 1u); /* texts get a NUL */
		memcpy(recs[nrecs++], r, r->size);
	}
	for (size_t i = 0; i < cw_reader_nproblems(reader); i++)
		fail_msg("%s", cw_reader_problem(reader, i)->text);
	cw_reader_free(reader);
}

static size_t count(uint16_t type, uint16_t flags)
{
	size_t n = 0;

	for (size_t i = 0; i < nrecs; i++)
		n += recs[i]->type == type && recs[i]->flags == flags;
	return n;
}

static const struct cw_module *module_named(const char *path)
{
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_module *m = (const void *)recs[i];

		if (recs[i]->type == CW_MODULE && !strcmp(m->path, path))
			return m;
	}
	return NULL;
}

/* The last mapping of a module by a process; pid 0: any. */
static const struct cw_map *map_of(const char *path, uint32_t pid)
{
	const struct cw_module *m = module_named(path);
	const struct cw_map *found = NULL;

	for (size_t i = 0; m && i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];

		if (recs[i]->type == CW_MAP && map->module_id == m->module_id &&
		    (!pid || map->pid == pid))
			found = map;
	}
	return found;
}

static bool has_payload(const char *path, uint32_t kind)
{
	const struct cw_module *m = module_named(path);

	for (size_t i = 0; m && i < nrecs; i++) {
		const struct cw_blob *b = (const void *)recs[i];

		if (recs[i]->type == CW_BLOB && b->module_id == m->module_id && b->kind == kind)
			return true;
	}
	return false;
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static void test_idmap(void **state)
{
	struct cw_idmap m = {0};

	(void)state;
	assert_int_equal(cw_idmap_get(&m, 5), 0);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(cw_idmap_put(&m, i * 4096, (uint32_t)i + 1), 0);
	cw_idmap_put(&m, 4096, 77);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(cw_idmap_get(&m, i * 4096), i == 1 ? 77 : i + 1);
	assert_int_equal(cw_idmap_get(&m, 1), 0);
	assert_int_equal(m.count, 5000);
	cw_idmap_clear(&m);
}

static int add(struct cw_proc *p, uint64_t start, uint64_t stop, uint32_t module)
{
	struct cw_map_entry e = {.start = start, .end = stop, .pgoff = start, .module_id = module};

	return cw_proc_add_map(p, &e);
}

static uint32_t at(const struct cw_proc *p, uint64_t addr)
{
	const struct cw_map_entry *e = cw_proc_find_map(p, addr);

	/* Whatever was cut off, an address stays at its place in the file. */
	if (e)
		assert_int_equal(e->pgoff, e->start);
	return e ? e->module_id : 0;
}

static void test_maps(void **state)
{
	struct cw_proctab *t = cw_proctab_new();
	struct cw_proc *p = cw_proctab_get(t, 10, true);

	(void)state;
	assert_int_equal(add(p, 100, 200, 1), 1);
	assert_int_equal(add(p, 100, 200, 1), 0);
	p->maps[0].ts = 9; /* seen late: the time of the event is news */
	assert_int_equal(add(p, 100, 200, 1), 1);
	assert_int_equal(p->maps[0].ts, 0);
	assert_int_equal(add(p, 300, 400, 2), 1);
	assert_int_equal(at(p, 99), 0);
	assert_int_equal(at(p, 100), 1);
	assert_int_equal(at(p, 199), 1);
	assert_int_equal(at(p, 200), 0);
	assert_int_equal(add(p, 140, 160, 3), 1); /* in the middle */
	assert_int_equal(at(p, 139), 1);
	assert_int_equal(at(p, 140), 3);
	assert_int_equal(at(p, 160), 1);
	assert_int_equal(p->nmaps, 4);
	assert_int_equal(add(p, 190, 310, 4), 1); /* over two edges */
	assert_int_equal(at(p, 189), 1);
	assert_int_equal(at(p, 250), 4);
	assert_int_equal(at(p, 310), 2);
	assert_int_equal(add(p, 0, 1000, 5), 1); /* over all */
	assert_int_equal(p->nmaps, 1);
	assert_int_equal(add(p, 0, 10, 6), 1); /* the start, the end, the same range */
	assert_int_equal(add(p, 900, 1000, 7), 1);
	assert_int_equal(add(p, 900, 1000, 8), 1);
	assert_int_equal(at(p, 5), 6);
	assert_int_equal(at(p, 10), 5);
	assert_int_equal(at(p, 999), 8);
	assert_int_equal(p->nmaps, 3);
	p->generation++;
	add(p, 900, 1000, 8);
	cw_proc_drop_old_maps(p);
	assert_int_equal(p->nmaps, 1);
	assert_int_equal(add(p, 5, 5, 9), 0); /* empty */
	cw_proctab_set_rec_pid(t, p, 3);
	assert_ptr_equal(cw_proctab_by_rec_pid(t, 3), p);
	cw_proctab_set_rec_pid(t, p, 4);
	assert_null(cw_proctab_by_rec_pid(t, 3));
	cw_proctab_drop(t, 10);
	assert_null(cw_proctab_by_rec_pid(t, 4));
	assert_null(cw_proctab_get(t, 10, false));
	cw_proctab_free(t);
}

/* Against a plain array of addresses. */
static void test_maps_random(void **state)
{
	static uint32_t model[512];
	struct cw_proctab *t = cw_proctab_new();
	struct cw_proc *p = cw_proctab_get(t, 10, true);

	(void)state;
	srandom(1);
	for (uint32_t round = 1; round < 3000; round++) {
		uint64_t start = (uint64_t)random() % 500;
		uint64_t stop = start + 1 + (uint64_t)random() % (512 - start > 60 ? 60 : 12);

		assert_true(add(p, start, stop, round) == 1);
		for (uint64_t a = start; a < stop; a++)
			model[a] = round;
		for (uint64_t a = 0; a < 512; a++)
			assert_int_equal(at(p, a), model[a]);
	}
	cw_proctab_free(t);
}

static const struct cw_ksym *ksym(const char *name)
{
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_ksym *k = (const void *)recs[i];

		if (recs[i]->type == CW_KSYM && !strcmp(k->name, name))
			return k;
	}
	return NULL;
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_kallsyms(void **state)
{
	struct cw_kallsyms *k;

	(void)state;
	put_file("kallsyms", "ffffffff81000000 T _text\n"
			     "ffffffff81000100 T first\n"
			     "ffffffff81000100 t alias\n"
			     "ffffffff81000180 d data\n"
			     "ffffffff81000200 t second\n"
			     "ffffffff81000300 T third\n"
			     "ffffffffc0000100 t in_module\t[mod]\n"
			     "ffffffff81000280 t unsorted\n");
	k = cw_kallsyms_new(in_dir("kallsyms"));
	begin();
	cw_kallsyms_note(k, 0xffffffff81000150);
	cw_kallsyms_note(k, 0xffffffff810001ff);
	cw_kallsyms_note(k, 0xffffffff81000200);
	cw_kallsyms_note(k, 0xffffffff81000281);
	cw_kallsyms_note(k, 0xffffffffc0000123);
	cw_kallsyms_note(k, 0xffffffff90000000); /* far from everything */
	cw_kallsyms_note(k, 0x1000);
	cw_kallsyms_note(k, 0);
	assert_int_equal(cw_kallsyms_flush(k, writer, 5), 0);
	assert_int_equal(cw_kallsyms_flush(k, writer, 6), 0);
	/* Of a known symbol the table is not read again. */
	assert_int_equal(rename(in_dir("kallsyms"), in_dir("hidden")), 0);
	cw_kallsyms_note(k, 0xffffffff81000151);
	assert_int_equal(cw_kallsyms_flush(k, writer, 6), 0);
	assert_int_equal(rename(in_dir("hidden"), in_dir("kallsyms")), 0);
	cw_kallsyms_note(k, 0xffffffff81000300);
	assert_int_equal(cw_kallsyms_flush(k, writer, 7), 0);
	assert_int_equal(cw_kallsyms_repeat(k, writer), 0);
	end();
	cw_kallsyms_free(k);
	assert_int_equal(count(CW_KSYM, 0), 5);
	assert_int_equal(count(CW_KSYM, CW_REC_REPEATED), 5);
	assert_int_equal(ksym("first")->start, 0xffffffff81000100);
	assert_int_equal(ksym("first")->end, 0xffffffff81000200);
	assert_int_equal(ksym("second")->end, 0xffffffff81000280);
	assert_int_equal(ksym("unsorted")->end, 0xffffffff81000300);
	assert_int_equal(ksym("third")->h.ts, 7);
	assert_non_null(ksym("in_module"));
	assert_null(ksym("alias"));
	assert_null(ksym("data"));
}

static void test_kptr_restrict(void **state)
{
	struct cw_kallsyms *k;

	(void)state;
	put_file("kallsyms", "0000000000000000 T _text\n0000000000000000 T first\n");
	k = cw_kallsyms_new(in_dir("kallsyms"));
	begin();
	cw_kallsyms_note(k, 0xffffffff81000150);
	assert_int_equal(cw_kallsyms_flush(k, writer, 5), 0);
	end();
	assert_int_equal(count(CW_KSYM, 0), 0);
	cw_kallsyms_free(k);
}

/* ---- processes as they are
 * ------------------------------------------------------------------------ */

static void *named_thread(void *arg)
{
	prctl(PR_SET_NAME, "cw-test-worker");
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static void test_snapshot(void **state)
{
	struct cw_modules *m;
	pthread_barrier_t barrier;
	const struct cw_process *p = NULL;
	const struct cw_map *map;
	pthread_t thread;
	size_t maps, before;
	char exe[512] = "";
	bool worker = false;
	uint32_t pid = (uint32_t)getpid();
	uint64_t start = now();

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, named_thread, &barrier);
	pthread_barrier_wait(&barrier);
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0); /* nothing new */
	assert_int_equal(cw_modules_snapshot(m, 0x7ffffff0, 0x7ffffff0), -ESRCH);
	assert_int_equal(cw_modules_repeat(m), 0);
	cw_modules_free(m);
	end();
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_thread *t = (const void *)recs[i];

		if (recs[i]->type == CW_PROCESS && !p)
			p = (const void *)recs[i];
		if (recs[i]->type == CW_THREAD && !strcmp(t->comm, "cw-test-worker")) {
			worker = true;
			assert_int_equal(t->pid, pid);
			assert_int_not_equal(t->tid, pid);
			assert_int_not_equal(t->ns_tid, 0);
			assert_true(t->start_boottime >= p->start_boottime);
		}
	}
	assert_non_null(p);
	assert_true(worker);
	assert_int_equal(p->pid, pid);
	assert_int_equal(p->ppid, getppid());
	assert_int_equal(p->uid, getuid());
	assert_int_equal(p->rec_pid, pid);
	assert_string_equal(p->exe, exe);
	assert_true(p->h.ts >= start && p->h.ts <= now());
	assert_int_equal(count(CW_PROCESS, 0), 1);
	assert_int_equal(count(CW_PROCESS_ARGS, 0), 1);
	assert_int_equal(count(CW_PROCESS, CW_REC_REPEATED), 1);
	maps = count(CW_MAP, 0);
	before = count(CW_MODULE, 0);
	assert_true(maps >= 4 && before >= 4);
	assert_int_equal(count(CW_MAP, CW_REC_REPEATED), maps);
	assert_int_equal(count(CW_MODULE, CW_REC_REPEATED), before);
	assert_non_null(module_named("[vdso]"));
	map = map_of(exe, pid);
	assert_non_null(map);
	assert_true(map->start <= (uintptr_t)test_snapshot && map->end > (uintptr_t)test_snapshot);
	assert_int_equal(map->flags, CW_MAP_PROC);
}

static bool keep_all(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return true;
}

static bool keep_none(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return false;
}

static int build(void)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd),
		 "cd %s && echo 'int f(int x) { return x + 1; } int main(void) { return 0; }' >a.c"
		 " && gcc -O1 -fPIC -shared -o lib.so a.c && gcc -o prog a.c && cp prog prog2"
		 " && gcc -O2 -Wl,--build-id=none -fPIC -shared -o noid.so a.c",
		 dir);
	return system(cmd);
}

/* Start watching, or skip the test where that is not allowed. */
static void watch(struct cw_modules *m, bool (*keep)(void *arg, uint32_t pid))
{
	int rc = cw_modules_watch(m, keep, NULL);

	if (rc == -EACCES || rc == -EPERM) {
		cw_modules_free(m);
		end();
		skip();
	}
	assert_int_equal(rc, 0);
}

static void stack_at(struct cw_modules *m, uint32_t pid, uint64_t addr)
{
	struct {
		struct cw_stack s;
		uint64_t frames[2];
	} rec = {.s.h = {.type = CW_STACK, .size = sizeof(rec)}, .s.pid = pid};

	rec.frames[0] = addr;
	rec.frames[1] = 0x1234; /* garbage harms nobody */
	cw_modules_note_stack(m, &rec.s);
}

static void test_watch(void **state)
{
	struct cw_modules *m;
	const struct cw_map *map;
	uint64_t before, after;
	uint32_t pid = (uint32_t)getpid();
	uint8_t id[24];
	void *handle;
	int fd;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	watch(m, keep_all);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	before = now();
	handle = dlopen(in_dir("lib.so"), RTLD_NOW);
	after = now();
	assert_non_null(handle);
	/* A process that is gone, and whose file is gone, before anybody looks. */
	assert_int_equal(system(in_dir("prog")), 0);
	assert_int_equal(cw_modules_drain(m), 0);
	unlink(in_dir("lib.so"));
	stack_at(m, pid, (uintptr_t)dlsym(handle, "f"));
	stack_at(m, pid, (uintptr_t)strtol);
	assert_int_equal(cw_modules_embed(m), 0);
	fd = open(in_dir("prog"), O_RDONLY);
	assert_int_equal(cw_elf_build_id(fd, id), 20);
	close(fd);
	cw_modules_free(m);
	end();
	map = map_of(in_dir("lib.so"), pid);
	assert_non_null(map);
	assert_int_equal(map->flags, CW_MAP_MMAP2);
	assert_true(map->h.ts >= before && map->h.ts <= after);
	assert_true((uintptr_t)dlsym(handle, "f") >= map->start);
	assert_true((uintptr_t)dlsym(handle, "f") < map->end);
	assert_true(has_payload(in_dir("lib.so"), CW_BLOB_SYMBOLS));
	assert_false(has_payload(in_dir("prog"), CW_BLOB_SYMBOLS)); /* in no stack */
	assert_non_null(map_of(in_dir("prog"), 0));
	assert_memory_equal(module_named(in_dir("prog"))->build_id, id, 20);
	assert_int_not_equal(module_named(in_dir("prog"))->ino, 0);
	dlclose(handle);
}

/* The recorder may hear of a process only after it mapped everything and ended. */
static void test_late(void **state)
{
	struct cw_modules *m;
	int status;
	pid_t pid;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	watch(m, keep_none);
	pid = fork();
	if (!pid) {
		execl(in_dir("prog2"), "prog2", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cw_modules_drain(m), 0);
	assert_int_equal(cw_modules_snapshot(m, (uint32_t)pid, (uint32_t)pid), -ESRCH);
	cw_modules_free(m);
	end();
	assert_non_null(map_of(in_dir("prog2"), (uint32_t)pid));
}

static void test_deleted(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid();
	void *handle = dlopen(in_dir("noid.so"), RTLD_NOW), *anon;
	void *f = dlsym(handle, "f");

	(void)state;
	assert_non_null(handle);
	unlink(in_dir("noid.so"));
	put_file("noid.so", "another file of that name");
	anon = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	stack_at(m, pid, (uintptr_t)f);
	stack_at(m, pid, (uintptr_t)anon);
	assert_int_equal(cw_modules_embed(m), 0);
	cw_modules_free(m);
	end();
	dlclose(handle);
	assert_non_null(module_named(in_dir("noid.so")));
	if (!access("/proc/self/map_files", X_OK) && !getuid())
		assert_true(has_payload(in_dir("noid.so"), CW_BLOB_SYMBOLS));
	assert_true(map_of("[anon]", pid)->start <= (uintptr_t)anon);
	assert_true(map_of("[anon]", pid)->end > (uintptr_t)anon);
	munmap(anon, 4096);
}

/* Without perf's help new mappings are looked for when a stack shows one. */
static void test_unwatched(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid();
	void *handle;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	handle = dlopen(in_dir("other.so"), RTLD_NOW);
	assert_non_null(handle);
	stack_at(m, pid, (uintptr_t)dlsym(handle, "f"));
	assert_int_equal(cw_modules_embed(m), 0);
	cw_modules_free(m);
	end();
	assert_non_null(map_of(in_dir("other.so"), pid));
	dlclose(handle);
}

/* A stack may be read before the mapping that it shows, or before its process is known at all. */
static void test_early_stack(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid();
	void *handle;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	watch(m, keep_all);
	stack_at(m, pid, (uintptr_t)strtol);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	handle = dlopen(in_dir("early.so"), RTLD_NOW);
	assert_non_null(handle);
	stack_at(m, pid, (uintptr_t)dlsym(handle, "f"));
	assert_int_equal(cw_modules_drain(m), 0);
	assert_int_equal(cw_modules_embed(m), 0);
	cw_modules_free(m);
	end();
	assert_true(has_payload(in_dir("early.so"), CW_BLOB_SYMBOLS));
	assert_true(count(CW_BLOB, 0) >= 2); /* the C library, too */
	dlclose(handle);
}

static void test_fork(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid();
	uint64_t ts = now();
	size_t own = 0, childs = 0;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	assert_int_equal(cw_modules_fork(m, pid, 77777777, ts), 0);
	assert_int_equal(cw_modules_fork(m, 5, 6, ts), 0); /* nobody's child */
	stack_at(m, 77777777, (uintptr_t)strtol);
	assert_int_equal(cw_modules_embed(m), 0);
	cw_modules_forget(m, 77777777);
	cw_modules_free(m);
	end();
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];

		if (recs[i]->type != CW_MAP)
			continue;
		own += map->pid == pid;
		childs += map->pid == 77777777 && map->h.ts == ts;
	}
	assert_true(own > 3);
	assert_int_equal(own, childs);
	assert_true(count(CW_BLOB, 0) > 0);
}

static void test_add_fd(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid(), first, second, other;
	int fd = open("/proc/self/exe", O_RDONLY), copy = open(in_dir("prog"), O_RDONLY);

	(void)state;
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_add_fd(m, fd, "/proc/self/exe", &first), 0);
	assert_int_equal(cw_modules_add_fd(m, fd, "/proc/self/exe", &second), 0);
	assert_int_equal(cw_modules_add_fd(m, copy, in_dir("prog"), &other), 0);
	close(copy);
	close(fd);
	assert_int_equal(first, second);
	assert_int_not_equal(first, other);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	assert_int_equal(cw_modules_embed(m), 0);
	cw_modules_free(m);
	end();
	/* The probe's module and the mapping's are the same, and embedded without any stack. */
	assert_true(has_payload("/proc/self/exe", CW_BLOB_SYMBOLS));
	assert_non_null(map_of("/proc/self/exe", pid));
}

static int setup(void **state)
{
	char cmd[256];

	(void)state;
	if (!mkdtemp(dir) || build())
		return -1;
	snprintf(cmd, sizeof(cmd),
		 "cd %s && gcc -O0 -fPIC -shared -o other.so a.c && gcc -O3 -fPIC -shared -DX -o "
		 "early.so a.c",
		 dir);
	return system(cmd);
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	forget_records();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap),         cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_random),   cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_kptr_restrict), cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_watch),         cmocka_unit_test(test_late),
		cmocka_unit_test(test_deleted),       cmocka_unit_test(test_unwatched),
		cmocka_unit_test(test_add_fd),        cmocka_unit_test(test_early_stack),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
