/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns process and thread incarnations and their rows. Records that introduce a thread may come a
 * little after the first event that names it: the event makes a placeholder, which the record
 * adopts. A row is written when the incarnation is over, or again at each flush. Must not know
 * calls or states.
 */
#include <stdlib.h>
#include "capture.h"
#include "identity.h"
#include "images.h"

#define TICK_NS   10000000ull   /* what /proc rounds start times down to */
#define LINGER_NS 2000000000ull /* how long the gone may still be introduced */

struct cw_identity {
	struct cw_htab processes, threads; /* the current meaning of each id */
	struct cw_proc *oldest_process, *newest_process;
	struct cw_task *oldest_thread, *newest_thread;
	uint64_t kept, swept_at; /* threads kept; events when they were last looked through */
	uint64_t upids, utids;   /* numbers given out */
};

/* Start times agree: equal, unknown, or equal but for /proc's rounding. */
static bool same_start(uint64_t a, uint64_t b)
{
	return !a || !b || a == b ||
	       ((a % TICK_NS == 0 || b % TICK_NS == 0) && a / TICK_NS == b / TICK_NS);
}

static uint64_t better_start(uint64_t old, uint64_t new)
{
	return new && (!old || old % TICK_NS == 0) ? new : old;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = cw_hash(h, (unsigned char)*text);
	return cw_hash(h, text != NULL);
}

/* Remember that this was written; false when it was already. */
static bool news(uint64_t *written, uint64_t hash)
{
	hash |= 1;
	if (*written == hash)
		return false;
	*written = hash;
	return true;
}

static uint64_t hash_process(const struct cw_proc *p)
{
	const uint64_t values[] = {p->pid,         p->ns_pid,   p->rec_pid, p->start_boottime,
				   p->parent_upid, p->start_ts, p->ended,   p->end_ts,
				   p->pid_ns,      p->mnt_ns,   p->traced};
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		h = cw_hash(h, values[i]);
	return hash_text(hash_text(hash_text(h, p->exe), p->cmdline), p->name);
}

static void write_process(struct cw_trace *t, struct cw_proc *p)
{
	uint64_t *w, nulls = 0;

	if (!news(&p->written, hash_process(p)))
		return;
	nulls |=
		!p->ns_pid << 2 | !p->rec_pid << 3 | !p->start_boottime << 4 | !p->parent_upid << 5;
	nulls |= !p->exe << 7 | !p->cmdline << 8 | !p->name << 9 | !p->ended << 10;
	nulls |= !p->pid_ns << 11 | !p->mnt_ns << 12;
	w = cw_rows_put(t->rows, CW_ROW_PROCESS, nulls);
	w[0] = p->upid;
	w[1] = p->pid;
	w[2] = p->ns_pid;
	w[3] = p->rec_pid;
	w[4] = p->start_boottime;
	w[5] = p->parent_upid;
	w[6] = p->start_ts;
	w[7] = cw_word_dup(p->exe);
	w[8] = cw_word_dup(p->cmdline);
	w[9] = cw_word_dup(p->name);
	w[10] = p->end_ts;
	w[11] = p->pid_ns;
	w[12] = p->mnt_ns;
	w[13] = p->traced;
}

/* The thread's id where the recorder ran: known when its process's id there is that of a namespace.
 */
static uint32_t rec_tid(const struct cw_task *task)
{
	const struct cw_proc *p = task->process;

	if (!p->rec_pid)
		return 0;
	if (p->rec_pid == p->pid)
		return task->tid;
	return p->rec_pid == p->ns_pid ? task->ns_tid : 0;
}

static uint64_t hash_thread(const struct cw_task *task)
{
	const uint64_t values[] = {task->ns_tid,   rec_tid(task), task->start_boottime,
				   task->start_ts, task->exited,  task->gone,
				   task->end_ts,   task->traced};
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		h = cw_hash(h, values[i]);
	return hash_text(h, task->name);
}

static void write_thread(struct cw_trace *t, struct cw_task *task)
{
	uint64_t *w, nulls = 0;

	if (!news(&task->written, hash_thread(task)))
		return;
	nulls |= !task->ns_tid << 3 | !rec_tid(task) << 4 | !task->start_boottime << 5 |
		 !*task->name << 6;
	nulls |= !(task->exited || task->gone) << 8;
	w = cw_rows_put(t->rows, CW_ROW_THREAD, nulls);
	w[0] = task->utid;
	w[1] = task->process->upid;
	w[2] = task->tid;
	w[3] = task->ns_tid;
	w[4] = rec_tid(task);
	w[5] = task->start_boottime;
	w[6] = *task->name ? cw_word_dup(task->name) : 0;
	w[7] = task->start_ts;
	w[8] = task->end_ts;
	w[9] = task->traced;
}

/* ---- lives --------------------------------------------------------------------------------------
 */

static struct cw_proc *process_find(const struct cw_trace *t, uint32_t pid)
{
	struct cw_hnode *n = cw_htab_first(&t->identity->processes, cw_hash(0, pid));

	for (; n; n = cw_htab_next(n->next, n->hash))
		if (cw_container(n, struct cw_proc, by_pid)->pid == pid)
			return cw_container(n, struct cw_proc, by_pid);
	return NULL;
}

static struct cw_task *thread_find(const struct cw_trace *t, uint32_t tid)
{
	struct cw_hnode *n = cw_htab_first(&t->identity->threads, cw_hash(0, tid));

	for (; n; n = cw_htab_next(n->next, n->hash))
		if (cw_container(n, struct cw_task, by_tid)->tid == tid)
			return cw_container(n, struct cw_task, by_tid);
	return NULL;
}

/* What tells of another incarnation may come late. */
static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The id does not mean p any more. */
static void process_end(struct cw_trace *t, struct cw_proc *p, uint64_t ts)
{
	if (!p->ended) {
		p->ended = true;
		p->end_ts = later(ts, p->start_ts);
	}
	if (p->current)
		cw_htab_remove(&t->identity->processes, &p->by_pid);
	p->current = false;
}

static struct cw_proc *process_new(struct cw_trace *t, uint32_t pid, uint64_t ts)
{
	struct cw_identity *id = t->identity;
	struct cw_proc *p = cw_zalloc(sizeof(*p));

	p->pid = pid;
	p->upid = ++id->upids;
	p->epoch = t->epoch;
	p->start_ts = ts;
	p->current = true;
	cw_htab_insert(&id->processes, &p->by_pid, cw_hash(0, pid));
	p->older = id->newest_process;
	*(p->older ? &p->older->newer : &id->oldest_process) = p;
	id->newest_process = p;
	return p;
}

struct cw_proc *cw_proc_of(struct cw_trace *t, uint32_t pid, uint64_t ts)
{
	struct cw_proc *p = process_find(t, pid);

	return p ? p : process_new(t, pid, ts);
}

static void process_free(struct cw_trace *t, struct cw_proc *p)
{
	struct cw_identity *id = t->identity;

	if (p->current)
		cw_htab_remove(&id->processes, &p->by_pid);
	*(p->older ? &p->older->newer : &id->oldest_process) = p->newer;
	*(p->newer ? &p->newer->older : &id->newest_process) = p->older;
	cw_maps_free(p->maps);
	free(p->exe);
	free(p->cmdline);
	free(p->name);
	free(p);
}

static struct cw_task *thread_new(struct cw_trace *t, uint32_t pid, uint32_t tid, uint64_t ts)
{
	struct cw_identity *id = t->identity;
	struct cw_task *task = cw_zalloc(sizeof(*task));
	struct cw_proc *p;

	p = process_find(t, pid);
	if (p && p->ended && ts > p->end_ts)
		process_end(t, p, ts);
	task->process = cw_proc_of(t, pid, ts);
	task->process->nthreads++;
	task->tid = tid;
	task->utid = ++id->utids;
	id->kept++;
	task->epoch = t->epoch;
	task->start_ts = ts;
	task->current = true;
	cw_htab_insert(&id->threads, &task->by_tid, cw_hash(0, tid));
	task->older = id->newest_thread;
	*(task->older ? &task->older->newer : &id->oldest_thread) = task;
	id->newest_thread = task;
	return task;
}

static void thread_free(struct cw_trace *t, struct cw_task *task)
{
	struct cw_identity *id = t->identity;

	if (task->current)
		cw_htab_remove(&id->threads, &task->by_tid);
	*(task->older ? &task->older->newer : &id->oldest_thread) = task->newer;
	*(task->newer ? &task->newer->older : &id->newest_thread) = task->older;
	task->process->nthreads--;
	id->kept--;
	free(task);
}

void cw_task_gone(struct cw_trace *t, struct cw_task *task, uint64_t ts)
{
	if (task->gone)
		return;
	cw_passes_task_gone(t, task);
	if (!task->exited)
		task->end_ts = later(ts, task->start_ts);
	task->gone = true;
}

/* The id means another thread from now on. */
static void thread_replaced(struct cw_trace *t, struct cw_task *task, uint64_t ts)
{
	cw_task_gone(t, task, ts);
	if (task->current)
		cw_htab_remove(&t->identity->threads, &task->by_tid);
	task->current = false;
}

struct cw_task *cw_task_of(struct cw_trace *t, uint32_t pid, uint32_t tid, uint64_t ts)
{
	struct cw_task *task;

	if (!tid)
		return NULL;
	task = thread_find(t, tid);
	if (task && !task->gone && task->process->pid == pid) {
		task->epoch = t->epoch;
		return task;
	}
	if (task)
		thread_replaced(t, task, ts);
	return thread_new(t, pid, tid, ts);
}

struct cw_task *cw_task_oldest(const struct cw_trace *t)
{
	return t->identity->oldest_thread;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static char *tail_text(const struct cw_rec *rec, const char *tail)
{
	size_t n = cw_tail_strlen(rec, tail);

	return n ? cw_strndup(tail, n) : NULL;
}

static void replace_text(char **field, char *text)
{
	if (!text)
		return;
	free(*field);
	*field = text;
}

static void on_process(struct cw_trace *t, const struct cw_process *r)
{
	struct cw_proc *p = process_find(t, r->pid), *parent;

	if (p && (p->ended || !same_start(p->start_boottime, r->start_boottime)) &&
	    !(p->ended && p->start_boottime && same_start(p->start_boottime, r->start_boottime))) {
		process_end(t, p, r->h.ts);
		p = NULL;
	}
	if (!p)
		p = process_new(t, r->pid, r->h.ts);
	p->epoch = t->epoch;
	p->start_boottime = better_start(p->start_boottime, r->start_boottime);
	if (r->ns_pid)
		p->ns_pid = r->ns_pid;
	if (r->rec_pid)
		p->rec_pid = r->rec_pid;
	if (r->pid_ns)
		p->pid_ns = r->pid_ns;
	if (r->mnt_ns)
		p->mnt_ns = r->mnt_ns;
	p->traced |= r->flags & 1;
	replace_text(&p->exe, tail_text(&r->h, r->exe));
	parent = r->ppid && !p->parent_upid ? process_find(t, r->ppid) : NULL;
	if (parent && parent != p)
		p->parent_upid = parent->upid;
}

static void on_args(struct cw_trace *t, const struct cw_process_args *r)
{
	struct cw_proc *p = cw_proc_of(t, r->pid, r->h.ts);

	replace_text(&p->cmdline, tail_text(&r->h, r->cmdline));
}

/* The incarnation that a record with a start time is about; made when it is a new one. */
static struct cw_task *introduced(struct cw_trace *t, uint32_t pid, uint32_t tid, uint64_t start,
				  uint64_t ts)
{
	struct cw_task *task = tid ? thread_find(t, tid) : NULL;

	if (!tid)
		return NULL;
	if (task && (task->process->pid != pid || !same_start(task->start_boottime, start) ||
		     (task->gone && !task->start_boottime && ts > task->end_ts + LINGER_NS))) {
		thread_replaced(t, task, ts);
		task = NULL;
	}
	if (!task)
		task = thread_new(t, pid, tid, ts);
	task->epoch = t->epoch;
	task->start_boottime = better_start(task->start_boottime, start);
	if (tid == pid)
		task->process->start_boottime = better_start(task->process->start_boottime, start);
	return task;
}

static void set_name(struct cw_task *task, const char *name, size_t n)
{
	if (!n)
		return;
	if (n >= sizeof(task->name))
		n = sizeof(task->name) - 1;
	memcpy(task->name, name, n);
	task->name[n] = '\0';
	if (task->tid == task->process->pid)
		replace_text(&task->process->name, cw_strndup(name, n));
}

static void on_thread(struct cw_trace *t, const struct cw_thread *r)
{
	struct cw_task *task;
	struct cw_proc *p;

	/* The leader of another incarnation of the process: all of the old one is over. */
	p = process_find(t, r->pid);
	if (p && r->tid == r->pid && !same_start(p->start_boottime, r->start_boottime))
		process_end(t, p, r->h.ts);
	task = introduced(t, r->pid, r->tid, r->start_boottime, r->h.ts);
	if (!task)
		return;
	if (r->ns_tid)
		task->ns_tid = r->ns_tid;
	if (r->ns_pid && !task->process->ns_pid)
		task->process->ns_pid = r->ns_pid;
	if (r->flags & CW_THREAD_TRACED)
		task->traced = task->process->traced = true;
	set_name(task, r->comm, cw_tail_strlen(&r->h, r->comm));
}

static void on_fork(struct cw_trace *t, const struct cw_fork *r)
{
	struct cw_task *parent = cw_task_of(t, r->pid, r->tid, r->h.ts), *child;
	struct cw_proc *p;

	if (r->child_pid != r->pid && r->child_pid == r->child_tid) {
		p = process_find(t, r->child_pid);
		if (p && (p->ended || !same_start(p->start_boottime, r->child_start_boottime)))
			process_end(t, p, r->h.ts);
	}
	child = introduced(t, r->child_pid, r->child_tid, r->child_start_boottime, r->h.ts);
	if (!child || !parent)
		return;
	if (!*child->name)
		set_name(child, parent->name, strlen(parent->name));
	p = child->process;
	if (p == parent->process || p->parent_upid)
		return;
	p->parent_upid = parent->process->upid;
	p->image_ts = r->h.ts;
	p->maps = p->maps ? p->maps : cw_maps_inherit(parent->process->maps);
	if (!p->exe && parent->process->exe)
		p->exe = cw_strndup(parent->process->exe, strlen(parent->process->exe));
}

static void on_exec(struct cw_trace *t, const struct cw_exec *r)
{
	struct cw_task *task = thread_find(t, r->tid), *old;

	/* The thread that called execve takes the leader's id and its start time; the others are
	 * over. */
	if (r->old_tid != r->tid) {
		old = thread_find(t, r->old_tid);
		if (old)
			thread_replaced(t, old, r->h.ts);
	}
	if (task && task->gone && task->process->pid == r->pid && task->current) {
		task->gone = task->exited = false;
		task->process->ended = false;
	}
	task = cw_task_of(t, r->pid, r->tid, r->h.ts);
	if (!task)
		return;
	replace_text(&task->process->exe, tail_text(&r->h, r->filename));
	task->process->image_ts = r->h.ts;
	if (!(r->flags & 1))
		cw_passes_task_gone(t, task);
}

static void on_task_exit(struct cw_trace *t, const struct cw_exit *r)
{
	struct cw_task *task = cw_task_of(t, r->pid, r->tid, r->h.ts);

	if (!task)
		return;
	task->traced = true;
	if (!task->exited) {
		task->exited = true;
		task->end_ts = r->h.ts;
	}
	if (r->flags & 1) {
		task->process->ended = true;
		task->process->end_ts = r->h.ts;
	}
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	switch (rec->type) {
	case CW_PROCESS:
		on_process(t, (const void *)rec);
		break;
	case CW_PROCESS_ARGS:
		on_args(t, (const void *)rec);
		break;
	case CW_THREAD:
		on_thread(t, (const void *)rec);
		break;
	case CW_FORK:
		on_fork(t, (const void *)rec);
		break;
	case CW_EXEC:
		on_exec(t, (const void *)rec);
		break;
	case CW_EXIT:
		on_task_exit(t, (const void *)rec);
		break;
	}
	return 0;
}

/* ---- the pass -----------------------------------------------------------------------------------
 */

/* A thread that is not traced and was not heard of for long: nobody tells when it exits. */
static void forget(struct cw_trace *t, struct cw_task *task, uint64_t ts)
{
	if (!task->traced && !task->state && !task->calls && !task->gone &&
	    cw_stale(t, task->epoch))
		thread_replaced(t, task, ts);
}

/* Threads and processes that are over are written and forgotten once nothing can name them again.
 */
static void watermark(struct cw_trace *t, uint64_t ts)
{
	struct cw_identity *id = t->identity;
	struct cw_task *task, *next_task;
	struct cw_proc *p, *next_proc;

	/* Each event pays for looking at a few: clocks that leap must not make that quadratic. */
	if (t->totals.events - id->swept_at < id->kept / 8)
		return;
	id->swept_at = t->totals.events;
	for (task = id->oldest_thread; task; task = next_task) {
		next_task = task->newer;
		forget(t, task, ts);
		if (task->gone && task->end_ts + LINGER_NS < ts) {
			write_thread(t, task);
			thread_free(t, task);
		}
	}
	for (p = id->oldest_process; p; p = next_proc) {
		next_proc = p->newer;
		if (!p->traced && !p->ended && !p->nthreads && cw_stale(t, p->epoch))
			process_end(t, p, ts);
		if (p->ended && !p->nthreads && p->end_ts + LINGER_NS < ts) {
			write_process(t, p);
			process_free(t, p);
		}
	}
}

static int flush(struct cw_trace *t)
{
	for (struct cw_proc *p = t->identity->oldest_process; p; p = p->newer)
		write_process(t, p);
	for (struct cw_task *task = t->identity->oldest_thread; task; task = task->newer)
		write_thread(t, task);
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->identity = cw_zalloc(sizeof(*t->identity));
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_identity *id = t->identity;

	if (!id)
		return;
	for (struct cw_task *task = id->oldest_thread, *next; task; task = next) {
		next = task->newer;
		cw_passes_task_gone(t, task);
		thread_free(t, task);
	}
	for (struct cw_proc *p = id->oldest_process, *next; p; p = next) {
		next = p->newer;
		process_free(t, p);
	}
	cw_htab_free(&id->processes);
	cw_htab_free(&id->threads);
	free(id);
	t->identity = NULL;
}

extern const struct cw_pass cw_pass_identity;
const struct cw_pass cw_pass_identity = {
	.name = "identity",
	.version = 1,
	.reads = "process process_args thread fork exec exit",
	.writes = "process thread",
	.types = CW_TYPE_BIT(CW_PROCESS) | CW_TYPE_BIT(CW_PROCESS_ARGS) | CW_TYPE_BIT(CW_THREAD) |
		 CW_TYPE_BIT(CW_FORK) | CW_TYPE_BIT(CW_EXEC) | CW_TYPE_BIT(CW_EXIT),
	.begin = begin,
	.event = event,
	.watermark = watermark,
	.flush = flush,
	.free = release,
};
