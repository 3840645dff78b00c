/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records in, rows out: sorts, runs the passes and keeps the totals. Where the records come from is
 * the caller's business.
 */
#ifndef CW_INGEST_H
#define CW_INGEST_H

#include <sqlite3.h>
#include "plan.h"
#include "records.h"

struct cw_ingest;
struct cw_trace;
struct cw_watch;
struct cw_source_places;

struct cw_ingest_opts {
	const struct cw_plan *plan;   /* stitch by this instead of the capture's; NULL */
	uint64_t max_age_ns;          /* 0: the plan's */
	const char *arch;             /* machine name of the capture */
	const struct cw_watch *watch; /* set: the capture is followed; see cw_ingest_sync */
	/* Where files to unwind by are looked for, kept by the caller; NULL nowhere. */
	const struct cw_source_places *places;
};

/* Create the tables in db, which is empty, and take it over until cw_ingest_finish. */
int cw_ingest_new(struct cw_ingest **out, sqlite3 *db, const struct cw_ingest_opts *o);

/* Take a record in file order. -EINVAL and the like end the import; cw_ingest_error says why. */
int cw_ingest_record(struct cw_ingest *in, const struct cw_rec *rec);

/* Records are missing from the file between these times; to UINT64_MAX: to its end. */
int cw_ingest_damage(struct cw_ingest *in, uint64_t from_ts, uint64_t to_ts);

/* Facts for capture_info. */
void cw_ingest_info(struct cw_ingest *in, const char *key, int64_t value);
void cw_ingest_info_text(struct cw_ingest *in, const char *key, const char *value);

/* Greatest time of an event so far, 0 when there was none. */
uint64_t cw_ingest_time(const struct cw_ingest *in);

/*
 * Following: bring the database up to date with the records passed on so far, and let the caller
 * use it until the next record. What lives is written again when it changed, the indexes are there
 * from the beginning. Rows that nobody will ask for any more are the caller's to delete.
 */
int cw_ingest_sync(struct cw_ingest *in);

/* Nothing came for a while: do not wait any longer for what might have to go before. */
int cw_ingest_pass_on(struct cw_ingest *in);

const struct cw_trace *cw_ingest_trace(const struct cw_ingest *in);

/* The capture is over: write what is left, make the indexes, commit and give db back. */
int cw_ingest_finish(struct cw_ingest *in);

/* A sentence about the error that was returned; "" when none is known. */
const char *cw_ingest_error(const struct cw_ingest *in);
void cw_ingest_free(struct cw_ingest *in);

#endif
