/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Indirect functions. The dynamic loader calls their resolvers once and keeps what they chose in
 * the tables through which modules call: their relocations say where, the process's memory what.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "elffile.h"
#include "ifunc.h"
#include "mapped.h"
#include "snapshot.h"

#if defined(__aarch64__)
#define R_SLOT     R_AARCH64_JUMP_SLOT
#define R_DATA     R_AARCH64_GLOB_DAT
#define R_INDIRECT R_AARCH64_IRELATIVE
#else
#define R_SLOT     R_X86_64_JUMP_SLOT
#define R_DATA     R_X86_64_GLOB_DAT
#define R_INDIRECT R_X86_64_IRELATIVE
#endif

/* The executable mapping of one file. */
struct place {
	uint64_t dev_major, dev_minor, ino;
	uint64_t start, end, pgoff;
};

struct hunt {
	int mem; /* of the process */
	const char *name;
	uint64_t resolver; /* its address in the file */
	struct place own;  /* of the file that has the function */
	Elf *elf;          /* that file */
	uint64_t own_bias;
	uint64_t found; /* address in the file; 0 not yet */
};

static int note_place(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	struct place *p = arg;

	(void)prot;
	if (p->start || f->ino != p->ino || f->dev_major != p->dev_major ||
	    f->dev_minor != p->dev_minor)
		return 0;
	p->start = f->start;
	p->end = f->end;
	p->pgoff = pgoff;
	return 0;
}

static bool find_place(struct place *p, pid_t pid, const struct cw_mapped_file *f)
{
	*p = (struct place){.dev_major = f->dev_major, .dev_minor = f->dev_minor, .ino = f->ino};
	return !cw_snapshot_maps(pid, 0, note_place, p) && p->start;
}

/* What to add to addresses of the file; the mapping begins on a page, its segment may not. */
static bool bias_of(Elf *elf, const struct place *p, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	GElf_Phdr ph;
	size_t i;

	for (i = 0; cw_elf_segment(elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    (ph.p_offset & ~(page - 1)) != p->pgoff)
			continue;
		*bias = p->start - (ph.p_vaddr & ~(page - 1));
		return true;
	}
	return false;
}

/* Until its first call a slot leads to a stub in the caller's own procedure linkage table. */
static bool is_stub(Elf *elf, uint64_t addr)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	GElf_Shdr sh;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (cw_elf_section(elf, 0, names[i], &sh) && addr >= sh.sh_addr &&
		    addr - sh.sh_addr < sh.sh_size)
			return true;
	}
	return false;
}

static void try_slot(struct hunt *h, uint64_t at)
{
	uint64_t to = 0, offset;

	if (pread(h->mem, &to, sizeof(to), (off_t)at) != sizeof(to) || to < h->own.start ||
	    to >= h->own.end)
		return;
	to -= h->own_bias;
	if (to != h->resolver && !is_stub(h->elf, to) &&
	    cw_elf_addr_to_offset(h->elf, to, true, &offset))
		h->found = to;
}

static bool names_it(const struct hunt *h, Elf *elf, const GElf_Shdr *rela, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, rela->sh_link);
	GElf_Shdr sh;
	GElf_Sym sym;
	const char *name;

	if (!scn || !gelf_getshdr(scn, &sh) ||
	    !gelf_getsym(elf_getdata(scn, NULL), (int)index, &sym))
		return false;
	name = elf_strptr(elf, sh.sh_link, sym.st_name);
	return name && !strcmp(name, h->name);
}

/* The slots of one section of relocations; own: of the file that has the function. */
static void look_through(struct hunt *h, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t bias,
			 bool own)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Rela r;
	int i;

	for (i = 0; data && !h->found && gelf_getrela(data, i, &r); i++) {
		uint32_t type = GELF_R_TYPE(r.r_info);

		if (type == R_INDIRECT ? own && (uint64_t)r.r_addend == h->resolver
				       : (type == R_SLOT || type == R_DATA) &&
						 names_it(h, elf, sh, GELF_R_SYM(r.r_info)))
			try_slot(h, bias + r.r_offset);
	}
}

static void look_into(struct hunt *h, pid_t pid, const struct cw_mapped_file *f)
{
	int fd = cw_mapped_open(f);
	Elf_Scn *scn = NULL;
	struct place p;
	uint64_t bias;
	GElf_Shdr sh;
	Elf *elf;

	if (fd < 0)
		return;
	if (!cw_elf_open(&elf, fd, f->path, NULL)) {
		if (find_place(&p, pid, f) && bias_of(elf, &p, &bias)) {
			while (!h->found && (scn = elf_nextscn(elf, scn))) {
				if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
					look_through(h, elf, scn, &sh, bias,
						     f->ino == h->own.ino &&
							     f->dev_minor == h->own.dev_minor);
			}
		}
		elf_end(elf);
	}
	close(fd);
}

static bool open_own(struct hunt *h, pid_t pid, const struct cw_target_file *file,
		     const struct cw_mapped *m)
{
	size_t i;

	if (cw_elf_open(&h->elf, file->fd, file->path, NULL))
		return false;
	/* Device numbers of stat and of mappings differ on some file systems. */
	for (i = 0; i < m->n; i++) {
		if (m->files[i].ino == file->ino && find_place(&h->own, pid, &m->files[i]))
			return bias_of(h->elf, &h->own, &h->own_bias);
	}
	return false;
}

int cw_ifunc_follow(pid_t pid, const struct cw_target_file *file, const char *name,
		    struct cw_func *fn)
{
	struct hunt h = {.mem = -1, .name = name, .resolver = fn->value};
	char path[64], err[CW_ERR];
	struct cw_func impl;
	struct cw_mapped m;
	size_t i;
	int rc = cw_mapped_read(&m, pid, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	h.mem = open(path, O_RDONLY | O_CLOEXEC);
	if (h.mem >= 0 && open_own(&h, pid, file, &m)) {
		for (i = 0; !h.found && i < m.n; i++)
			look_into(&h, pid, &m.files[i]);
	}
	if (h.mem >= 0)
		close(h.mem);
	cw_mapped_free(&m);
	rc = -ENOENT;
	if (h.found && cw_elf_addr_to_offset(h.elf, h.found, true, &fn->offset)) {
		fn->value = h.found;
		fn->size = 0;
		fn->ifunc = false;
		if (!cw_resolve_offset(file->fd, file->path, file->pid, fn->offset, &impl, err) &&
		    impl.offset == fn->offset)
			fn->size = impl.size;
		rc = 0;
	}
	elf_end(h.elf);
	return rc;
}
