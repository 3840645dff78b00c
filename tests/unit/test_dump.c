/* SPDX-License-Identifier: GPL-2.0-only */
/* Records as JSON, and the check of a capture as a whole. */
/* LINK: analyze/jsontext.o analyze/validate.o analyze/print.o analyze/text.o */
#include <sqlite3.h>
#include "capture_fixture.h"
#include "../../analyze/jsontext.h"
#include "../../analyze/validate.h"

static char text[1 << 20];

static const char *record_json(const struct cw_type *t, const struct cw_rec *rec, size_t max_bytes)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	cw_json_record(out, t, rec, max_bytes);
	fclose(out);
	return text;
}

static const char *string_json(const char *s, size_t n)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	cw_json_string(out, s, n);
	fclose(out);
	return text;
}

static void events(void **state)
{
	struct cw_probe_entry e = entry_at(77, 4, 0xffffffffffffffff);
	struct cw_exit x = {.h = {.type = CW_EXIT, .size = sizeof(x), .cpu = CW_CPU_NONE, .ts = 1},
			    .code = -3};

	UNUSED(state);
	assert_string_equal(record_json(cw_type_by_id(CW_PROBE_ENTRY), &e.h, 64),
			    "{\"type\":\"probe_entry\",\"ts\":77,\"cpu\":0,\"pid\":100,\"tid\":4,"
			    "\"probe_id\":0,"
			    "\"reserved\":0,\"sp\":\"0x7ffd00001004\",\"stack\":\"0x0\",\"args\":["
			    "\"0xffffffffffffffff\",\"0x4d\",\"0x0\",\"0x0\",\"0x0\",\"0x0\","
			    "\"0x0\",\"0x0\"]}\n");
	assert_string_equal(
		record_json(cw_type_by_id(CW_EXIT), &x.h, 64),
		"{\"type\":\"exit\",\"ts\":1,\"pid\":0,\"tid\":0,\"flags\":0,\"code\":-3}\n");
	x.h.flags = CW_REC_REPEATED;
	x.h.size = 20;
	assert_string_equal(
		record_json(NULL, &x.h, 64),
		"{\"type\":\"type_40\",\"ts\":1,\"repeated\":true,\"bytes\":\"00000000\"}\n");
}

static void tails(void **state)
{
	uint64_t mem[32] = {0};
	struct cw_stack *s = (struct cw_stack *)mem;
	struct cw_blob *b = (struct cw_blob *)mem;

	UNUSED(state);
	s->h = (struct cw_rec){.type = CW_STACK, .size = sizeof(*s) + 16};
	s->frames[0] = 0x10;
	s->frames[1] = 0x20;
	assert_non_null(strstr(record_json(cw_type_by_id(CW_STACK), &s->h, 64),
			       "\"frames\":[\"0x10\",\"0x20\"]}"));
	s->h.size = sizeof(*s);
	assert_non_null(strstr(record_json(cw_type_by_id(CW_STACK), &s->h, 64), "\"frames\":[]}"));
	memset(mem, 0, sizeof(mem));
	b->h = (struct cw_rec){.type = CW_BLOB, .size = sizeof(*b) + 3};
	memcpy(b->data, "\x01\xab\xff", 3);
	assert_non_null(
		strstr(record_json(cw_type_by_id(CW_BLOB), &b->h, 64), "\"data\":\"01abff\"}"));
	assert_non_null(strstr(record_json(cw_type_by_id(CW_BLOB), &b->h, 2),
			       "\"data\":\"01ab\",\"data_bytes\":3}"));
}

static void strings(void **state)
{
	UNUSED(state);
	assert_string_equal(string_json("plain", 5), "\"plain\"");
	assert_string_equal(string_json("", 0), "\"\"");
	assert_string_equal(string_json("a\"b\\c", 5), "\"a\\\"b\\\\c\"");
	assert_string_equal(string_json("\x1b[1m\n\x7f", 6), "\"\\u001b[1m\\u000a\\u007f\"");
	assert_string_equal(string_json("\xe2\x80\xae\xc2\x9b\xd8\x9c", 7),
			    "\"\\u202e\\u009b\\u061c\"");
	assert_string_equal(string_json("gr\xc3\xbc\xc3\x9f", 6), "\"gr\xc3\xbc\xc3\x9f\"");
	assert_string_equal(string_json("\xf0\x9f\x8e\x89", 4), "\"\xf0\x9f\x8e\x89\"");
	assert_string_equal(string_json("\xff\xc3", 2), "\"\\u00ff\\u00c3\""); /* cut */
	assert_string_equal(string_json("\xc0\x80", 2), "\"\\u00c0\\u0080\""); /* overlong */
	assert_string_equal(string_json("\xed\xa0\x80", 3),
			    "\"\\u00ed\\u00a0\\u0080\""); /* surrogate */
	assert_string_equal(string_json("\xe2\x82x", 3), "\"\\u00e2\\u0082x\"");
}

/* SQLite's parser accepts whatever bytes a target may put into a name. */
static void any_bytes_are_json(void **state)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	uint32_t seed = 7;

	UNUSED(state);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &stmt, NULL),
			 SQLITE_OK);
	for (int round = 0; round < 5000; round++) {
		char s[24];

		for (size_t i = 0; i < sizeof(s); i++)
			s[i] = (seed = seed * 1103515245 + 12345) >> 16;
		string_json(s, sizeof(s));
		sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), 1);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* ---- the check --------------------------------------------------------------------------------
 */

/* What is said about a capture; returns how many sentences. */
static long validate(const struct bytes *b)
{
	int fd = bytes_file(b);
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct cw_reader *r;
	char err[256];
	long n;

	assert_int_equal(cw_reader_open_fd(&r, fd, "FILE", err, sizeof(err)), 0);
	n = cw_validate(r, "FILE", out);
	cw_reader_free(r);
	fclose(out);
	close(fd);
	return n;
}

static struct cw_writer *start(int *fd)
{
	struct cw_writer *w;

	*fd = memory_file();
	assert_int_equal(cw_writer_new(&w, *fd, fixture_keys), 0);
	return w;
}

static struct bytes stop(struct cw_writer *w, int fd)
{
	struct cw_end end;

	make_end(&end);
	cw_writer_append(w, &end.h);
	return finish(w, fd, true);
}

static void put_references(struct cw_writer *w)
{
	struct cw_module m = {.h = {.type = CW_MODULE}, .module_id = 1};
	struct cw_probe p = {.h = {.type = CW_PROBE}, .module_id = 1};
	struct cw_stack s = {.h = {.type = CW_STACK}, .id = 0xabc};

	cw_writer_append_tail(w, &m.h, sizeof(m), "/x", 2);
	cw_writer_append_tail(w, &p.h, sizeof(p), "f", 1);
	cw_writer_append_tail(w, &s.h, sizeof(s), "12345678", 8);
}

static void nothing_wrong(void **state)
{
	struct cw_probe_entry e = entry_at(50, 7, 1);
	struct cw_counter k = {
		.h = {.type = CW_COUNTER, .size = sizeof(k)}, .kind = CW_PROBE_ENTRY, .emitted = 2};
	struct cw_lost lost = {.h = {.type = CW_LOST, .size = sizeof(lost), .ts = 60},
			       .kind = CW_PROBE_ENTRY,
			       .reason = CW_LOST_DELETED,
			       .count = 1,
			       .end_ts = 60};
	struct cw_writer *w;
	struct bytes b;
	int fd;

	UNUSED(state);
	w = start(&fd);
	e.stack = 0xabc;
	cw_writer_append(w, &e.h); /* a reference may come before what it refers to */
	put_references(w);
	cw_writer_append(w, &lost.h);
	cw_writer_append(w, &k.h);
	cw_writer_blob(w, 1, CW_BLOB_ELF, text, 100000);
	cw_writer_new_epoch(w);
	cw_writer_blob(w, 1, CW_BLOB_ELF, text, 100000);
	b = stop(w, fd);
	assert_int_equal(validate(&b), 0);
	assert_non_null(strstr(text, "nothing wrong"));
	assert_non_null(strstr(text, "1 events, 1 events said to be lost"));
	bytes_free(&b);
}

static void missing_references(void **state)
{
	struct cw_probe_entry e = entry_at(50, 7, 1);
	struct cw_map m = {.h = {.type = CW_MAP, .size = sizeof(m)}, .module_id = 9};
	struct cw_writer *w;
	struct bytes b;
	int fd;

	UNUSED(state);
	w = start(&fd);
	put_references(w);
	e.probe_id = 4;
	e.stack = 0xdef;
	cw_writer_append(w, &e.h);
	cw_writer_append(w, &e.h);
	cw_writer_append(w, &m.h);
	b = stop(w, fd);
	assert_int_equal(validate(&b), 3);
	assert_non_null(strstr(text, "stack 0xdef is not in the file; references to it: 2"));
	assert_non_null(strstr(text, "probe 4 is"));
	assert_non_null(strstr(text, "module 9 is"));
	bytes_free(&b);
}

static void contradictions(void **state)
{
	struct cw_probe_entry e = entry_at(50, 7, 1);
	struct cw_counter k = {
		.h = {.type = CW_COUNTER, .size = sizeof(k)}, .kind = CW_PROBE_ENTRY, .emitted = 5};
	struct cw_lost lost = {.h = {.type = CW_LOST, .size = sizeof(lost), .ts = 60}, .count = 0};
	struct cw_plan_text plan = {.h = {.type = CW_PLAN_TEXT, .size = sizeof(plan)}, .pieces = 2};
	struct cw_blob piece = {.h = {.type = CW_BLOB, .size = sizeof(piece)},
				.module_id = 1,
				.offset = 100,
				.total = 200};
	struct cw_writer *w;
	struct bytes b;
	int fd;

	UNUSED(state);
	w = start(&fd);
	put_references(w);
	cw_writer_append(w, &e.h);
	cw_writer_append(w, &k.h);
	cw_writer_append(w, &lost.h);
	cw_writer_append(w, &plan.h);
	plan.pieces = 1;
	cw_writer_append_tail(w, &plan.h, sizeof(plan), "hops: 5\n", 8);
	plan.pieces = 2;
	plan.h.size = sizeof(plan);
	cw_writer_append(w, &plan.h);
	cw_writer_append(w, &piece.h);
	b = stop(w, fd);
	assert_int_equal(validate(&b), 6);
	assert_non_null(strstr(text, "cannot be read: the plan:1:7: hops is '5'"));
	assert_non_null(strstr(text, "5 records of type probe_entry were emitted, but 1 are"));
	assert_non_null(strstr(text, "0 events were lost from 60 to 0"));
	assert_non_null(strstr(text, "the plan has 1 of 2 pieces"));
	assert_non_null(strstr(text, "begins at 100 of 200 where 0 of 200"));
	assert_non_null(strstr(text, "100 of 200 bytes"));
	bytes_free(&b);
}

static void wrong_chunk_times(void **state)
{
	struct cw_probe_entry e = entry_at(50, 7, 1);
	struct bytes content = {0}, b = {0};
	struct cw_chunk c;

	UNUSED(state);
	make_chunk(&c, 0, 1);
	c.min_ts = 10;
	c.max_ts = 50;
	put_record(&content, &c.h);
	put_record(&content, &e.h);
	put_header(&b);
	put_frame(&b, &content);
	assert_int_equal(validate(&b), 3); /* the times, no end record, the probe */
	assert_non_null(
		strstr(text, "says that its events lie from 10 to 50, but they lie from 50"));
	assert_non_null(strstr(text, "events from 10 on are missing"));
	bytes_free(&content);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events),         cmocka_unit_test(tails),
		cmocka_unit_test(strings),        cmocka_unit_test(any_bytes_are_json),
		cmocka_unit_test(nothing_wrong),  cmocka_unit_test(missing_references),
		cmocka_unit_test(contradictions), cmocka_unit_test(wrong_chunk_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
