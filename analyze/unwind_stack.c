/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the decision which frames are true. Rules are right where they exist; frame pointers reach
 * further than saved memory. So rules lead from the instruction pointer until they meet the chain
 * of frame pointers, the chain leads on, and rules again lead from its last frames to where the
 * thread began. A function on the chain that keeps no frame pointer hides its caller.
 */
#include <string.h>
#include "unwind_stack.h"

static const char no_memory[] = "the saved part of the stack ends";
static const char unreadable[] = "the stack could not be read any further";
static const char bad_rules[] = "unwind information does not fit";
static const char no_rules[] = "no unwind information for this code";
static const char no_code[] = "the return address lies outside of all mappings";
static const char frame_limit[] = "limit of frames";
static const char no_fp[] = "no frame pointers";
static const char fp_lost[] = "the frame pointer leads nowhere";
static const char other_stack[] =
	"the handler ran on an alternate signal stack, and only that was saved";
static const char hidden[] = "a function without frame pointers hides its caller";
static const char switched[] = "its caller is on another stack";
static const char may_hide[] = "code without unwind information may hide its caller";

/* More than any processor state that the kernel puts on a stack between a handler and what it
 * interrupted. */
#define SIGNAL_FRAME_MAX 65536

/* Bytes above the stack pointer that the return address may lie at when a probe was moved. */
#define MOVED_MAX 512

#define BIT_OF(reg) (1ull << (reg))

/* The frames that the recorder's walk found, with the caller put in that it loses at entry. */
struct chain {
	uint64_t pc[CW_MAX_FRAMES + 1];
	unsigned n;
	unsigned shift; /* index here of the recorded frame 1, minus 1 */
};

struct walk {
	const struct cw_unwind_source *src;
	struct cw_unwound *out;
	struct chain chain;
	unsigned at;     /* how much of the chain is in out, or left out; 0: none */
	int base;        /* index in out of the chain's first frame, if it were there */
	int hidden;      /* index in out of a frame that hides the next one; -1 none */
	int unsure;      /* index in out of a frame that may hide the next one; -1 none */
	uint64_t caller; /* of the function that was just entered; 0 unknown */
	int by_hand; /* frames of out with one that is returned to, but nobody called; -1 none */
	bool later;
	bool other; /* a signal was handled on another stack than the one it came on */
};

static void read_chain(struct chain *c, const struct cw_stack *s)
{
	size_t n = (s->h.size - offsetof(struct cw_stack, frames)) / sizeof(s->frames[0]);

	if (n > CW_MAX_FRAMES)
		n = CW_MAX_FRAMES;
	for (size_t i = 0; i < n; i++) {
		c->pc[c->n++] = s->frames[i];
		if (!i && s->flags & CW_STACK_ENTRY && s->caller &&
		    !(n > 1 && s->frames[1] == s->caller)) {
			c->pc[c->n++] = s->caller;
			c->shift = 1;
		}
	}
}

static struct cw_saved memory_of(const struct cw_stack_regs *r)
{
	struct cw_saved m = {.data = r->memory, .address = r->address, .wanted = r->wanted};

	m.size = r->h.size - offsetof(struct cw_stack_regs, memory);
	m.all = r->flags & CW_SAVED_ALL;
	return m;
}

/* The arrays need no clearing, and are large. */
static void start(struct cw_unwound *out)
{
	out->n = 0;
	out->complete = out->repaired = out->truncated = out->broken = false;
	out->by_rules = out->by_fp = false;
	out->problem = NULL;
}

static void add(struct cw_unwound *out, uint64_t pc, bool exact)
{
	if (out->n == CW_MAX_UNWOUND) {
		out->truncated = true;
		out->problem = frame_limit;
		return;
	}
	out->exact[out->n] = exact;
	out->pc[out->n++] = pc;
}

static enum cw_code_info find(struct walk *w, uint64_t pc, bool exact, const struct cw_rules **row)
{
	enum cw_code_info info = w->src->find(w->src->arg, pc - (!exact && pc), row);

	w->later |= info == CW_CODE_LATER;
	return info;
}

/* Why rules led no further. */
static void stop(const struct walk *w, enum cw_unwind_result step)
{
	struct cw_unwound *out = w->out;
	static const char *const words[] = {
		[CW_UNWIND_NO_MEMORY] = no_memory,
		[CW_UNWIND_UNREADABLE] = unreadable,
		[CW_UNWIND_BAD] = bad_rules,
	};

	if (step == CW_UNWIND_END) {
		out->complete = true;
		return;
	}
	out->truncated |= step == CW_UNWIND_NO_MEMORY;
	out->broken |= step != CW_UNWIND_NO_MEMORY;
	out->problem = step == CW_UNWIND_NO_MEMORY && w->other ? other_stack : words[step];
}

/* The code that a program begins with often has no rules: the whole stack is above it. */
static bool began(const struct walk *w, const struct cw_saved *mem, const struct cw_regs *regs)
{
	return mem->all && regs->known >> w->src->machine->sp & 1 &&
	       regs->r[w->src->machine->sp] == mem->address + mem->wanted;
}

/*
 * What a signal interrupted was found from the last frame of out, which is no return address: a
 * handler returns to its first instruction. to is NULL when it was not.
 */
static void through_signal(struct walk *w, uint64_t sp, const struct cw_regs *to)
{
	if (w->out->n)
		w->out->exact[w->out->n - 1] = true;
	if (to)
		w->other |= to->r[w->src->machine->sp] - sp > SIGNAL_FRAME_MAX;
}

/*
 * From a function that was just entered, for code without rules: the frame pointer is the caller's
 * still, and the return address the first word like it.
 */
static bool entry_step(const struct walk *w, const struct cw_saved *mem, struct cw_regs *regs)
{
	const struct cw_machine *m = w->src->machine;
	uint64_t sp = regs->r[m->sp], end = sp + MOVED_MAX, word = 0;

	if (!w->caller || w->out->n != 1 || !regs->exact)
		return false;
	regs->known &= BIT_OF(m->sp) | BIT_OF(m->fp);
	if (m->ip == 16) {
		while (sp < end && cw_saved_word(mem, sp, &word) && word != w->caller)
			sp += 8;
		regs->r[m->sp] = sp + 8;
		if (word != w->caller)
			regs->known &= ~BIT_OF(m->sp);
	}
	regs->r[m->ip] = regs->pc = w->caller;
	regs->known |= BIT_OF(m->ip);
	regs->exact = false;
	return true;
}

/*
 * For code without rules. Memory tells what a handler returns to; else the frame pointer is
 * followed. Code that is not known to keep one may hide its caller.
 */
static enum cw_unwind_result guess_step(struct walk *w, enum cw_code_info info,
					const struct cw_saved *mem, struct cw_regs *regs)
{
	const struct cw_machine *m = w->src->machine;
	uint64_t sp = regs->r[m->sp];
	enum cw_unwind_result step = cw_unwind_signal_step(m, mem, regs);

	if (step == CW_UNWIND_CALLER) {
		through_signal(w, sp, regs);
		return step;
	}
	if (entry_step(w, mem, regs))
		return CW_UNWIND_CALLER;
	step = cw_unwind_fp_step(m, mem, regs);
	w->out->by_fp |= step == CW_UNWIND_CALLER;
	if (step == CW_UNWIND_CALLER && info != CW_CODE_FRAMES && w->unsure < 0)
		w->unsure = w->out->n ? (int)w->out->n - 1 : 0;
	return step;
}

/*
 * A return address that is a function's first instruction was not left by a call: makecontext put
 * it at the beginning of a stack. What is above is no return address then.
 */
static bool returned_to(struct walk *w, struct cw_regs *regs, const struct cw_rules **row)
{
	struct cw_unwound *out = w->out;

	if (regs->exact || w->unsure >= 0 || out->n < 2 ||
	    find(w, regs->pc, true, row) != CW_CODE_RULES)
		return false;
	regs->exact = true;
	out->exact[out->n - 1] = true;
	w->by_hand = (int)out->n;
	return true;
}

/* One frame on, by rules or, where there are none, by the frame pointer. False: out says why. */
static bool step(struct walk *w, const struct cw_saved *mem, struct cw_regs *regs)
{
	uint64_t sp = regs->r[w->src->machine->sp];
	const struct cw_rules *row = NULL;
	enum cw_code_info info = find(w, regs->pc, regs->exact, &row);
	enum cw_unwind_result step;

	if (info == CW_CODE_NO_RULES && returned_to(w, regs, &row))
		info = CW_CODE_RULES;
	switch (info) {
	case CW_CODE_RULES:
		step = cw_unwind_step(w->src->machine, row, mem, regs);
		w->out->by_rules |= step == CW_UNWIND_CALLER || step == CW_UNWIND_END;
		if (row->signal)
			through_signal(w, sp, step == CW_UNWIND_CALLER ? regs : NULL);
		break;
	case CW_CODE_NONE:
		if (w->by_hand >= 0 && w->by_hand + 1 == (int)w->out->n) {
			w->out->n--;
			w->out->complete = true;
			return false;
		}
		w->out->broken = true;
		w->out->problem = no_code;
		return false;
	case CW_CODE_BEGINS:
		w->out->complete = true;
		return false;
	case CW_CODE_SWITCHES:
		w->out->broken = true;
		w->out->problem = switched;
		return false;
	default:
		if (began(w, mem, regs)) {
			w->out->complete = true;
			return false;
		}
		step = guess_step(w, info, mem, regs);
		if (step != CW_UNWIND_CALLER) {
			w->out->broken = true;
			w->out->problem = no_rules;
			return false;
		}
	}
	if (step == CW_UNWIND_CALLER)
		return true;
	stop(w, step);
	return false;
}

static struct cw_regs regs_of(const struct cw_stack_regs *r, const struct cw_machine *m, bool exact)
{
	struct cw_regs regs = {.known = r->known, .exact = exact};

	memcpy(regs.r, r->regs, sizeof(regs.r));
	regs.pc = regs.r[m->ip];
	return regs;
}

/*
 * From the innermost frame by rules. They meet the chain where a frame's return address lies behind
 * the frame pointer that the walk began with, or one that it led to, and is the one found there.
 * With only the gap saved that ends it; with more, rules go on as far as they lead.
 */
static void from_begin(struct walk *w, const struct cw_stack *s, const struct cw_stack_regs *begin)
{
	const struct cw_machine *m = w->src->machine;
	struct cw_saved mem = memory_of(begin);
	struct cw_regs regs = regs_of(begin, m, true);
	struct cw_unwound *out = w->out;
	uint64_t fp = regs.r[m->fp];
	unsigned next = 1 + w->chain.shift; /* on the chain, the return address behind fp */
	unsigned met = 0;

	out->n = 0;
	add(out, regs.pc, true);
	while (out->n < CW_MAX_UNWOUND && step(w, &mem, &regs)) {
		add(out, regs.pc, regs.exact);
		if (regs.r[m->sp] != fp + 16 || next >= w->chain.n || regs.pc != w->chain.pc[next])
			continue;
		met = out->n;
		w->at = ++next;
		if (!(s->flags & CW_STACK_DWARF) || !cw_saved_word(&mem, fp, &fp))
			break;
	}
	if (out->n == CW_MAX_UNWOUND && !out->complete) {
		out->truncated = true;
		out->problem = frame_limit;
	}
	/* Beyond the last frame that both know, the one that knows more is right. */
	if (met != out->n)
		w->at = 0;
}

/* What the chain knows beyond the frames that are there. */
static void from_chain(struct walk *w, const struct cw_stack *s)
{
	struct cw_unwound *out = w->out;

	out->truncated = s->flags & CW_STACK_TRUNCATED;
	out->broken = false;
	out->problem = out->truncated ? frame_limit : NULL;
	out->by_fp |= w->at < w->chain.n;
	w->base = (int)out->n - (int)w->at;
	for (; w->at < w->chain.n; w->at++)
		add(out, w->chain.pc[w->at], !w->at);
}

/*
 * A function that keeps no frame pointer: the chain goes on behind its caller. One of Go's does
 * where it has a frame; a signal may have stopped it where it has none.
 */
static bool hides_caller(struct walk *w, unsigned i)
{
	const struct cw_machine *m = w->src->machine;
	const struct cw_rules *row;
	enum cw_code_info info = find(w, w->out->pc[i], w->out->exact[i], &row);

	if (info != CW_CODE_RULES)
		return info == CW_CODE_SWITCHES;
	if (row->cfa.kind != CW_RULE_REG)
		return !row->linked;
	return row->cfa.reg != m->fp && !(row->go && row->cfa.reg == m->sp && row->cfa.offset > 8);
}

/*
 * Frames of out from first on lie on the chain. Drop the last ones when they cannot be code: a
 * frame pointer was used for something else. Note the first one that hides its caller; the caller
 * of a function that was just entered is known.
 */
static void check_chain(struct walk *w, unsigned first, bool entry)
{
	struct cw_unwound *out = w->out;
	const struct cw_rules *row;

	while (out->n > first + 1 && find(w, out->pc[out->n - 1], false, &row) == CW_CODE_NONE) {
		out->n--;
		out->truncated = false;
		out->problem = NULL;
	}
	for (unsigned i = first; i + 1 < out->n; i++) {
		if (find(w, out->pc[i], out->exact[i], &row) != CW_CODE_BEGINS)
			continue;
		out->n = i + 1;
		out->truncated = false;
		out->problem = NULL;
	}
	for (unsigned i = first + 1; i < out->n; i++)
		out->exact[i] |= find(w, out->pc[i], out->exact[i], &row) == CW_CODE_NO_RULES &&
				 find(w, out->pc[i], true, &row) == CW_CODE_RULES;
	for (unsigned i = first + (entry && !first); i + 1 < out->n && w->hidden < 0; i++) {
		if (hides_caller(w, i))
			w->hidden = (int)i;
	}
	for (unsigned i = first + (entry && !first); i + 1 < out->n && w->unsure < 0; i++) {
		if (find(w, out->pc[i], out->exact[i], &row) == CW_CODE_NO_RULES)
			w->unsure = (int)i;
	}
}

/*
 * From one of the chain's last frames by rules to where the thread began. What they say replaces
 * what the chain said, unless they know less. Where the chain ends rightly, a stack's name may
 * cover no memory before its end: who is hidden there may be another one the next time.
 */
static void to_end(struct walk *w, const struct cw_stack_regs *end)
{
	struct cw_unwound *out = w->out, tail;
	struct walk t = {.src = w->src, .out = &tail, .hidden = -1, .unsure = -1, .by_hand = -1};
	struct cw_saved mem = memory_of(end);
	struct cw_regs regs = regs_of(end, w->src->machine, false);
	int from = (int)(end->frame + w->chain.shift) + w->base;
	unsigned i = 0, left;

	if (end->frame > CW_MAX_FRAMES || from < 0 || from >= (int)out->n ||
	    out->pc[from] != regs.pc)
		return;
	start(&tail);
	regs.exact = out->exact[from];
	t.by_hand = regs.exact && from ? 0 : -1;
	while (tail.n + (unsigned)from + 1 < CW_MAX_UNWOUND && step(&t, &mem, &regs))
		add(&tail, regs.pc, regs.exact);
	w->later |= t.later;
	left = out->n - (unsigned)from - 1;
	while (i < tail.n && i < left && tail.pc[i] == out->pc[from + 1 + (int)i])
		i++;
	if (!tail.complete && i == tail.n)
		return; /* nothing that was not known */
	i = 0;
	if (w->hidden >= from) {
		unsigned at = left ? left - 1 : 0;

		while (left && at < tail.n && tail.pc[at] != out->pc[out->n - 1])
			at++;
		if (left && at < tail.n) {
			i = at + 1;
			from = (int)out->n - 1;
		} else {
			w->hidden = -1;
		}
	}
	if (w->unsure >= from)
		w->unsure = -1;
	if (w->unsure < 0 && t.unsure >= 0)
		w->unsure = from;
	out->n = (unsigned)from + 1;
	for (; i < tail.n; i++)
		add(out, tail.pc[i], tail.exact[i]);
	out->complete = tail.complete;
	out->truncated = tail.truncated;
	out->broken = tail.broken;
	out->problem = tail.problem;
	out->by_rules |= tail.by_rules;
}

/* The chain's own word for its end counts where its code is known to keep frame pointers. */
static void judge(struct walk *w, const struct cw_stack *s)
{
	struct cw_unwound *out = w->out;
	enum cw_code_info last = CW_CODE_NONE;
	const struct cw_rules *row = NULL;

	if (w->hidden >= 0) {
		out->complete = false;
		out->broken = true;
		out->problem = hidden;
	}
	if (out->complete || out->truncated || out->broken)
		return;
	if (s->flags & CW_STACK_NO_FP) {
		out->problem = no_fp;
		return;
	}
	if (out->n)
		last = find(w, out->pc[out->n - 1], out->n == 1, &row);
	out->complete = last == CW_CODE_BEGINS ||
			(s->flags & CW_STACK_FP_END &&
			 (last == CW_CODE_FRAMES || (last == CW_CODE_RULES && row && row->go)));
	out->broken = !out->complete;
	if (out->broken)
		out->problem = last == CW_CODE_SWITCHES                                 ? switched
			       : last == CW_CODE_NO_RULES && s->flags & CW_STACK_FP_END ? no_rules
											: fp_lost;
}

/* A stack is not whole where a frame was taken that only may be the next one. */
static void doubt(struct walk *w)
{
	struct cw_unwound *out = w->out;

	if (w->unsure < 0 || w->unsure + 1 >= (int)out->n)
		return;
	out->broken = true;
	if (out->complete)
		out->problem = may_hide;
	out->complete = false;
}

static bool differs(const struct cw_unwound *out, const struct chain *c)
{
	return out->n != c->n || memcmp(out->pc, c->pc, c->n * sizeof(c->pc[0])) != 0;
}

bool cw_unwind_stack(const struct cw_unwind_source *src, const struct cw_stack *s,
		     const struct cw_stack_regs *begin, const struct cw_stack_regs *end,
		     struct cw_unwound *out)
{
	struct walk w = {.src = src, .out = out, .hidden = -1, .unsure = -1, .by_hand = -1};
	bool entry = s->flags & CW_STACK_ENTRY, gap, unknown;

	start(out);
	read_chain(&w.chain, s);
	w.caller = entry ? s->caller : 0;
	if (begin)
		from_begin(&w, s, begin);
	/* Between the end of what was saved and the chain there may be frames. */
	gap = out->n > 1 && !w.at && !out->complete && out->truncated &&
	      !(s->flags & CW_STACK_DWARF) && w.chain.n > 1 + w.chain.shift;
	unknown = out->n <= 1 && (w.chain.n > 1 || !begin);
	if (!out->complete && (unknown || w.at || gap)) {
		unsigned rules = out->n > 1 ? out->n - 1 : 0;

		if (gap) {
			w.at = 1 + w.chain.shift;
			w.hidden = (int)rules;
		} else if (!rules) {
			out->n = 0;
			w.unsure = -1;
		}
		from_chain(&w, s);
		check_chain(&w, rules, entry);
		if (end && !out->truncated)
			to_end(&w, end);
		judge(&w, s);
	}
	doubt(&w);
	out->repaired = differs(out, &w.chain);
	return !w.later;
}
