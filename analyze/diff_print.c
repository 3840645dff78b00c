/* SPDX-License-Identifier: GPL-2.0-only */
/* What diff found, in the order that matters, as text, JSONL and a page. Judges nothing itself. */
#include <errno.h>
#include <string.h>
#include "diff.h"
#include "export/export.h"
#include "report.h"
#include "say.h"

static const char schema[] =
	"CREATE TABLE hop(signature TEXT, hop INTEGER, source TEXT, target TEXT,"
	" PRIMARY KEY(signature, hop)) WITHOUT ROWID;"
	"CREATE TABLE result(id INTEGER PRIMARY KEY, signature TEXT, hop INTEGER, source TEXT,"
	" target TEXT, component TEXT, count_a INTEGER, p50_a INTEGER, p95_a INTEGER, p99_a "
	"INTEGER,"
	" mean_a INTEGER, count_b INTEGER, p50_b INTEGER, p95_b INTEGER, p99_b INTEGER,"
	" mean_b INTEGER, effect REAL, p REAL, blocks INTEGER, doubt TEXT, p_adjusted REAL,"
	" change_ns INTEGER, change REAL, share REAL, changed INTEGER, rank INTEGER)";

int cw_diff_begin(struct cw_diff *d)
{
	if (sqlite3_open(":memory:", &d->db) != SQLITE_OK)
		return cw_fail(-ENOMEM, "cannot compare: out of memory");
	return cw_exec(d->db, schema);
}

/*
 * A change is one of the median; where both medians are the same (zeros, mostly), of the mean. One
 * of less than a thousandth of the chain is not named: the run queue of an idle machine is never
 * twice the same. What stages themselves do comes before queues, which grow behind slow stages and
 * shrink before them, and both before what is less than a hundredth of the chain; then the greater
 * change in ns.
 */
static const char rank_sql[] =
	"UPDATE result SET change_ns = CASE WHEN p50_a <> p50_b THEN p50_b - p50_a"
	" ELSE mean_b - mean_a END;"
	"UPDATE result SET change = 1.0 * change_ns / CASE WHEN p50_a <> p50_b THEN max(p50_a, 1)"
	" ELSE max(mean_a, 1) END;"
	"CREATE TABLE whole AS SELECT signature, max(p50_a) AS ns FROM result"
	" WHERE component IN ('total', 'work') GROUP BY signature;"
	"UPDATE result SET share = 1.0 * abs(change_ns) / max(1, (SELECT w.ns FROM whole w"
	" WHERE w.signature = result.signature));"
	"UPDATE result SET changed = coalesce(p_adjusted <= 0.05 AND abs(change) >= ?1 AND share "
	">= 0.001"
	" AND change_ns <> 0 AND (change_ns > 0) = (effect > 0.5), 0);"
	"UPDATE result SET rank = r.place FROM (SELECT id, row_number() OVER (ORDER BY"
	"  component = 'total', share < 0.01, component = 'queue', abs(change_ns) DESC,"
	"  component <> 'work', id) AS place FROM result WHERE changed) r WHERE r.id = result.id";

int cw_diff_rank(struct cw_diff *d)
{
	const char *sql = rank_sql;
	int err = 0;

	while (!err && *sql) {
		sqlite3_stmt *s = NULL;

		if (sqlite3_prepare_v2(d->db, sql, -1, &s, &sql) != SQLITE_OK)
			return cw_fail(-EBADMSG, "cannot compare: %s", sqlite3_errmsg(d->db));
		if (sqlite3_bind_parameter_count(s))
			sqlite3_bind_double(s, 1, d->min_change);
		if (sqlite3_step(s) != SQLITE_DONE)
			err = cw_fail(-EBADMSG, "cannot compare: %s", sqlite3_errmsg(d->db));
		sqlite3_finalize(s);
	}
	return err;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static const char changed_sql[] =
	"SELECT rank AS '#', CASE WHEN hop < 0 THEN 'whole chain' WHEN source IS NULL THEN target "
	"ELSE"
	"  source || ' -> ' || target END AS 'where', component AS part,"
	" CASE WHEN p50_a <> p50_b THEN 'P50' ELSE 'mean' END AS 'of',"
	" ms(CASE WHEN p50_a <> p50_b THEN p50_a ELSE mean_a END) AS 'A ms',"
	" ms(CASE WHEN p50_a <> p50_b THEN p50_b ELSE mean_b END) AS 'B ms',"
	" ms_signed(change_ns) AS 'change ms', percent(change) AS 'change',"
	" printf('%.2g', p_adjusted) AS p FROM result WHERE changed ORDER BY rank";

#define PARTS \
	"component AS part, count_a AS 'A n', count_b AS 'B n', ms(p50_a) AS 'A p50'," \
	" ms(p50_b) AS 'B p50', ms(p95_a) AS 'A p95', ms(p95_b) AS 'B p95', ms(p99_a) AS 'A p99'," \
	" ms(p99_b) AS 'B p99', percent(change) ||" \
	" CASE WHEN p50_a = p50_b AND change_ns <> 0 THEN ' of mean' ELSE '' END AS change," \
	" CASE WHEN p_adjusted IS NULL THEN coalesce(doubt, 'same')" \
	"  ELSE printf('%.2g', p_adjusted) END AS p" \
	" FROM result WHERE signature = ?1 ORDER BY hop, id"

static const char chain_sql[] =
	"SELECT CASE WHEN hop < 0 THEN 'whole chain' ELSE source || ' -> ' || target END AS "
	"'where', " PARTS;

/* The heading names the function. */
static const char function_sql[] = "SELECT " PARTS;

/* Numbers as the tables show them: text, so that columns keep their digits. */
static void show_number(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *format = sqlite3_user_data(ctx);
	double scale = strchr(format, '%') == strrchr(format, '%') ? 1e-6 : 100;
	char text[48];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text), format, sqlite3_value_double(argv[0]) * scale);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void add_functions(sqlite3 *db)
{
	static const struct {
		const char *name, *format;
	} shown[] = {{"ms", "%.3f"}, {"ms_signed", "%+.3f"}, {"percent", "%+.1f %%"}};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		sqlite3_create_function(db, shown[i].name, 1, SQLITE_UTF8,
					(void *)(uintptr_t)shown[i].format, show_number, NULL,
					NULL);
}

static int print_table(sqlite3 *db, const char *sql, const char *signature, FILE *out)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, sql);
	long rows;

	if (err)
		return err;
	if (signature)
		sqlite3_bind_text(s, 1, signature, -1, SQLITE_TRANSIENT);
	rows = cw_print_rows(db, s, CW_FORMAT_TEXT, out);
	sqlite3_finalize(s);
	return rows < 0 ? (int)rows : 0;
}

static void print_head(struct cw_diff *d, const char *const capture[2], FILE *out)
{
	long long tests = cw_query_int(d->db, "SELECT count(p) FROM result", 0);
	long long changed = cw_query_int(d->db, "SELECT sum(changed) FROM result", 0);
	long long untested =
		cw_query_int(d->db, "SELECT count(*) FROM result WHERE doubt = 'few'", 0);
	long long drifting =
		cw_query_int(d->db, "SELECT count(*) FROM result WHERE doubt = 'drifts'", 0);

	fputs("A: ", out);
	cw_print_safe(out, capture[0]);
	fputs("\nB: ", out);
	cw_print_safe(out, capture[1]);
	if (changed)
		fprintf(out, "\n\n%lld of %lld comparisons differ", changed, tests);
	else
		fprintf(out, "\n\nNone of %lld comparisons differs", tests);
	fprintf(out, " by %g %% and more than by chance (family-wise error 5 %%).\n",
		d->min_change * 100);
	if (untested)
		fprintf(out,
			"%lld more have fewer than 40 values in one of them, too few to judge.\n",
			untested);
	if (drifting)
		fprintf(out,
			"%lld drift so slowly that only a great change shows: record for longer.\n",
			drifting);
}

static int print_text(struct cw_diff *d, const char *const capture[2], FILE *out)
{
	sqlite3_stmt *s = NULL;
	int err = 0;

	add_functions(d->db);
	print_head(d, capture, out);
	if (cw_query_int(d->db, "SELECT sum(changed) FROM result", 0)) {
		fputc('\n', out);
		err = print_table(d->db, changed_sql, NULL, out);
	}
	if (!err)
		err = cw_prepare(
			d->db, &s,
			"SELECT signature, max(coalesce(changed, 0)), max(source IS NOT NULL)"
			" FROM result GROUP BY 1 ORDER BY 2 DESC, sum(count_a) DESC");
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		const char *signature = (const char *)sqlite3_column_text(s, 0);

		fputc('\n', out);
		cw_print_safe(out, signature);
		fputs(" (ms)\n", out);
		err = print_table(d->db, sqlite3_column_int(s, 2) ? chain_sql : function_sql,
				  signature, out);
	}
	sqlite3_finalize(s);
	return err;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static const char rows_sql[] =
	"SELECT json_object('type', 'diff', 'signature', signature, 'hop', CASE WHEN hop >= 0 THEN "
	"hop END,"
	" 'source', source, 'target', target, 'component', component, 'changed',"
	" json(CASE WHEN changed THEN 'true' ELSE 'false' END), 'rank', rank, 'change_ns', "
	"change_ns,"
	" 'change', change, 'share', share, 'p', p, 'p_adjusted', p_adjusted, 'effect', effect, "
	"'blocks', blocks,"
	" 'doubt', doubt, 'count_a', count_a, 'count_b', count_b, 'p50_a_ns', p50_a, "
	"'p50_b_ns',"
	" p50_b, 'p95_a_ns', p95_a, 'p95_b_ns', p95_b, 'p99_a_ns', p99_a, 'p99_b_ns', p99_b,"
	" 'mean_a_ns', mean_a, 'mean_b_ns', mean_b) AS r FROM result ORDER BY rank IS NULL, rank, "
	"signature,"
	" hop, id";

/* Each row as a line; for the page elements of a list, in which nothing ends a script. */
static int print_json(struct cw_diff *d, bool list, FILE *out)
{
	sqlite3_stmt *s = NULL;
	char *sql = list ? sqlite3_mprintf("SELECT replace(r, '<', '\\u003c') FROM (%s)", rows_sql)
			 : NULL;
	const char *comma = "";
	int err = cw_prepare(d->db, &s, sql ? sql : rows_sql);

	sqlite3_free(sql);
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		fputs(comma, out);
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0));
		fputc('\n', out);
		comma = list ? "," : "";
		err = cw_write_error(out);
	}
	sqlite3_finalize(s);
	return err;
}

/* ---- the page
 * ------------------------------------------------------------------------------------ */

static void put_names(sqlite3 *db, const char *const capture[2], FILE *out)
{
	sqlite3_stmt *s = NULL;

	if (cw_prepare(db, &s, "SELECT replace(json_array(?1, ?2), '<', '\\u003c')"))
		return;
	sqlite3_bind_text(s, 1, capture[0], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, capture[1], -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
}

static int print_html(struct cw_diff *d, const char *const capture[2], FILE *out)
{
	const char *at = cw_export_asset("diff.html"), *mark;
	int err = 0;

	for (; !err && (mark = strstr(at, "{{")); at = strstr(mark, "}}") + 2) {
		fwrite(at, 1, (size_t)(mark - at), out);
		if (!strncmp(mark, "{{captures}}", 12))
			put_names(d->db, capture, out);
		else
			err = print_json(d, true, out);
	}
	fputs(at, out);
	return err ? err : cw_write_error(out);
}

int cw_diff_print(struct cw_diff *d, const char *const capture[2], FILE *out)
{
	if (d->html)
		return print_html(d, capture, out);
	if (d->format == CW_FORMAT_JSONL)
		return print_json(d, false, out);
	return print_text(d, capture, out);
}
