/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/tracked.o record/pidset.o record/modules.o record/pending.o record/perfmap.o */
/* LINK: record/procinfo.o record/relook.o record/moved.o record/madecode.o record/modtab.o */
/* LINK: record/modopen.o */
/* LINK: record/proctab.o */
/* LINK: record/idmap.o record/kerntext.o record/missing_text.o */
/* LINK: record/snapshot.o record/mmapwatch.o record/kallsyms.o record/embed.o */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o */
/* LINK: record/cxxname.o record/unplaced.o record/wanted.o */
/*
 * What processes have mapped, when records of their lives come late: this process, children, and
 * children that there are none of.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "../../record/mmapwatch.h"
#include "../../record/snapshot.h"
#include "../../record/tracked.h"
#include "recorded_fixture.h"

#define CHILD 77777777u

/* Not asked for: no process is adopted, and outside of containers all ids are the kernel's. */
bool cw_target_adopts(const struct cw_target *t)
{
	(void)t;
	return false;
}

uint32_t cw_probes_rec_pid(const struct cw_probes *pr, uint32_t global)
{
	(void)pr;
	return global;
}

uint32_t cw_probes_global_pid(const struct cw_probes *pr, uint32_t pid)
{
	(void)pr;
	return pid;
}

int cw_probes_want(struct cw_probes *pr, uint32_t pid)
{
	(void)pr, (void)pid;
	return 0;
}

void cw_probes_text_done(struct cw_probes *pr)
{
	(void)pr;
}

int cw_probes_seed(struct cw_probes *pr)
{
	(void)pr;
	return 0;
}

static const struct cw_target nobody;
static struct cw_modules *modules;
static struct cw_tracked *tracked;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void start(void)
{
	begin();
	modules = cw_modules_new(writer);
	tracked = cw_tracked_new(modules, NULL, &nobody);
	assert_non_null(tracked);
}

static void stop(void)
{
	cw_tracked_free(tracked);
	cw_modules_free(modules);
	end();
}

static void on_start(uint32_t pid, uint64_t start, uint64_t ts)
{
	const struct cw_thread r = {.h = {.type = CW_THREAD, .size = sizeof(r), .ts = ts},
				    .pid = pid,
				    .tid = pid,
				    .start_boottime = start,
				    .flags = CW_THREAD_TRACED};

	cw_tracked_record(tracked, &r.h);
}

static void on_thread(uint32_t pid)
{
	on_start(pid, 0, 0);
}

static void on_fork_of(uint32_t child, uint32_t pid, uint64_t ts)
{
	const struct cw_fork r = {.h = {.type = CW_FORK, .size = sizeof(r), .ts = ts},
				  .pid = pid,
				  .tid = pid,
				  .child_pid = child,
				  .child_tid = child};

	cw_tracked_record(tracked, &r.h);
}

static void on_fork(uint32_t pid, uint64_t ts)
{
	on_fork_of(CHILD, pid, ts);
}

static void on_exec_at(uint32_t pid, uint32_t flags, uint64_t ts)
{
	const struct cw_exec r = {.h = {.type = CW_EXEC, .size = sizeof(r), .ts = ts},
				  .pid = pid,
				  .tid = pid,
				  .old_tid = pid,
				  .flags = flags};

	cw_tracked_record(tracked, &r.h);
}

static void on_exec(uint32_t pid, uint32_t flags)
{
	on_exec_at(pid, flags, 0);
}

static void on_exit_at(uint32_t pid, uint64_t ts)
{
	const struct cw_exit r = {.h = {.type = CW_EXIT, .size = sizeof(r), .ts = ts},
				  .pid = pid,
				  .tid = pid,
				  .flags = 1};

	cw_tracked_record(tracked, &r.h);
}

static void watch(void)
{
	int rc = cw_modules_watch(modules, cw_tracked_keep, tracked);

	if (rc == -EACCES || rc == -EPERM) {
		stop();
		skip();
	}
	assert_int_equal(rc, 0);
}

static const struct cw_module *module(uint32_t id)
{
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_module *m = (const void *)recs[i];

		if (recs[i]->type == CW_MODULE && m->module_id == id)
			return m;
	}
	return NULL;
}

/* Mappings of a process and a module with a path that ends like this, made in [from, to]. */
static size_t maps_between(uint32_t pid, const char *name, uint64_t from, uint64_t to)
{
	size_t n = 0;

	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];
		const char *path;
		size_t size;

		if (recs[i]->type != CW_MAP || map->pid != pid || map->h.ts < from ||
		    map->h.ts > to)
			continue;
		path = module(map->module_id)->path;
		size = strlen(path);
		n += size >= strlen(name) && !strcmp(path + size - strlen(name), name);
	}
	return n;
}

static bool has_symbols(const char *name)
{
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_blob *b = (const void *)recs[i];

		if (recs[i]->type == CW_BLOB && b->kind == CW_BLOB_SYMBOLS &&
		    !strcmp(module(b->module_id)->path, name))
			return true;
	}
	return false;
}

/*
 * Run a program, always at the same addresses, under this process id (0: any) or skip the test.
 * Returns the id; the program is not waited for.
 */
static pid_t run(pid_t id, char *const argv[])
{
	struct clone_args a = {.exit_signal = SIGCHLD,
			       .set_tid = id ? (uintptr_t)&id : 0,
			       .set_tid_size = id != 0};
	long pid = syscall(SYS_clone3, &a, sizeof(a));

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may wait for a word of this test */
		personality(ADDR_NO_RANDOMIZE);
		execv(argv[0], argv);
		_exit(1);
	}
	if (pid < 0) {
		stop();
		skip();
	}
	return (pid_t)pid;
}

static void wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Mappings of a process, those that hold address; 0: any. */
static size_t maps_of(uint32_t pid, uint64_t address)
{
	size_t n = 0;

	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];

		n += recs[i]->type == CW_MAP && map->pid == pid &&
		     (!address || (map->start <= address && address < map->end));
	}
	return n;
}

/* What its parent maps before the recorder hears of the child is not the child's. */
static void test_parent_goes_on(void **state)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t ts;
	void *code;

	(void)state;
	start();
	watch();
	on_thread(pid);
	cw_tracked_settle(tracked);
	ts = now();
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(cw_modules_drain(modules), 0);
	on_thread(CHILD);
	on_fork(pid, ts);
	stop();
	munmap(code, 4096);
	assert_true(maps_of(pid, (uintptr_t)code) > 0);
	assert_true(maps_of(CHILD, 0) > 3);
	assert_int_equal(maps_of(CHILD, (uintptr_t)code), 0);
}

/* The recorder may rest between the record of a child's thread and that of its fork. */
static void test_fork_comes_late(void **state)
{
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	start();
	on_thread(pid);
	cw_tracked_settle(tracked);
	on_thread(CHILD);
	cw_tracked_settle(tracked);
	on_fork(pid, now());
	stop();
	assert_true(maps_of(pid, 0) > 3);
	assert_int_equal(maps_of(CHILD, 0), maps_of(pid, 0));
}

/* Who executes a program that is not traced is forgotten, until it executes one that is. */
static void test_leaves(void **state)
{
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	start();
	on_thread(pid);
	cw_tracked_settle(tracked);
	assert_true(cw_tracked_keep(tracked, pid));
	on_exec(pid, 0);
	assert_false(cw_tracked_keep(tracked, pid));
	assert_int_equal(cw_modules_repeat(modules), 0);
	on_thread(pid);
	on_exec(pid, 1);
	assert_true(cw_tracked_keep(tracked, pid));
	stop();
	assert_int_equal(count(CW_PROCESS, CW_REC_REPEATED), 0);
	assert_int_equal(count(CW_MAP, CW_REC_REPEATED), 0);
	assert_int_equal(count(CW_PROCESS, 0), 2);
}

/* Four lives under one number, before a record of the first is read. */
static void test_one_number(void **state)
{
	char *const same[] = {"/bin/true", NULL}, *const other[] = {"/bin/echo", NULL};
	uint64_t born[4], end[4];
	pid_t pid = 0;

	(void)state;
	start();
	watch();
	for (int i = 0; i < 4; i++) {
		born[i] = now();
		pid = run(pid, i == 2 ? other : same);
		wait_for(pid);
		end[i] = now();
	}
	for (uint32_t i = 0; i < 4; i++) {
		on_start((uint32_t)pid, 1000 + i, born[i]);
		on_fork_of((uint32_t)pid, 1, born[i]);
		on_exec_at((uint32_t)pid, 1, end[i] - 1);
		on_exit_at((uint32_t)pid, end[i]);
	}
	stop();
	for (int i = 0; i < 4; i++) {
		const char *name = i == 2 ? "/echo" : "/true";

		assert_int_equal(maps_between((uint32_t)pid, name, born[i], end[i]), 1);
		assert_int_equal(maps_between((uint32_t)pid, "/libc.so.6", born[i], end[i]), 1);
	}
	assert_int_equal(maps_between((uint32_t)pid, "/true", 0, UINT64_MAX), 3);
}

/* The address of a program's own code. */
static uint64_t text_of(pid_t pid, const char *exe)
{
	char path[64], line[4352];
	unsigned long long at = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (!at && fgets(line, sizeof(line), maps))
		if (strstr(line, exe) && strstr(line, " r-xp "))
			at = strtoull(line, NULL, 16);
	fclose(maps);
	return at;
}

/* A program that waits for a word, known to be what it is: its own text is mapped. */
struct waiting {
	pid_t pid;
	uint32_t id;
	uint64_t born, text; /* ns; where its own code begins */
	int in[2];
	char exe[4096];
};

static void run_waiting(struct waiting *w, const char *script)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
	int stdin_fd = dup(0);

	assert_int_equal(pipe(w->in), 0);
	dup2(w->in[0], 0);
	w->born = now();
	w->pid = run(0, argv);
	w->id = (uint32_t)w->pid;
	dup2(stdin_fd, 0);
	close(stdin_fd);
	assert_non_null(realpath("/bin/sh", w->exe));
	while (!(w->text = text_of(w->pid, w->exe)))
		sched_yield();
}

/* Give it its words, and wait for its end; the time then. */
static uint64_t end_waiting(struct waiting *w, const char *words)
{
	size_t n = strlen(words);

	assert_int_equal(write(w->in[1], words, n), n);
	wait_for(w->pid);
	close(w->in[0]), close(w->in[1]);
	return now();
}

/* The stacks of a program are its own, though another has been executed since. */
static void test_becomes(void **state)
{
	struct {
		struct cw_stack s;
		uint64_t frame;
	} stack = {.s.h = {.type = CW_STACK, .size = sizeof(stack)}};
	struct waiting w;
	uint64_t end;

	(void)state;
	start();
	watch();
	run_waiting(&w, "read x && exec /bin/true");
	stack.s.pid = w.id;
	stack.frame = w.text;
	stack.s.h.ts = now();
	end = end_waiting(&w, "\n");
	on_start(w.id, 1001, w.born);
	on_fork_of(w.id, 1, w.born);
	on_exec_at(w.id, 1, stack.s.h.ts);
	cw_modules_note_stack(modules, &stack.s);
	on_exec_at(w.id, 1, end - 1);
	on_exit_at(w.id, end);
	assert_int_equal(cw_modules_embed(modules), 0);
	stop();
	assert_int_equal(maps_between(w.id, "/true", stack.s.h.ts, end), 1);
	assert_true(has_symbols(w.exe));
	assert_false(has_symbols("/bin/true") || has_symbols("/usr/bin/true"));
}

/* A program that is executed again maps the same at the same addresses, and each image has its own.
 */
static void test_executes_itself(void **state)
{
	struct waiting w;
	uint64_t between, end;

	(void)state;
	start();
	watch();
	run_waiting(&w, "read x && exec /bin/sh -c 'read x'");
	on_start(w.id, 1003, w.born);
	on_fork_of(w.id, 1, w.born);
	on_exec_at(w.id, 1, now());
	assert_int_equal(cw_modules_drain(modules), 0);
	between = now();
	end = end_waiting(&w, "\n\n");
	on_exec_at(w.id, 1, end - 1);
	on_exit_at(w.id, end);
	stop();
	assert_int_equal(maps_between(w.id, w.exe, between, end), 1);
}

/* Is told which text there is: the range around watched_text. */
static uint64_t watched_text;
static bool text_is_known;
static int times_forgotten;

static void on_text(void *arg, uint32_t pid, uint64_t from, uint64_t to)
{
	(void)arg, (void)pid;
	if (!to) {
		text_is_known = false;
		times_forgotten++;
	} else if (watched_text >= from && watched_text < to)
		text_is_known = true;
}

/* What /proc showed of a program is known on, though the report of its execution is read only now.
 */
static void test_exec_comes_late(void **state)
{
	struct waiting w;
	uint64_t end;

	(void)state;
	start();
	cw_modules_on_text(modules, on_text, NULL);
	watch();
	run_waiting(&w, "read x");
	end = now();
	watched_text = w.text;
	text_is_known = false;
	on_start(w.id, 0, w.born);
	cw_tracked_settle(tracked);
	assert_true(text_is_known);
	/* Up to that report, which those of the mappings follow. */
	times_forgotten = 0;
	for (uint64_t ts = w.born; !times_forgotten && ts < end; ts += 1000)
		assert_int_equal(cw_modules_reach(modules, ts), 0);
	assert_int_equal(times_forgotten, 1);
	assert_true(text_is_known);
	end_waiting(&w, "\n");
	stop();
}

/* What somebody else had mapped under a number is not of who has it now. */
static void test_number_of_another(void **state)
{
	uint32_t pid = (uint32_t)getpid();
	void *code;

	(void)state;
	start();
	watch();
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(code, 4096);
	assert_int_equal(cw_modules_drain(modules), 0);
	on_start(pid, 0, now());
	on_fork_of(pid, 1, now());
	stop();
	assert_true(maps_of(pid, 0) > 3);
	assert_int_equal(maps_of(pid, (uintptr_t)code), 0);
}

/* Reports that find no room are a loss that is said, and what is there afterwards is looked for. */
static void test_lost_reports(void **state)
{
	uint32_t pid = (uint32_t)getpid(), lost = 0;
	uint64_t from = now(), to, end_ts = 0;
	void *code = NULL;
	bool ours = false;

	(void)state;
	start();
	/* Others who watch are to lose nothing. */
	cw_modules_set_room(modules, (size_t)sysconf(_SC_PAGESIZE));
	watch();
	on_thread(pid);
	cw_tracked_settle(tracked);
	for (int i = 0; i < 200; i++) {
		if (code)
			munmap(code, 4096);
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	to = now();
	assert_int_equal(cw_modules_make_room(modules), 0);
	assert_int_equal(cw_modules_drain_last(modules), 0);
	lost = (uint32_t)cw_modules_lost(modules);
	assert_true(lost > 0);
	stop();
	munmap(code, 4096);
	for (size_t i = 0; i < nlosses; i++) {
		assert_int_equal(losses[i].kind, CW_MAP);
		assert_int_equal(losses[i].reason, CW_LOST_RING);
		assert_true(losses[i].h.ts >= from);
		ours |= losses[i].h.ts < to; /* others map, too, and may go on */
		end_ts = losses[i].end_ts;
		lost -= (uint32_t)losses[i].count;
	}
	assert_int_equal(lost, 0);
	assert_true(ours);
	assert_true(end_ts >= to);
	assert_true(maps_of(pid, (uintptr_t)code) > 0);
}

static int nothing(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	(void)arg, (void)f, (void)pgoff, (void)prot;
	return 0;
}

/* A process that had this number before is gone. */
static void test_snapshot_of_a_life(void **state)
{
	uint32_t pid = (uint32_t)getpid();
	struct cw_proc_info info;

	(void)state;
	assert_int_equal(cw_snapshot_process(pid, &info), 0);
	assert_int_equal(cw_snapshot_maps(pid, info.start_boottime, nothing, NULL), 0);
	assert_int_equal(cw_snapshot_maps(pid, info.start_boottime + 5, nothing, NULL), 0);
	assert_int_equal(cw_snapshot_maps(pid, 0, nothing, NULL), 0);
	assert_int_equal(cw_snapshot_maps(pid, info.start_boottime - 5, nothing, NULL), -ESRCH);
	assert_true(cw_snapshot_same_start(0, 7) && cw_snapshot_same_start(7, 7));
	assert_false(cw_snapshot_same_start(7, 8)); /* both exact */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parent_goes_on),  cmocka_unit_test(test_fork_comes_late),
		cmocka_unit_test(test_leaves),          cmocka_unit_test(test_one_number),
		cmocka_unit_test(test_becomes),         cmocka_unit_test(test_executes_itself),
		cmocka_unit_test(test_exec_comes_late), cmocka_unit_test(test_number_of_another),
		cmocka_unit_test(test_lost_reports),    cmocka_unit_test(test_snapshot_of_a_life),
	};

	return cmocka_run_group_tests(tests, folder_new, recorded_teardown);
}
