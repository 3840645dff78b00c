/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing a capture: frames of records, compressed and written by a thread of the writer's own.
 * Knows nothing of where records come from. FORMAT.md says what the bytes mean.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "capture.h"
#include "clock.h"
#include "describe.h"
#include "header.h"
#include "output.h"
#include "seektable.h"
#include "wire.h"

#define NBUFS          4
#define CHUNK_ROOM     CW_MAX_RECORD /* the chunk record is made last and put before the others */
#define BUF_SIZE       (65536u + CW_FRAME_BYTES)
#define MAX_LOST_PAIRS 4000u
#define FRAME_NS       100000000ull
#define BLOB_PIECE     61440u
#define LEVEL          1

/* One frame being filled, waiting or being compressed. */
struct buf {
	struct buf *next;
	uint8_t *mem;  /* CHUNK_ROOM, then records */
	uint32_t used; /* bytes of records */
	uint32_t records;
	uint32_t start; /* where the chunk record begins, once the frame is closed */
	uint64_t min_ts, max_ts;
	uint64_t opened_ns;
	bool blob;
	bool busy;
};

struct lost_pair {
	uint64_t key; /* record type << 32 | cpu */
	uint64_t count;
};

struct cw_writer {
	int fd;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;      /* guards everything below but the thread's own */
	pthread_mutex_t blob_lock; /* one payload at a time fills the blob buffer */
	pthread_cond_t work, room;
	struct buf bufs[NBUFS], blob;
	struct buf *cur, *spare;
	struct buf *head, **tail; /* closed frames in file order */
	bool stop;
	int error;
	uint64_t seq;
	uint32_t epoch;
	uint64_t copy_mono, copy_wall; /* 0, or the clock pair of the capture being copied */
	struct lost_pair *lost;
	size_t nlost;
	struct cw_writer_stats stats;
	uint64_t closed_bytes;   /* uncompressed bytes of all frames closed */
	uint8_t class_of[65536]; /* enum cw_class + 1; 0: never described */

	/* the thread's own, and cw_writer_finish's once the thread is gone */
	ZSTD_CCtx *cctx;
	uint8_t *out;
	size_t out_size;
	struct cw_seektable seek;
};

/* ---- output ---------------------------------------------------------------------------------- */

static int write_frame(struct cw_writer *w, const struct buf *b, size_t *written)
{
	size_t size = CHUNK_ROOM - b->start + b->used;
	size_t n = ZSTD_compress2(w->cctx, w->out, w->out_size, b->mem + b->start, size);
	int err;

	*written = 0;
	if (ZSTD_isError(n))
		return -EIO;
	err = cw_write_all(w->fd, w->out, n);
	if (err)
		return err;
	*written = n;
	return cw_seektable_add(&w->seek, n, size);
}

static void set_error(struct cw_writer *w, int err)
{
	if (err && !w->error)
		__atomic_store_n(&w->error, err, __ATOMIC_RELEASE);
}

static void recycle(struct cw_writer *w, struct buf *b)
{
	b->used = b->records = 0;
	b->min_ts = b->max_ts = 0;
	b->busy = false;
	if (!b->blob) {
		b->next = w->spare;
		w->spare = b;
	}
	pthread_cond_broadcast(&w->room);
}

static void *writer_thread(void *arg)
{
	struct cw_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct buf *b = w->head;
		size_t n = 0;
		int err = w->error;

		if (!b && w->stop)
			break;
		if (!b) {
			pthread_cond_wait(&w->work, &w->lock);
			continue;
		}
		w->head = b->next;
		if (!w->head)
			w->tail = &w->head;
		pthread_mutex_unlock(&w->lock);
		if (!err)
			err = write_frame(w, b, &n);
		pthread_mutex_lock(&w->lock);
		set_error(w, err);
		w->stats.bytes += n;
		w->stats.frames += n != 0;
		w->stats.raw_bytes += CHUNK_ROOM - b->start + b->used;
		if (b->blob)
			w->stats.payload_bytes += n;
		recycle(w, b);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int write_header(struct cw_writer *w, const struct cw_meta_kv *kv)
{
	uint8_t *mem;
	size_t size;
	int err = cw_header_make(kv, &mem, &size);

	if (err)
		return err;
	err = cw_write_quietly(w->fd, mem, size);
	if (!err)
		err = cw_seektable_add(&w->seek, size, 0);
	w->stats.bytes = size;
	free(mem);
	return err;
}

/*
 * Signals are for the program's own threads: this one takes none, and meets EPIPE as an error.
 * Started with the first frame: by then the program has given up the rights that it no longer
 * needs.
 */
static int start_thread(struct cw_writer *w)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&w->thread, NULL, writer_thread, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->running = !err;
	return -err;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The chunk record is made when its frame is closed, right before the records. */
static void close_frame(struct cw_writer *w, struct buf *b)
{
	uint32_t size = sizeof(struct cw_chunk) + w->nlost * sizeof(struct lost_pair);
	struct cw_chunk *c;

	b->start = CHUNK_ROOM - size;
	c = (struct cw_chunk *)(b->mem + b->start);
	memset(c, 0, sizeof(*c));
	c->h.type = CW_CHUNK;
	c->h.size = size;
	c->h.cpu = CW_CPU_NONE;
	c->mono_ns = w->copy_mono ? w->copy_mono : cw_clock_ns(CLOCK_MONOTONIC);
	c->wall_ns = w->copy_mono ? w->copy_wall : cw_clock_ns(CLOCK_REALTIME);
	c->h.ts = c->mono_ns;
	c->seq = w->seq++;
	c->min_ts = b->min_ts;
	c->max_ts = b->max_ts;
	c->records = b->records;
	c->epoch = w->epoch;
	if (w->nlost)
		memcpy(c->lost, w->lost, w->nlost * sizeof(struct lost_pair));
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(CW_CHUNK), &c->h, false);
	w->closed_bytes += size + b->used;
	b->next = NULL;
	b->busy = true;
	*w->tail = b;
	w->tail = &b->next;
	if (!w->running)
		set_error(w, start_thread(w));
	else
		pthread_cond_signal(&w->work);
}

static void close_current(struct cw_writer *w)
{
	if (w->cur)
		close_frame(w, w->cur);
	w->cur = NULL;
}

static int open_frame(struct cw_writer *w)
{
	while (!w->spare && !w->error)
		pthread_cond_wait(&w->room, &w->lock);
	if (w->error)
		return w->error;
	w->cur = w->spare;
	w->spare = w->cur->next;
	w->cur->opened_ns = cw_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

/* Room for one record of size bytes in b; its padding is cleared. */
static struct cw_rec *reserve(struct buf *b, uint32_t size)
{
	uint32_t stride = (size + 7u) & ~7u;
	uint8_t *to = b->mem + CHUNK_ROOM + b->used;

	memset(to + stride - 8, 0, 8);
	b->used += stride;
	b->records++;
	return (struct cw_rec *)to;
}

/* Learn the class of a type that the caller declares while recording. */
static void note_type(struct cw_writer *w, const struct cw_rec *rec)
{
	const struct cw_type_info *info = (const struct cw_type_info *)rec;
	const char *why;
	struct cw_type *t;

	if (rec->size < sizeof(*info) || info->id < CW_USER_TYPE_MIN || info->id > UINT16_MAX)
		return;
	t = cw_type_parse(info->id, info->fixed_size, info->text, cw_tail_strlen(rec, info->text),
			  &why);
	if (t)
		w->class_of[info->id] = t->class + 1;
	free(t);
}

static void note_record(struct cw_writer *w, struct buf *b, const struct cw_rec *rec)
{
	w->stats.epoch_records_bytes += cw_rec_stride(rec);
	if (rec->type == CW_TYPE_INFO)
		note_type(w, rec);
	if (w->class_of[rec->type] != CW_CLASS_EVENT + 1)
		return;
	w->stats.records++;
	if (!b->min_ts || rec->ts < b->min_ts)
		b->min_ts = rec->ts;
	if (rec->ts > b->max_ts)
		b->max_ts = rec->ts;
}

/* Put a record together from two parts. Called with the lock held. */
static int append_locked(struct cw_writer *w, const struct cw_rec *fixed, size_t fixed_size,
			 const void *tail, size_t tail_size)
{
	size_t size = fixed_size + tail_size;
	struct cw_rec *to;
	int err = w->stop ? -ESHUTDOWN : w->error;

	if (!err && w->cur && w->cur->used + ((size + 7) & ~7ul) > CW_FRAME_BYTES)
		close_current(w);
	if (!err && !w->cur)
		err = open_frame(w);
	if (err)
		return err;
	to = reserve(w->cur, size);
	memcpy(to, fixed, fixed_size);
	if (tail_size)
		memcpy((char *)to + fixed_size, tail, tail_size);
	to->size = size;
	note_record(w, w->cur, to);
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(to->type), to, false);
	return 0;
}

int cw_writer_append(struct cw_writer *w, const struct cw_rec *rec)
{
	int err;

	if (rec->size < sizeof(*rec) || rec->size > CW_MAX_RECORD)
		return -EINVAL;
	pthread_mutex_lock(&w->lock);
	err = append_locked(w, rec, rec->size, NULL, 0);
	pthread_mutex_unlock(&w->lock);
	return err;
}

int cw_writer_append_tail(struct cw_writer *w, struct cw_rec *fixed, size_t fixed_size,
			  const void *tail, size_t tail_size)
{
	int err;

	if (fixed_size < sizeof(*fixed))
		return -EINVAL;
	if (fixed_size > CW_MAX_RECORD || tail_size > CW_MAX_RECORD - fixed_size)
		return -E2BIG;
	fixed->size = fixed_size + tail_size;
	pthread_mutex_lock(&w->lock);
	err = append_locked(w, fixed, fixed_size, tail, tail_size);
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* ---- payloads -------------------------------------------------------------------------------- */

static void put_piece(struct buf *b, const struct cw_blob *head, const void *data, size_t n)
{
	struct cw_blob *to = (struct cw_blob *)reserve(b, sizeof(*head) + n);

	*to = *head;
	to->h.size = sizeof(*head) + n;
	if (n)
		memcpy(to->data, data, n);
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(CW_BLOB), &to->h, false);
}

/* Wait until the blob buffer is free, and make it at its first use. */
static int open_blob(struct cw_writer *w)
{
	int err;

	pthread_mutex_lock(&w->lock);
	while (w->blob.busy && !w->error)
		pthread_cond_wait(&w->room, &w->lock);
	err = w->error;
	if (!err && !w->blob.mem) {
		w->blob.mem = malloc(BUF_SIZE);
		if (!w->blob.mem)
			err = -ENOMEM;
	}
	pthread_mutex_unlock(&w->lock);
	return err;
}

int cw_writer_blob_part(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
			uint64_t offset, uint64_t total, const void *data, size_t size)
{
	struct cw_blob head = {
		.h = {.type = CW_BLOB, .cpu = CW_CPU_NONE, .ts = cw_clock_ns(CLOCK_MONOTONIC)},
		.module_id = module_id,
		.kind = kind,
		.offset = offset,
		.total = total,
	};
	const char *from = data;
	const uint64_t end = offset + size;
	int err;

	pthread_mutex_lock(&w->blob_lock);
	do {
		err = open_blob(w);
		if (err)
			break;
		do {
			size_t n = end - head.offset < BLOB_PIECE ? end - head.offset : BLOB_PIECE;

			put_piece(&w->blob, &head, from, n);
			from += n;
			head.offset += n;
		} while (head.offset < end &&
			 w->blob.used + sizeof(head) + BLOB_PIECE <= CW_FRAME_BYTES);
		pthread_mutex_lock(&w->lock);
		close_frame(w, &w->blob);
		pthread_mutex_unlock(&w->lock);
	} while (head.offset < end);
	pthread_mutex_unlock(&w->blob_lock);
	return err;
}

int cw_writer_blob(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
		   const void *data, size_t size)
{
	return cw_writer_blob_part(w, module_id, kind, 0, size, data, size);
}

/* ---- the rest of the interface --------------------------------------------------------------- */

void cw_writer_lost(struct cw_writer *w, uint32_t kind, uint32_t cpu, uint64_t n)
{
	uint64_t key = (uint64_t)kind << 32 | cpu;
	size_t i = 0;

	pthread_mutex_lock(&w->lock);
	while (i < w->nlost && w->lost[i].key != key)
		i++;
	if (i == w->nlost && i < MAX_LOST_PAIRS) {
		w->lost[i].key = key;
		w->lost[i].count = 0;
		w->nlost++;
	}
	/* The last place collects what finds no place of its own: the sum stays right. */
	w->lost[i < MAX_LOST_PAIRS ? i : MAX_LOST_PAIRS - 1].count += n;
	pthread_mutex_unlock(&w->lock);
}

int cw_writer_tick(struct cw_writer *w, uint64_t now_mono_ns)
{
	int err;

	pthread_mutex_lock(&w->lock);
	if (w->cur && now_mono_ns >= w->cur->opened_ns + FRAME_NS)
		close_current(w);
	err = w->error;
	pthread_mutex_unlock(&w->lock);
	return err;
}

void cw_writer_set_clock(struct cw_writer *w, uint64_t mono_ns, uint64_t wall_ns)
{
	pthread_mutex_lock(&w->lock);
	w->copy_mono = mono_ns;
	w->copy_wall = wall_ns;
	pthread_mutex_unlock(&w->lock);
}

void cw_writer_new_epoch(struct cw_writer *w)
{
	pthread_mutex_lock(&w->lock);
	close_current(w);
	w->epoch++;
	w->stats.epoch_records_bytes = 0;
	pthread_mutex_unlock(&w->lock);
}

int cw_writer_error(const struct cw_writer *w)
{
	return __atomic_load_n(&w->error, __ATOMIC_ACQUIRE);
}

void cw_writer_get_stats(const struct cw_writer *w, struct cw_writer_stats *st)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&w->lock;

	pthread_mutex_lock(lock);
	*st = w->stats;
	st->waiting_bytes = w->closed_bytes - st->raw_bytes + (w->cur ? w->cur->used : 0);
	pthread_mutex_unlock(lock);
}

static int write_seek_table(struct cw_writer *w)
{
	uint8_t *mem;
	size_t size;
	int err = cw_seektable_make(&w->seek, &mem, &size);

	if (err)
		return err;
	err = cw_write_quietly(w->fd, mem, size);
	if (!err)
		w->stats.bytes += size;
	free(mem);
	return err;
}

int cw_writer_finish(struct cw_writer *w, bool clean)
{
	if (w->stop)
		return w->error;
	pthread_mutex_lock(&w->lock);
	close_current(w);
	w->stop = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (w->running)
		pthread_join(w->thread, NULL);
	w->running = false;
	if (clean && !w->error)
		set_error(w, write_seek_table(w));
	return w->error;
}

void cw_writer_free(struct cw_writer *w)
{
	if (!w)
		return;
	cw_writer_finish(w, false);
	for (int i = 0; i < NBUFS; i++)
		free(w->bufs[i].mem);
	free(w->blob.mem);
	free(w->lost);
	free(w->seek.entries);
	free(w->out);
	ZSTD_freeCCtx(w->cctx);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->room);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->blob_lock);
	free(w);
}

static int allocate(struct cw_writer *w)
{
	w->out_size = ZSTD_compressBound(BUF_SIZE);
	w->out = malloc(w->out_size);
	w->cctx = ZSTD_createCCtx();
	w->lost = calloc(MAX_LOST_PAIRS, sizeof(*w->lost));
	for (int i = 0; i < NBUFS; i++) {
		w->bufs[i].mem = malloc(BUF_SIZE);
		if (!w->bufs[i].mem)
			return -ENOMEM;
		recycle(w, &w->bufs[i]);
	}
	if (!w->out || !w->cctx || !w->lost)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_contentSizeFlag, 1);
	return 0;
}

int cw_writer_new(struct cw_writer **out, int fd, const struct cw_meta_kv *kv)
{
	struct cw_writer *w = calloc(1, sizeof(*w));
	int err;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->tail = &w->head;
	w->blob.blob = true;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->blob_lock, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->room, NULL);
	for (size_t i = 0; i < cw_ntypes; i++)
		w->class_of[cw_types[i].id] = cw_types[i].class + 1;
	err = allocate(w);
	if (!err)
		err = write_header(w, kv);
	if (err) {
		w->stop = true; /* there is nothing to finish */
		cw_writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}
