/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where to put a breakpoint. Owns the decision, from code and symbols; it must not know BPF or
 * plans. A uprobe on an instruction that the kernel emulates costs a tenth of one that is
 * single-stepped, so a probe may move a few instructions behind the entry, where nothing but the
 * entry leads to: compilers do put loop heads right behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "capture.h"
#include "elffile.h"
#include "placement.h"
#include "x86code.h"

#define REACH           64u        /* bytes behind the entry */
#define LONGEST         (1u << 20) /* functions beyond are not decoded */
#define SAMPLED         200u /* functions of a module that say whether it has frame pointers */
#define SAMPLE_MIN_SIZE 32u  /* smaller ones often need no frame */
#define SAMPLE_FEW      4    /* fewer of them say nothing */
#define NEAR            (8u << 10) /* bytes: functions this close were likely built together */
#define ELSEWHERE       512u       /* bytes of a part put elsewhere that are followed */
#define MAX_ELSEWHERE   256u       /* such parts of one function */
#define PROLOGUE        48u        /* bytes in which it is set up */

#ifdef __x86_64__
#define OWN_ARCH CS_ARCH_X86
#define OWN_MODE CS_MODE_64
#else
#define OWN_ARCH CS_ARCH_ARM64
#define OWN_MODE CS_MODE_ARM
#endif

/* Linux 6.18 learned to emulate nops of several bytes. */
static bool kernel_knows_wide_nops(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 18);
}

/* The code of a function, and where to read what it jumps to. Addresses count from its entry. */
struct body {
	csh handle;
	const uint8_t *code;
	size_t size;
	bool whole;      /* code is all of it, not only the beginning */
	bool wide_nops;  /* the kernel emulates them */
	int fd;          /* -1: nothing can be read */
	uint64_t offset; /* of the entry in the file */
};

static bool decode_at(const struct body *b, uint64_t *at, cs_insn *insn)
{
	const uint8_t *here = b->code + *at;
	size_t left = b->size - *at;

	return cs_disasm_iter(b->handle, &here, &left, at, insn);
}

/*
 * Whether the code behind the probe, up to where control leaves it, shows that an argument was
 * given up.
 */
static bool gave_up_argument(const struct body *b, uint64_t at, cs_insn *insn,
			     struct cw_x86_skipped *s)
{
	bool wrong = false;

	while (s->lost && !wrong && decode_at(b, &at, insn)) {
		if (insn->id == X86_INS_CALL || insn->id == X86_INS_JMP ||
		    insn->id == X86_INS_RET || insn->id == X86_INS_SYSCALL)
			break;
		wrong = cw_x86_tells_of_lost(b->handle, insn, s);
	}
	return wrong;
}

/* Walk from the entry to the first emulated instruction; 0: stay. */
static uint32_t find_cheap(const struct body *b, const struct cw_placement_wish *wish,
			   struct cw_x86_skipped *s)
{
	cs_insn *insn = cs_malloc(b->handle);
	uint64_t at = 0;
	uint32_t found = 0;

	while (insn && at < REACH && decode_at(b, &at, insn)) {
		bool cheap = cw_x86_is_emulated(insn->bytes, insn->size, b->wide_nops);

		/* At `push %rbp` the kernel takes the top of the stack for the caller. */
		if (cheap && (!s->depth || insn->bytes[0] != 0x55)) {
			found = (uint32_t)insn->address;
			break;
		}
		if (!cw_x86_may_skip(insn, wish->keep, s) || (wish->with_return && s->depth))
			break;
	}
	if (found && gave_up_argument(b, found, insn, s))
		found = 0;
	if (insn)
		cs_free(insn, 1);
	return found;
}

static bool leads_between(uint64_t target, uint32_t probe)
{
	return target > 0 && target <= probe;
}

/*
 * Compilers put unlikely parts of a function elsewhere, and those jump back into it. Follow such a
 * part, or the beginning of another function, up to where control leaves it.
 */
static bool leads_back(const struct body *b, uint64_t start, uint32_t probe)
{
	uint8_t bytes[ELSEWHERE];
	const uint8_t *code = bytes;
	uint64_t at = start, target;
	cs_insn *insn;
	ssize_t got;
	size_t size;
	bool back = false, left = false;

	got = b->fd < 0 ? 0 : pread(b->fd, bytes, sizeof(bytes), (off_t)(b->offset + start));
	insn = got > 0 ? cs_malloc(b->handle) : NULL;
	size = got > 0 ? (size_t)got : 0;
	while (insn && !back && !left && cs_disasm_iter(b->handle, &code, &size, &at, insn)) {
		enum cw_x86_flow flow =
			cw_x86_flow(insn->bytes, insn->size, insn->address, &target);

		back = flow == CW_FLOW_DIRECT && leads_between(target, probe);
		left = insn->id == X86_INS_JMP || insn->id == X86_INS_RET ||
		       insn->id == X86_INS_UD2;
	}
	if (insn)
		cs_free(insn, 1);
	return back;
}

/* Whether every instruction is known and none leads to (entry, probe], nor to an unknown place. */
static bool only_entry_leads_to(const struct body *b, uint32_t probe)
{
	cs_insn *insn = cs_malloc(b->handle);
	const uint8_t *code = b->code;
	size_t size = b->size, elsewhere = 0;
	uint64_t at = 0, target;
	bool ok = insn != NULL;

	while (ok && size) {
		ok = cs_disasm_iter(b->handle, &code, &size, &at, insn);
		if (!ok)
			break;
		switch (cw_x86_flow(insn->bytes, insn->size, insn->address, &target)) {
		case CW_FLOW_DIRECT:
			ok = !leads_between(target, probe);
			if (ok && target >= b->size && insn->id != X86_INS_CALL)
				ok = elsewhere++ < MAX_ELSEWHERE && !leads_back(b, target, probe);
			break;
		case CW_FLOW_INDIRECT:
			ok = false;
			break;
		case CW_FLOW_NONE:
			break;
		}
	}
	if (insn)
		cs_free(insn, 1);
	return ok;
}

/* Flag a probe that stays at the entry when its instruction is single-stepped. */
static void stay(const struct body *b, struct cw_placement *out)
{
	cs_insn *insn = cs_malloc(b->handle);
	const uint8_t *code = b->code;
	size_t size = b->size;
	uint64_t addr = 0;

	if (insn && cs_disasm_iter(b->handle, &code, &size, &addr, insn) &&
	    !cw_x86_is_emulated(insn->bytes, insn->size, b->wide_nops))
		out->flags |= CW_PROBE_SINGLE_STEPPED;
	if (insn)
		cs_free(insn, 1);
}

static void place(struct body *b, const struct cw_placement_wish *wish, struct cw_placement *out)
{
	struct cw_x86_skipped s = {0};
	uint32_t probe = 0;

	if (OWN_ARCH != CS_ARCH_X86 || cs_open(OWN_ARCH, OWN_MODE, &b->handle) != CS_ERR_OK)
		return;
	b->wide_nops = kernel_knows_wide_nops();
	if (b->whole && !wish->at_entry) {
		cs_option(b->handle, CS_OPT_DETAIL, CS_OPT_ON);
		probe = find_cheap(b, wish, &s);
		cs_option(b->handle, CS_OPT_DETAIL, CS_OPT_OFF);
	}
	if (probe && only_entry_leads_to(b, probe)) {
		out->placed += probe;
		out->sp_adjust = (int32_t)s.depth;
		out->flags |= CW_PROBE_MOVED | s.lost * CW_PROBE_NO_ARG1;
	} else {
		stay(b, out);
	}
	cs_close(&b->handle);
}

void cw_place_code(const uint8_t *code, uint64_t size, uint64_t addr,
		   const struct cw_placement_wish *wish, struct cw_placement *out)
{
	struct body b = {.code = code, .size = size, .whole = size <= LONGEST, .fd = -1};

	memset(out, 0, sizeof(*out));
	out->placed = addr;
	place(&b, wish, out);
}

/* ---- other ways in -----------------------------------------------------------------------------
 */

struct inner {
	uint64_t from, to; /* addresses behind the entry, up to the probe */
	bool found;
};

/* cw_elf_sym_fn: another function that starts in the range. */
static bool find_inner(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct inner *in = arg;

	(void)name;
	(void)index;
	in->found = sym->st_value >= in->from && sym->st_value <= in->to;
	return !in->found;
}

/* Assembly has functions that fall through into the next one: its callers come in behind the entry.
 */
static bool has_inner_function(int fd, const struct cw_func *fn, uint64_t moved)
{
	struct inner in = {.from = fn->value + 1, .to = fn->value + moved};
	Elf *elf;

	if (cw_elf_open(&elf, fd, "", NULL))
		return true;
	cw_elf_each_func(elf, SHT_SYMTAB, find_inner, &in);
	if (!in.found)
		cw_elf_each_func(elf, SHT_DYNSYM, find_inner, &in);
	elf_end(elf);
	return in.found;
}

/* ---- frame pointers ------------------------------------------------------------------------ */

struct sample {
	int fd;
	Elf *elf;
	csh handle;
	uint64_t low, high; /* addresses: functions beyond them are left out */
	size_t n;           /* functions of the table */
	size_t step, next;  /* every step-th function is looked at */
	size_t looked, with, without;
};

static bool sampled(const struct sample *s, const GElf_Sym *sym)
{
	return sym->st_size > SAMPLE_MIN_SIZE && sym->st_value >= s->low &&
	       sym->st_value <= s->high;
}

/* cw_elf_sym_fn: count. */
static bool count(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct sample *s = arg;

	(void)name;
	(void)index;
	s->n += sampled(s, sym);
	return true;
}

/* cw_elf_sym_fn: look at some functions, spread over the table. */
static bool look(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct sample *s = arg;
	size_t size = sym->st_size < PROLOGUE ? sym->st_size : PROLOGUE;
	enum cw_x86_frame frame;
	uint8_t code[PROLOGUE];
	uint64_t offset;

	(void)name;
	(void)index;
	if (!sampled(s, sym) || s->next++ % s->step)
		return true;
	if (!cw_elf_addr_to_offset(s->elf, sym->st_value, true, &offset) ||
	    pread(s->fd, code, size, (off_t)offset) != (ssize_t)size)
		return true;
	s->looked++;
	frame = cw_x86_frame(s->handle, code, size);
	s->with += frame == CW_FRAME_POINTER;
	s->without += frame == CW_FRAME_NONE;
	return s->looked < SAMPLED;
}

static void each_symbol(Elf *elf, cw_elf_sym_fn fn, void *arg)
{
	cw_elf_each_func(elf, SHT_SYMTAB, fn, arg);
}

static void each_exported(Elf *elf, cw_elf_sym_fn fn, void *arg)
{
	cw_elf_each_func(elf, SHT_DYNSYM, fn, arg);
}

static bool tells_enough(const struct sample *s)
{
	return s->with + s->without >= SAMPLE_FEW;
}

/* From the first of the places that know functions where enough are found. */
static void take_sample(struct sample *s, uint64_t low, uint64_t high)
{
	void (*const places[])(Elf * elf, cw_elf_sym_fn fn,
			       void *arg) = {each_symbol, cw_elf_each_unwound, each_exported};
	size_t i;

	s->low = low;
	s->high = high;
	for (i = 0; i < sizeof(places) / sizeof(places[0]) && !tells_enough(s); i++) {
		s->n = s->looked = s->next = s->with = s->without = 0;
		places[i](s->elf, count, s);
		s->step = s->n / SAMPLED + 1;
		places[i](s->elf, look, s);
	}
}

/*
 * Whether most functions around a file offset keep frame pointers: a static program has libraries
 * that were built in another way. Too few there: of the file. True where nothing can be said.
 */
static bool module_has_frame_pointers(int fd, csh handle, uint64_t offset)
{
	struct sample s = {.fd = fd, .handle = handle};
	uint64_t address;

	if (cw_elf_open(&s.elf, fd, "", NULL))
		return true;
	if (cw_elf_offset_to_addr(s.elf, offset, true, &address))
		take_sample(&s, address > NEAR ? address - NEAR : 0, address + NEAR);
	if (!tells_enough(&s))
		take_sample(&s, 0, UINT64_MAX);
	elf_end(s.elf);
	return s.with >= s.without;
}

/* The same, remembered: plans probe many functions of few files. */
static bool cached_frame_pointers(int fd, csh handle, uint64_t offset)
{
	static struct {
		struct stat st;
		uint64_t part;
		bool has;
	} cache[64];
	static unsigned int next;
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		return true;
	for (i = 0; i < sizeof(cache) / sizeof(cache[0]); i++) {
		const struct stat *c = &cache[i].st;

		if (c->st_ino == st.st_ino && c->st_dev == st.st_dev && c->st_size == st.st_size &&
		    c->st_mtim.tv_sec == st.st_mtim.tv_sec &&
		    c->st_mtim.tv_nsec == st.st_mtim.tv_nsec && cache[i].part == offset / NEAR)
			return cache[i].has;
	}
	i = next++ % (sizeof(cache) / sizeof(cache[0]));
	cache[i].st = st;
	cache[i].part = offset / NEAR;
	cache[i].has = module_has_frame_pointers(fd, handle, offset);
	return cache[i].has;
}

static void judge_frame_pointer(int fd, const struct cw_func *fn, const uint8_t *code, size_t size,
				struct cw_placement *out)
{
	csh handle;

	if (OWN_ARCH != CS_ARCH_X86 || cs_open(OWN_ARCH, OWN_MODE, &handle) != CS_ERR_OK)
		return;
	if (cw_x86_frame(handle, code, size < PROLOGUE ? size : PROLOGUE) != CW_FRAME_POINTER &&
	    !cached_frame_pointers(fd, handle, fn->offset))
		out->flags |= CW_PROBE_NO_FP;
	cs_close(&handle);
}

void cw_place_probe(int fd, const struct cw_func *fn, const struct cw_placement_wish *wish,
		    struct cw_placement *out)
{
	size_t size = fn->size && fn->size <= LONGEST ? fn->size : PROLOGUE;
	uint8_t *code = malloc(size);
	ssize_t got = code ? pread(fd, code, size, (off_t)fn->offset) : -1;

	memset(out, 0, sizeof(*out));
	out->placed = fn->offset;
	if (got > 0) {
		struct body b = {
			.code = code,
			.size = (size_t)got,
			.whole = (uint64_t)got == fn->size,
			.fd = fd,
			.offset = fn->offset,
		};

		place(&b, wish, out);
		if (out->placed != fn->offset &&
		    has_inner_function(fd, fn, out->placed - fn->offset)) {
			*out = (struct cw_placement){.placed = fn->offset};
			b.whole = false;
			place(&b, wish, out);
		}
		judge_frame_pointer(fd, fn, code, (size_t)got, out);
	}
	free(code);
}

void cw_place_literally(int fd, const struct cw_func *fn, uint64_t offset, struct cw_placement *out)
{
	const struct cw_placement_wish wish = {.at_entry = true};
	const struct cw_func here = {.offset = offset};
	struct cw_placement entry;

	cw_place_probe(fd, fn, &wish, &entry);
	cw_place_probe(fd, &here, &wish, out);
	out->flags &= ~(uint32_t)CW_PROBE_NO_FP;
	out->flags |= entry.flags & CW_PROBE_NO_FP;
}
