/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing and reading capture files (.cwc). FORMAT.md is the specification; records.h lists the
 * record types. Nothing here prints or exits: functions return 0 or a negative errno, and the
 * reader says what is wrong with a file in words (cw_reader_problem).
 */
#ifndef CW_CAPTURE_H
#define CW_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "records.h"

/* ---- descriptions of record types ------------------------------------------------------------ */

enum cw_class { CW_CLASS_STREAM, CW_CLASS_REF, CW_CLASS_EVENT };
enum cw_ftype { CW_T_U8, CW_T_U32, CW_T_U64, CW_T_I32, CW_T_I64, CW_T_X64, CW_T_STR, CW_T_BYTES };

struct cw_field {
	const char *name;
	enum cw_ftype type;
	uint32_t offset; /* bytes from the start of the record */
	uint32_t count;  /* elements; 0 for a tail, which runs to rec.size */
	const char *doc; /* NULL in a description read from a file */
};

struct cw_type {
	const char *name;
	uint16_t id;
	enum cw_class class;
	uint32_t fixed_size; /* bytes before the tail, header included */
	uint32_t nfields;
	const struct cw_field *fields;
	const char *doc; /* NULL in a description read from a file */
};

extern const struct cw_type cw_types[]; /* this build's own types, in the order of CW_RECORDS */
extern const size_t cw_ntypes;

/* The type with this id or name in this build; NULL when there is none. */
const struct cw_type *cw_type_by_id(uint16_t id);
const struct cw_type *cw_type_by_name(const char *name);

/* The field of t with this name, or NULL. */
const struct cw_field *cw_type_field(const struct cw_type *t, const char *name);

/* The text that a type record carries for t. Returns bytes needed, without the NUL, as snprintf. */
int cw_type_describe(const struct cw_type *t, char *buf, size_t size);

/* Elements of field f in rec: f->count, or what the tail holds. */
uint32_t cw_field_elems(const struct cw_type *t, const struct cw_field *f,
			const struct cw_rec *rec);

/* Bytes a string tail holds, up to the first NUL or rec->size. */
size_t cw_tail_strlen(const struct cw_rec *rec, const char *tail);

/* Distance from rec to the next record. */
static inline uint32_t cw_rec_stride(const struct cw_rec *rec)
{
	return (rec->size + 7u) & ~7u;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Keys of the header, all text. The writer adds format_version, capture_id and the type records. */
struct cw_meta_kv {
	const char *key;
	const char *value;
};

struct cw_writer;
struct cw_writer_stats {
	uint64_t records;       /* appended, EVENT class only */
	uint64_t bytes;         /* written to the file so far */
	uint64_t payload_bytes; /* of those, frames that hold BLOB records only */
	uint64_t frames;
	uint64_t epoch_records_bytes; /* uncompressed bytes since the epoch began */
	uint64_t raw_bytes;           /* uncompressed bytes of the frames written */
	uint64_t waiting_bytes;       /* uncompressed bytes of what is not written yet */
};

/*
 * Start a capture on fd, which is never sought and stays the caller's. kv ends with a NULL key.
 * Compression and writing happen on a thread of the writer's own. All calls but finish and free may
 * be made from several threads. kv may be NULL; its strings are copied.
 */
int cw_writer_new(struct cw_writer **out, int fd, const struct cw_meta_kv *kv);

/* Append a copy of rec, in a new frame when this one is full. Blocks while compression is behind.
 */
int cw_writer_append(struct cw_writer *w, const struct cw_rec *rec);

/* Append a record made of a fixed part and a tail; sets rec->size. -E2BIG beyond CW_MAX_RECORD. */
int cw_writer_append_tail(struct cw_writer *w, struct cw_rec *fixed, size_t fixed_size,
			  const void *tail, size_t tail_size);

/* Append a payload as blob records in frames of their own. */
int cw_writer_blob(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
		   const void *data, size_t size);
/* The same for size bytes at offset of a payload of total bytes that is not in memory as a whole.
 */
int cw_writer_blob_part(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
			uint64_t offset, uint64_t total, const void *data, size_t size);

/* Note n events lost on cpu for the next chunk record. The caller appends the lost record itself.
 */
void cw_writer_lost(struct cw_writer *w, uint32_t kind, uint32_t cpu, uint64_t n);

/* Close the frame when it is older than 100 ms. Call this at least every 50 ms. */
int cw_writer_tick(struct cw_writer *w, uint64_t now_mono_ns);

/*
 * Copying a capture: let the chunks closed from now on carry this clock pair instead of the time at
 * which they are closed.
 */
void cw_writer_set_clock(struct cw_writer *w, uint64_t mono_ns, uint64_t wall_ns);

/* Begin a new epoch: the caller has re-emitted, or will, every reference. */
void cw_writer_new_epoch(struct cw_writer *w);

/* The first error met while writing (-ENOSPC, -EPIPE ...), or 0. Once set it stays. */
int cw_writer_error(const struct cw_writer *w);
void cw_writer_get_stats(const struct cw_writer *w, struct cw_writer_stats *st);

/* Write what is buffered, then, when clean, the seek table. Returns the first error of the whole
 * file. */
int cw_writer_finish(struct cw_writer *w, bool clean);
void cw_writer_free(struct cw_writer *w);

/* ---- reading --------------------------------------------------------------------------------- */

struct cw_reader;

/* Where a record stood, for messages and for the total order (ts, cpu, position). */
struct cw_pos {
	uint64_t frame;  /* number of the frame in the file, from 0 */
	uint64_t offset; /* byte offset of that frame in the file */
	uint64_t index;  /* number of the record in the file, from 0 */
};

/* Something that is wrong with or missing from the file. */
struct cw_problem {
	uint64_t offset;  /* byte offset in the file */
	bool fatal;       /* nothing can be read behind it */
	bool lost_data;   /* records are missing here */
	uint64_t from_ts; /* range of time affected when known, else 0 */
	uint64_t to_ts;   /* UINT64_MAX: to the end of the capture */
	const char *text; /* one sentence, owned by the reader */
};

/*
 * Open path ("-" is standard input). On failure returns a negative errno and writes a
 * sentence to err (-EINVAL foreign file, -ENODATA empty, -EPROTONOSUPPORT
 * newer format, -EBADMSG cut or damaged within the header).
 */
int cw_reader_open(struct cw_reader **out, const char *path, char *err, size_t errsize);
/* The same for a descriptor, which stays the caller's; name is used in messages. */
int cw_reader_open_fd(struct cw_reader **out, int fd, const char *name, char *err, size_t errsize);
void cw_reader_free(struct cw_reader *r);

/*
 * The next record in file order, in the layout of this build's structs: records of another
 * recorder are translated field by field (missing fields are 0). Records of a type this build does
 * not know come as they are. Returns 1, 0 at the end, or a negative errno. The record is the
 * reader's and lives until the next call. A damaged frame is skipped and reported as a problem.
 */
int cw_reader_next(struct cw_reader *r, const struct cw_rec **rec, struct cw_pos *pos);

/*
 * Wait up to ms milliseconds until cw_reader_next need not wait: true then, false when nothing
 * came. A stream whose recorder stopped is over when its clean end was seen, though it may stay
 * open longer.
 */
bool cw_reader_wait(struct cw_reader *r, unsigned ms);

/* Value of a header key, or NULL. */
const char *cw_reader_meta(const struct cw_reader *r, const char *key);
/* All header keys in file order; ends with a NULL key. Owned by the reader. */
const struct cw_meta_kv *cw_reader_metas(const struct cw_reader *r);
/* The type as the file describes it (what dump and the raw tables show), or NULL. */
const struct cw_type *cw_reader_type(const struct cw_reader *r, uint16_t id);
/* The i-th type the file describes, or NULL beyond the last. */
const struct cw_type *cw_reader_type_at(const struct cw_reader *r, size_t i);
/* The record last returned by cw_reader_next as it stands in the file, for cw_reader_type's layout.
 */
const struct cw_rec *cw_reader_as_written(const struct cw_reader *r);

/* What was found wrong or missing so far, in the order met; NULL beyond the last. The reader's. */
size_t cw_reader_nproblems(const struct cw_reader *r);
const struct cw_problem *cw_reader_problem(const struct cw_reader *r, size_t i);
/* An END record and the seek table were seen. */
bool cw_reader_clean_end(const struct cw_reader *r);
/* Records so far of types that this build does not know. */
uint64_t cw_reader_unknown_records(const struct cw_reader *r);
/* Fields of the file's types that this build's types of the same name lack. */
size_t cw_reader_unknown_fields(const struct cw_reader *r);
uint64_t cw_reader_offset(const struct cw_reader *r); /* bytes read so far, for progress */
uint64_t cw_reader_size(const struct cw_reader *r);   /* bytes of the file; 0 for a stream */

#endif
