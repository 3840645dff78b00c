/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/modules.o record/pending.o record/perfmap.o record/moved.o record/madecode.o */
/* LINK: record/procinfo.o record/relook.o record/kerntext.o record/missing_text.o */
/* LINK: record/modopen.o record/modtab.o record/proctab.o */
/* LINK: record/idmap.o record/snapshot.o record/mmapwatch.o record/kallsyms.o record/embed.o */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o */
/* LINK: record/cxxname.o record/unplaced.o record/wanted.o */
/*
 * Modules and mappings of this process and of its children as they are, read back from a capture.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include "../../record/modopen.h"
#include "../../record/modules.h"
#include "../../record/resolve.h"
#include "recorded_fixture.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
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

/* The inode of what is opened for a mapping of this process that was of lib, as its report says. */
static uint64_t inode_opened(const char *mapped, const char *lib)
{
	struct cw_mapped_file f = {.path = in_dir(lib), .pid = (uint32_t)getpid()};
	struct cw_modopen *o = cw_modopen_new();
	char line[1024], perms[8], path[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	struct stat st;
	int fd;

	assert_int_equal(stat(in_dir(lib), &st), 0);
	f.ino = st.st_ino;
	f.dev_major = major(st.st_dev);
	f.dev_minor = minor(st.st_dev);
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %511s", &start, &end, perms, path) == 4 &&
		    perms[2] == 'x' && !strcmp(path, mapped)) {
			f.start = start;
			f.end = end;
		}
	}
	fclose(maps);
	assert_true(f.end > 0);
	fd = cw_modopen_file(o, &f);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	cw_modopen_free(o);
	return st.st_ino;
}

/* When a report is looked at, another library may be mapped at its addresses. */
static void test_mapped_meanwhile(void **state)
{
	char mapped[512];
	struct stat st;

	(void)state;
	snprintf(mapped, sizeof(mapped), "%s", in_dir("here.so"));
	assert_non_null(dlopen(mapped, RTLD_NOW));
	assert_int_equal(stat(mapped, &st), 0);
	assert_int_equal(inode_opened(mapped, "here.so"), st.st_ino);
	assert_int_equal(stat(in_dir("there.so"), &st), 0);
	assert_int_equal(inode_opened(mapped, "there.so"), st.st_ino);
}

static void test_add_fd(void **state)
{
	struct cw_modules *m;
	uint32_t pid = (uint32_t)getpid(), first, second, other;
	int fd = open("/proc/self/exe", O_RDONLY), copy = open(in_dir("prog"), O_RDONLY);

	(void)state;
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_add_fd(m, fd, "/proc/self/exe", 0, &first), 0);
	assert_int_equal(cw_modules_add_fd(m, fd, "/proc/self/exe", 0, &second), 0);
	assert_int_equal(cw_modules_add_fd(m, copy, in_dir("prog"), 0, &other), 0);
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

/*
 * Memory, or a file fd that is memory, with these bytes over the page of a function of a library;
 * where that is.
 */
static char *move_over(const char *lib, bool same, int fd)
{
	int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *from = dlsym(dlopen(in_dir(lib), RTLD_NOW), "f"), *to;

	from = (char *)((uintptr_t)from & ~4095ul);
	to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, how, fd, 0);
	assert_ptr_not_equal(to, MAP_FAILED);
	memset(to, 0xc3, 4096); /* returns: the library has an end, too */
	if (same)
		memcpy(to, from, 4096);
	assert_int_equal(mprotect(to, 4096, PROT_READ | PROT_EXEC), 0);
	assert_ptr_equal(mremap(to, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, from), from);
	return from;
}

/* The mapping that a process had at an address at last. */
static const struct cw_map *map_at(const char *address)
{
	const struct cw_map *found = NULL;

	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];

		if (recs[i]->type == CW_MAP && map->start <= (uintptr_t)address &&
		    (uintptr_t)address < map->end)
			found = map;
	}
	return found;
}

/* Memory that is moved over text, of which nobody tells. */
static void check_moved_over(const char *moved, const char *covered, bool file)
{
	int fds[] = {-1, -1};
	struct cw_modules *m;
	const struct cw_map *map;
	uint32_t pid = (uint32_t)getpid();
	uint64_t before, after;
	size_t maps;
	char *same, *other;

	for (int i = 0; file && i < 2; i++) {
		fds[i] = memfd_create("code", MFD_CLOEXEC);
		assert_int_equal(ftruncate(fds[i], 4096), 0);
	}
	assert_non_null(dlopen(in_dir(moved), RTLD_NOW));
	assert_non_null(dlopen(in_dir(covered), RTLD_NOW));
	begin();
	m = cw_modules_new(writer);
	assert_int_equal(cw_modules_snapshot(m, pid, pid), 0);
	same = move_over(moved, true, fds[0]);
	other = move_over(covered, false, fds[1]);
	before = now();
	assert_int_equal(cw_modules_look_again(m, true), 0);
	after = now();
	assert_int_equal(cw_modules_look_again(m, true), 0); /* nothing new */
	cw_modules_free(m);
	end();
	map = map_at(same);
	assert_ptr_equal(map, map_of(in_dir(moved), pid));
	assert_int_equal(map->flags, CW_MAP_PROC | CW_MAP_MOVED);
	assert_int_equal(map->pgoff, 4096);
	assert_true(map->h.ts >= before && map->h.ts <= after);
	map = map_at(other);
	assert_non_null(map);
	assert_int_equal(map->module_id, module_named(file ? "/memfd:code" : "[anon]")->module_id);
	assert_int_equal(map->pgoff, file ? 0 : (uintptr_t)other);
	assert_int_equal(map->flags, CW_MAP_PROC);
	for (size_t i = maps = 0; i < nrecs; i++)
		maps += recs[i]->type == CW_MAP && recs[i]->ts >= before;
	assert_int_equal(maps, 2);
	for (int i = 0; file && i < 2; i++)
		close(fds[i]);
}

static void test_moved_over(void **state)
{
	(void)state;
	check_moved_over("moved.so", "covered.so", false);
}

static void test_file_moved_over(void **state)
{
	(void)state;
	check_moved_over("moved2.so", "covered2.so", true);
}

static int setup(void **state)
{
	if (folder_new(state))
		return -1;
	return shell("echo 'int f(int x) { return x + 1; } int main(void) { return 0; }' >a.c"
		     " && gcc -O1 -fPIC -shared -o lib.so a.c && gcc -o prog a.c && cp prog prog2"
		     " && gcc -O2 -Wl,--build-id=none -fPIC -shared -o noid.so a.c"
		     " && gcc -O0 -fPIC -shared -o other.so a.c"
		     " && gcc -O3 -fPIC -shared -DX -o early.so a.c"
		     " && gcc -Os -fPIC -shared -Wl,-z,separate-code -o moved.so a.c"
		     " && gcc -Og -fPIC -shared -Wl,-z,separate-code -o covered.so a.c"
		     " && cp noid.so here.so && cp other.so there.so && cp moved.so moved2.so && "
		     "cp covered.so covered2.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_unwatched),
		cmocka_unit_test(test_mapped_meanwhile),
		cmocka_unit_test(test_add_fd),
		cmocka_unit_test(test_early_stack),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_moved_over),
		cmocka_unit_test(test_file_moved_over),
	};

	return cmocka_run_group_tests(tests, setup, recorded_teardown);
}
