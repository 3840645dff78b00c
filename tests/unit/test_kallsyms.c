/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/kallsyms.o record/kerntext.o record/idmap.o */
/* Names of kernel addresses: which symbols of a made-up /proc/kallsyms a capture gets, and when. */
#include "../../record/kallsyms.h"
#include "recorded_fixture.h"

static const struct cw_ksym *ksym(const char *name)
{
	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_ksym *k = (const void *)recs[i];

		if (recs[i]->type == CW_KSYM && !strcmp(k->name, name))
			return k;
	}
	return NULL;
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

/* The kernel's own code is read once and kept; what is loaded and goes is looked up each time. */
static void test_own_code(void **state)
{
	struct cw_kallsyms *k;

	(void)state;
	put_file("kallsyms", "0000000000001000 A percpu\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T alias\n"
			     "ffffffff81000180 D data\n"
			     "ffffffff81000200 t second\n"
			     "ffffffff81000100 T first\n"
			     "ffffffff81000400 T _etext\n"
			     "ffffffff81000500 T init\n"
			     "ffffffffc0000100 t old\t[mod]\n");
	k = cw_kallsyms_new(in_dir("kallsyms"));
	cw_kallsyms_load(k);
	put_file("kallsyms", "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 T other\n"
			     "ffffffff81000400 T _etext\n"
			     "ffffffff81000500 T init\n"
			     "ffffffffc0000100 t new\t[mod]\n");
	begin();
	cw_kallsyms_note(k, 0xffffffff81000010);
	cw_kallsyms_note(k, 0xffffffff810001ff);
	cw_kallsyms_note(k, 0xffffffff81000100);
	cw_kallsyms_note(k, 0xffffffff810003ff);
	cw_kallsyms_note(k, 0xffffffff81000510);
	cw_kallsyms_note(k, 0xffffffffc0000123);
	assert_int_equal(cw_kallsyms_flush(k, writer, 5), 0);
	assert_int_equal(cw_kallsyms_repeat(k, writer), 0);
	end();
	cw_kallsyms_free(k);
	assert_int_equal(count(CW_KSYM, 0), 5);
	assert_int_equal(count(CW_KSYM, CW_REC_REPEATED), 5);
	assert_int_equal(ksym("_stext")->end, 0xffffffff81000100);
	assert_int_equal(ksym("first")->start, 0xffffffff81000100);
	assert_int_equal(ksym("first")->end, 0xffffffff81000200);
	assert_int_equal(ksym("second")->end, 0xffffffff81000400);
	assert_non_null(ksym("init"));
	assert_non_null(ksym("new"));
	assert_null(ksym("other"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_own_code),
		cmocka_unit_test(test_kptr_restrict),
	};

	return cmocka_run_group_tests(tests, folder_new, recorded_teardown);
}
