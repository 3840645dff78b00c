/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/plain_debug.o */
/* Decompressed debug sections beside those of the same file before it was compressed. */
#include <pthread.h>
#include "plain_debug.h"
#include "symbolize_fixture.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* An ELF file in memory, which tests may change. */
struct file {
	char *bytes;
	size_t size;
	Elf *elf;
};

static void file_open(struct file *f, const char *name)
{
	f->bytes = fx_read(name, &f->size);
	elf_version(EV_CURRENT);
	f->elf = elf_memory(f->bytes, f->size);
	assert_non_null(f->elf);
}

static void file_close(struct file *f)
{
	elf_end(f->elf);
	free(f->bytes);
}

static Elf_Scn *section(Elf *elf, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, sh));
		if (!strcmp(elf_strptr(elf, names, sh->sh_name), name))
			return scn;
	}
	return NULL;
}

/* Where the compressed section's header is in the file. */
static Elf64_Chdr *compressed(struct file *f, const char *name)
{
	GElf_Shdr sh;

	assert_non_null(section(f->elf, name, &sh));
	assert_true(sh.sh_flags & SHF_COMPRESSED);
	return (Elf64_Chdr *)(void *)(f->bytes + sh.sh_offset);
}

static const char *const used[] = {".debug_info", ".debug_str", ".debug_line", ".debug_abbrev"};

/* Those sections have the contents of whole, but for the one that is missing. */
static void expect_plain(Elf *elf, Elf *whole, const char *missing)
{
	GElf_Shdr sh, other;

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		Elf_Scn *scn = section(elf, used[i], &sh), *same = section(whole, used[i], &other);
		Elf_Data *data, *wanted;

		assert_non_null(scn);
		assert_false(sh.sh_flags & SHF_COMPRESSED);
		assert_int_equal(elf_ndxscn(scn), elf_ndxscn(same));
		if (missing && !strcmp(missing, used[i])) {
			assert_int_equal(sh.sh_type, SHT_NOBITS);
			continue;
		}
		data = elf_getdata(scn, NULL);
		wanted = elf_getdata(same, NULL);
		assert_int_equal(data->d_size, wanted->d_size);
		assert_memory_equal(data->d_buf, wanted->d_buf, wanted->d_size);
	}
}

static int setup(void **state)
{
	if (folder_new(state))
		return -1;
	/* Names enough that compressing them pays. */
	return shell("for i in $(seq 400); do"
		     " echo \"int some_name_of_a_function_$i(int a) { return a * $i; }\";"
		     " done >p.c && ${CC:-gcc} -g -O1 -shared -fPIC -o whole p.c && "
		     "for way in zlib zstd; do"
		     " objcopy --compress-debug-sections=$way whole $way || exit 1; done");
}

static void test_ways(void **state)
{
	static const char *const ways[] = {"zlib", "zstd"};
	struct file whole, f;

	(void)state;
	file_open(&whole, "whole");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct cw_plain_debug *p = cw_plain_debug_new();
		const char *why = "";
		GElf_Shdr sh;
		Elf *plain;

		file_open(&f, ways[i]);
		assert_int_equal(compressed(&f, ".debug_info")->ch_type,
				 i ? ELFCOMPRESS_ZSTD : ELFCOMPRESS_ZLIB);
		plain = cw_plain_debug_open(p, f.elf, &why);
		assert_non_null(plain);
		assert_null(why);
		expect_plain(plain, whole.elf, NULL);
		/* What nobody reads is not there. */
		assert_non_null(section(plain, ".debug_aranges", &sh));
		assert_int_equal(sh.sh_type, SHT_NOBITS);
		elf_end(plain);
		cw_plain_debug_free(p);
		file_close(&f);
	}
	file_close(&whole);
}

static void test_nothing_compressed(void **state)
{
	struct cw_plain_debug *p = cw_plain_debug_new();
	const char *why = "";
	struct file f;

	(void)state;
	file_open(&f, "whole");
	assert_null(cw_plain_debug_open(p, f.elf, &why));
	assert_null(why);
	cw_plain_debug_free(p);
	file_close(&f);
}

/* Decompress a file; the word that is said has to be in what is said. */
static void expect_said(struct file *f, Elf *whole, const char *missing, const char *word)
{
	struct cw_plain_debug *p = cw_plain_debug_new();
	const char *why = NULL;
	Elf *plain;

	/* What libelf has read so far is as it was. */
	elf_end(f->elf);
	f->elf = elf_memory(f->bytes, f->size);
	plain = cw_plain_debug_open(p, f->elf, &why);
	assert_non_null(why);
	assert_non_null(strstr(why, word));
	if (missing)
		expect_plain(plain, whole, missing);
	else
		assert_null(plain);
	elf_end(plain);
	cw_plain_debug_free(p);
}

static void check_damage(const char *way)
{
	struct file whole, f;
	Elf64_Chdr *ch, had;

	file_open(&whole, "whole");
	file_open(&f, way);
	ch = compressed(&f, ".debug_str");
	memset((char *)ch + 60, 0x55, 8);
	expect_said(&f, whole.elf, ".debug_str", "damaged");
	file_close(&f);

	/* Contents that are right, and what is said of them is not. */
	file_open(&f, way);
	ch = compressed(&f, ".debug_info");
	had = *ch;
	ch->ch_size = had.ch_size - 1;
	expect_said(&f, whole.elf, ".debug_info", "damaged");
	ch->ch_size = had.ch_size + 1;
	expect_said(&f, whole.elf, ".debug_info", "damaged");
	ch->ch_size = UINT64_MAX - 100;
	expect_said(&f, whole.elf, ".debug_info", "damaged");
	/* zlib's cannot become that much. */
	ch->ch_size = 1ull << 45;
	if (had.ch_type == ELFCOMPRESS_ZSTD)
		expect_said(&f, whole.elf, NULL, "half of the memory");
	else
		expect_said(&f, whole.elf, ".debug_info", "damaged");
	ch->ch_size = had.ch_size;
	ch->ch_type = 77;
	expect_said(&f, whole.elf, ".debug_info", "no way that is known");
	file_close(&f);
	file_close(&whole);
}

static void test_damage(void **state)
{
	(void)state;
	check_damage("zlib");
	check_damage("zstd");
}

/* Threads with handles of their own do it together, and all have all of it. */
struct reader {
	pthread_t thread;
	struct cw_plain_debug *p;
	struct file f;
	Elf *plain;
};

static void *read_it(void *arg)
{
	struct reader *r = arg;
	const char *why;

	r->plain = cw_plain_debug_open(r->p, r->f.elf, &why);
	return NULL;
}

static void share(struct cw_plain_debug *p, Elf *whole)
{
	struct reader readers[6];

	for (size_t i = 0; i < 6; i++) {
		readers[i].p = p;
		file_open(&readers[i].f, "zlib");
	}
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_it, &readers[i]), 0);
	for (size_t i = 0; i < 6; i++)
		pthread_join(readers[i].thread, NULL);
	for (size_t i = 0; i < 6; i++) {
		assert_non_null(readers[i].plain);
		expect_plain(readers[i].plain, whole, NULL);
		elf_end(readers[i].plain);
		file_close(&readers[i].f);
	}
}

static void test_threads(void **state)
{
	struct file whole, other;
	const char *why = "";

	(void)state;
	file_open(&whole, "whole");
	for (int round = 0; round < 50; round++) {
		struct cw_plain_debug *p = cw_plain_debug_new();

		share(p, whole.elf);
		/* Another file is not taken for the one that was decompressed. */
		file_open(&other, "zstd");
		assert_null(cw_plain_debug_open(p, other.elf, &why));
		assert_null(why);
		file_close(&other);
		cw_plain_debug_free(p);
	}
	file_close(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_nothing_compressed),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, setup, folder_free);
}
