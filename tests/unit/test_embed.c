/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/embed.o record/elffile.o record/resolve.o record/debugfile.o record/nearest.o */
/* LINK: record/cxxname.o */
/*
 * Embedding: what comes out of a capture names the same functions and unwinds the same addresses
 * as the file that went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../format/capture.h"
#include "../../record/embed.h"
#include "../../record/resolve.h"
#include "folder.h"

static int setup(void **state)
{
	if (folder_new(state))
		return -1;
	return shell(
		"echo 'static int hidden(int x) { return x * 3; }"
		" int data[100]; int shown(int x) { return hidden(x) + data[x]; }"
		" int deep(int n) { volatile int v[50]; v[n] = n; return n ? deep(n - 1) + v[n] "
		": 0; }"
		" int main(int c, char **v) { (void)v; return shown(c) + deep(c); }' >a.c"
		" && gcc -O0 -g -rdynamic -o prog a.c && gcc -O1 -g -fPIC -shared -o lib.so a.c"
		" && cp lib.so stripped.so && strip stripped.so"
		" && gcc -O0 -g -static-pie -o static a.c"
		" && gcc -O0 -no-pie -fno-asynchronous-unwind-tables -g -o fixed a.c");
}

/* Embed file into a capture, read that, and write the payload to out. Returns its size, 0: none. */
static size_t through_capture(const char *file, const char *out, uint32_t kind)
{
	struct cw_meta_kv kv[] = {{NULL, NULL}};
	const char *capture = in_dir("capture.cwc");
	int fd = open(capture, O_CREAT | O_TRUNC | O_RDWR, 0600);
	int in = file ? open(file, O_RDONLY) : -1, to;
	char err[512];
	struct cw_end end = {.h.type = CW_END, .reason = CW_END_TARGET};
	const struct cw_rec *rec;
	struct cw_writer_stats st;
	struct cw_writer *w;
	struct cw_reader *r;
	struct cw_pos pos;
	size_t size = 0;
	uint64_t written;

	assert_int_equal(cw_writer_new(&w, fd, kv), 0);
	if (file) {
		assert_true(in >= 0);
		assert_int_equal(cw_embed_elf(w, 7, in, UINT64_MAX, &written), 0);
		close(in);
	} else {
		assert_int_equal(cw_embed_vdso(w, 7), 0);
	}
	assert_int_equal(cw_writer_append_tail(w, &end.h, sizeof(end), "", 0), 0);
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_get_stats(w, &st);
	/* Header, end and seek table are all that is no payload. */
	assert_true(st.bytes - st.payload_bytes < 16384);
	cw_writer_free(w);
	close(fd);
	to = open(out, O_CREAT | O_TRUNC | O_RDWR, 0600);
	assert_int_equal(cw_reader_open(&r, capture, err, sizeof(err)), 0);
	while (cw_reader_next(r, &rec, &pos) == 1) {
		const struct cw_blob *b = (const void *)rec;

		if (rec->type != CW_BLOB)
			continue;
		assert_int_equal(b->module_id, 7);
		assert_int_equal(b->kind, kind);
		assert_int_equal(b->offset, size);
		assert_int_equal(write(to, b->data, rec->size - sizeof(*b)),
				 rec->size - sizeof(*b));
		size += rec->size - sizeof(*b);
		assert_true(size <= b->total);
	}
	for (size_t i = 0; i < cw_reader_nproblems(r); i++)
		fail_msg("%s", cw_reader_problem(r, i)->text);
	cw_reader_free(r);
	close(to);
	return size;
}

/* The function's frames must be computed alike from both files; returns how many were compared. */
static int compare_frames(Elf *a, Elf *b, bool expect_any)
{
	Dwarf_CFI *ca = dwarf_getcfi_elf(a), *cb = dwarf_getcfi_elf(b);
	GElf_Shdr shdr;
	Elf_Scn *scn = NULL;
	int n = 0;

	assert_true(!expect_any || (ca && cb));
	while (ca && cb && (scn = elf_nextscn(b, scn))) {
		Elf_Data *data;

		gelf_getshdr(scn, &shdr);
		if (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; i < (int)(shdr.sh_size / shdr.sh_entsize); i++) {
			Dwarf_Frame *fa = NULL, *fb = NULL;
			Dwarf_Op *oa, *ob;
			size_t la, lb;
			GElf_Sym sym;

			gelf_getsym(data, i, &sym);
			if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
				continue;
			if (dwarf_cfi_addrframe(ca, sym.st_value + 1, &fa))
				continue;
			assert_int_equal(dwarf_cfi_addrframe(cb, sym.st_value + 1, &fb), 0);
			assert_int_equal(dwarf_frame_cfa(fa, &oa, &la), 0);
			assert_int_equal(dwarf_frame_cfa(fb, &ob, &lb), 0);
			assert_int_equal(la, lb);
			assert_int_equal(oa[0].atom, ob[0].atom);
			assert_int_equal(oa[0].number2, ob[0].number2);
			free(fa);
			free(fb);
			n++;
		}
	}
	dwarf_cfi_end(ca);
	dwarf_cfi_end(cb);
	return n;
}

/* Offsets in the file must lead to the same addresses as before. */
static void compare_segments(Elf *a, Elf *b)
{
	size_t na, nb;

	assert_int_equal(elf_getphdrnum(a, &na), 0);
	assert_int_equal(elf_getphdrnum(b, &nb), 0);
	assert_int_equal(na, nb);
	for (int i = 0; i < (int)na; i++) {
		GElf_Phdr pa, pb;

		gelf_getphdr(a, i, &pa);
		gelf_getphdr(b, i, &pb);
		if (pa.p_type == PT_LOAD)
			assert_memory_equal(&pa, &pb, sizeof(pa));
	}
}

static int check(const char *name, bool frames)
{
	int fa = open(in_dir(name), O_RDONLY), fb, n;
	uint8_t ida[24], idb[24];
	Elf *a, *b;
	size_t size;

	size = through_capture(in_dir(name), in_dir("out"), CW_BLOB_SYMBOLS);
	assert_true(size > 0);
	/* The same symbols, and no word of complaint. */
	assert_int_equal(
		shell("symbols() { nm $1; nm -D $1; } 2>&1; symbols %s | sed 's/^nm: %s:/nm: "
		      "out:/; s/ "
		      "[A-Za-z] / /'"
		      " | sort >nm1; symbols out | sed 's/ [A-Za-z] / /' | sort >nm2; cmp nm1 nm2"
		      " && readelf -lSsnW out >re 2>re.err && test ! -s re.err",
		      name, name),
		0);
	fb = open(in_dir("out"), O_RDONLY);
	assert_int_equal(cw_elf_build_id(fa, ida), cw_elf_build_id(fb, idb));
	assert_memory_equal(ida, idb, 24);
	elf_version(EV_CURRENT);
	a = elf_begin(fa, ELF_C_READ, NULL);
	b = elf_begin(fb, ELF_C_READ, NULL);
	compare_segments(a, b);
	n = compare_frames(a, b, frames);
	elf_end(a);
	elf_end(b);
	close(fa);
	close(fb);
	return n;
}

static void test_kinds(void **state)
{
	(void)state;
	assert_true(check("prog", true) >= 3);
	assert_true(check("lib.so", true) >= 2);
	assert_true(check("stripped.so", true) >= 2);
	assert_true(check("static", true) > 100);
	check("fixed", false);
}

static void test_smaller(void **state)
{
	struct stat st;
	size_t size = through_capture(in_dir("static"), in_dir("out"), CW_BLOB_SYMBOLS);

	(void)state;
	assert_int_equal(stat(in_dir("static"), &st), 0);
	assert_true(size * 3 < (size_t)st.st_size * 2);
	/* No debugging information, no code. */
	assert_int_equal(shell("readelf -SW out | grep -q '\\.text *NOBITS'"), 0);
	assert_int_equal(shell("readelf -SW out | grep -q '\\.debug_info *NULL'"), 0);
}

/* One wrong byte in the file's or the sections' headers: a payload or none, but no crash. */
static void damage(unsigned int i)
{
	static uint8_t bytes[1 << 20];
	int fd = open(in_dir("lib.so"), O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	size_t at;

	close(fd);
	assert_true(size > 64 && size < (ssize_t)sizeof(bytes));
	srandom(i);
	at = i < 100 ? 16 + i % 48 : (size_t)size - 1 - (size_t)random() % (33 * 64);
	bytes[at] = (uint8_t)random();
	fd = open(in_dir("bad"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_int_equal(write(fd, bytes, (size_t)size), size);
	close(fd);
	through_capture(in_dir("bad"), in_dir("out"), CW_BLOB_SYMBOLS);
}

/* A number of segments that stands for another, which the first section has: fewer, and more. */
static void test_segments_elsewhere(void **state)
{
	static uint8_t bytes[1 << 20];
	Elf64_Ehdr *eh = (void *)bytes;
	int fd = open(in_dir("lib.so"), O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));

	(void)state;
	close(fd);
	assert_true(size > 64 && size < (ssize_t)sizeof(bytes));
	eh->e_phnum = PN_XNUM;
	for (uint32_t n = 1; n < 200000; n = n * 3 + 1) {
		((Elf64_Shdr *)(void *)(bytes + eh->e_shoff))->sh_info = n;
		fd = open(in_dir("bad"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
		assert_int_equal(write(fd, bytes, (size_t)size), size);
		close(fd);
		through_capture(in_dir("bad"), in_dir("out"), CW_BLOB_SYMBOLS);
	}
}

static void test_damaged(void **state)
{
	(void)state;
	assert_int_equal(
		shell("echo text >text; : >empty; head -c 3000 static >cut"
		      " && dd if=lib.so of=cut2 bs=1 count=$(($(stat -c %%s lib.so) - 100))"
		      " status=none"),
		0);
	assert_int_equal(through_capture(in_dir("text"), in_dir("out"), CW_BLOB_SYMBOLS), 0);
	assert_int_equal(through_capture(in_dir("empty"), in_dir("out"), CW_BLOB_SYMBOLS), 0);
	assert_int_equal(through_capture(in_dir("cut"), in_dir("out"), CW_BLOB_SYMBOLS), 0);
	through_capture(in_dir("cut2"), in_dir("out"), CW_BLOB_SYMBOLS);
	for (unsigned int i = 0; i < 300; i++)
		damage(i);
}

/* As many segments and sections as headers can count: pairing them would take many seconds. */
static void test_crowded(void **state)
{
	const Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					  ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(e),
			      .e_shoff = sizeof(e) + 65000 * sizeof(Elf64_Phdr),
			      .e_ehsize = sizeof(e),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 65000,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 65000,
			      .e_shstrndx = 1};
	const Elf64_Phdr note = {.p_type = PT_NOTE, .p_filesz = 1, .p_vaddr = 1};
	const Elf64_Shdr empty = {.sh_type = SHT_PROGBITS};
	FILE *f = fopen(in_dir("crowded"), "w");
	clock_t begin;

	(void)state;
	assert_non_null(f);
	fwrite(&e, sizeof(e), 1, f);
	for (int i = 0; i < 65000; i++)
		fwrite(&note, sizeof(note), 1, f);
	for (int i = 0; i < 65000; i++)
		fwrite(&empty, sizeof(empty), 1, f);
	fclose(f);
	begin = clock();
	assert_int_equal(through_capture(in_dir("crowded"), in_dir("out"), CW_BLOB_SYMBOLS), 0);
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
}

static void test_large(void **state)
{
	size_t size;

	(void)state;
	/* A string table of 20 MiB: written in pieces. */
	assert_int_equal(
		shell("(for i in $(seq 1 40000); do printf 'f_%%0500d: nop\\n.type f_%%0500d,"
		      "@function\\n' $i $i; done) >big.s && gcc -shared -o big.so big.s"),
		0);
	size = through_capture(in_dir("big.so"), in_dir("out"), CW_BLOB_SYMBOLS);
	assert_true(size > 20 << 20);
	assert_int_equal(
		shell("nm big.so | grep -c f_0 >nm1; nm out | grep -c f_0 >nm2; cmp nm1 nm2"), 0);
}

static void test_vdso(void **state)
{
	uint8_t id[24], again[24];
	uint32_t size = cw_vdso_build_id(id);
	int fd;

	(void)state;
	assert_true(through_capture(NULL, in_dir("vdso"), CW_BLOB_VDSO) >= 4096);
	fd = open(in_dir("vdso"), O_RDONLY);
	assert_int_equal(cw_elf_build_id(fd, again), size);
	assert_memory_equal(id, again, size);
	close(fd);
	assert_int_equal(shell("nm -D vdso | grep -q clock_gettime"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),   cmocka_unit_test(test_smaller),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_segments_elsewhere),
		cmocka_unit_test(test_crowded), cmocka_unit_test(test_large),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, setup, folder_free);
}
