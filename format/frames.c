/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the bytes of a capture to decoded frames. Input may be hostile: what is allocated is
 * bounded by CW_MAX_FRAME, and the work spent on frames that turn out bad by the bytes read.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "capture.h"
#include "describe.h"
#include "frames.h"
#include "wire.h"

#define READ_SIZE    (64u << 10)
#define MAX_STORED   (CW_MAX_FRAME + (CW_MAX_FRAME >> 7) + 4096) /* compressed bytes of a frame */
#define WASTE_FREE   (64ull << 20)
#define WASTE_FACTOR 64 /* bytes decoded in vain for each byte read, beyond WASTE_FREE */

struct seen {
	uint32_t compressed, decompressed;
};

struct cw_frames {
	int fd, stop_fd;
	bool regular;
	uint8_t *buf;
	size_t room, pos, len; /* buf[pos..len) is not consumed yet */
	uint64_t base;         /* offset in the file of buf[0] */
	bool eof;
	int error;
	ZSTD_DCtx *dctx;
	uint64_t wasted;
	uint64_t number;
	bool search;  /* begin by searching for a frame: the header cannot be trusted */
	bool damaged; /* something was skipped: the seek table cannot agree */
	bool table_seen;
	bool over;
	struct seen *seen; /* what the seek table must say */
	size_t nseen, seen_room;
};

struct cw_frames *cw_frames_new(int fd, int stop_fd)
{
	struct cw_frames *f = calloc(1, sizeof(*f));
	struct stat st;

	if (!f)
		return NULL;
	f->fd = fd;
	f->stop_fd = stop_fd;
	f->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	f->room = 2 * READ_SIZE;
	f->buf = malloc(f->room);
	f->dctx = ZSTD_createDCtx();
	if (f->buf && f->dctx)
		return f;
	cw_frames_free(f);
	return NULL;
}

void cw_frames_free(struct cw_frames *f)
{
	if (!f)
		return;
	ZSTD_freeDCtx(f->dctx);
	free(f->buf);
	free(f->seen);
	free(f);
}

/* ---- input ----------------------------------------------------------------------------------- */

static uint64_t here(const struct cw_frames *f)
{
	return f->base + f->pos;
}

static size_t avail(const struct cw_frames *f)
{
	return f->len - f->pos;
}

/* Room for one more read. The buffer grows to the largest frame that is accepted and no further. */
static int make_room(struct cw_frames *f)
{
	uint8_t *bigger;

	if (f->room - f->len >= READ_SIZE)
		return 0;
	if (f->pos) {
		memmove(f->buf, f->buf + f->pos, avail(f));
		f->base += f->pos;
		f->len -= f->pos;
		f->pos = 0;
	}
	if (f->room - f->len >= READ_SIZE)
		return 0;
	bigger = realloc(f->buf, 2 * f->room);
	if (!bigger)
		return -ENOMEM;
	f->buf = bigger;
	f->room *= 2;
	return 0;
}

static bool wait_input(struct cw_frames *f)
{
	struct pollfd pfd[2] = {{.fd = f->fd, .events = POLLIN},
				{.fd = f->stop_fd, .events = POLLIN}};

	if (f->regular || f->stop_fd < 0)
		return true;
	while (poll(pfd, 2, -1) < 0 && errno == EINTR)
		;
	return !pfd[1].revents;
}

/* One read of whatever is there, so that a live stream is never waited for longer than needed. */
static bool more(struct cw_frames *f)
{
	ssize_t n = -1;

	if (f->eof)
		return false;
	f->error = make_room(f);
	while (!f->error) {
		if (!wait_input(f)) {
			f->error = -ECANCELED;
			break;
		}
		n = read(f->fd, f->buf + f->len, f->room - f->len);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	if (!f->error && n < 0)
		f->error = -errno;
	if (n <= 0) {
		f->eof = true;
		return false;
	}
	f->len += n;
	return true;
}

static bool want(struct cw_frames *f, size_t n)
{
	while (avail(f) < n)
		if (!more(f))
			return false;
	return true;
}

int cw_frames_peek(struct cw_frames *f, size_t n, const uint8_t **p, size_t *got)
{
	want(f, n);
	*p = f->buf + f->pos;
	*got = avail(f);
	return f->error;
}

void cw_frames_consume(struct cw_frames *f, size_t n)
{
	f->pos += n;
}

/* ---- one frame ------------------------------------------------------------------------------- */

enum verdict { GOOD, BAD, CUT };

static bool chunk_sane(const uint8_t *mem, size_t size)
{
	uint16_t type = mem[0] | mem[1] << 8, len = mem[2] | mem[3] << 8;

	return type == CW_CHUNK && len >= CW_CHUNK_FIXED && len <= size;
}

static int item_room(struct cw_item *item, size_t n)
{
	uint8_t *bigger;

	if (item->room >= n)
		return 0;
	bigger = realloc(item->mem, n);
	if (!bigger)
		return -ENOMEM;
	item->mem = bigger;
	item->room = n;
	return 0;
}

static bool frame_head(struct cw_frames *f, size_t *content, const char **why)
{
	const uint8_t *p = f->buf + f->pos;
	unsigned long long n = ZSTD_getFrameContentSize(p, avail(f));

	*why = NULL;
	if (n == ZSTD_CONTENTSIZE_ERROR)
		*why = "its frame header is damaged";
	else if (n == ZSTD_CONTENTSIZE_UNKNOWN || !(p[4] & 4))
		*why = "its frame header has no content size or no checksum";
	else if (n > CW_MAX_FRAME)
		*why = "it claims to hold more than any capture's frame does";
	else if (n < CW_CHUNK_FIXED)
		*why = "it is too small to hold a chunk record";
	*content = n;
	return !*why;
}

/* Compressed bytes of the frame at the front, reading as much as that takes; 0 when bad or cut. */
static size_t frame_extent(struct cw_frames *f, enum verdict *v)
{
	for (;;) {
		size_t n = ZSTD_findFrameCompressedSize(f->buf + f->pos, avail(f));

		if (!ZSTD_isError(n)) {
			*v = GOOD;
			return n;
		}
		*v = BAD;
		if (ZSTD_getErrorCode(n) != ZSTD_error_srcSize_wrong || avail(f) > MAX_STORED)
			return 0;
		if (!more(f)) {
			*v = CUT;
			return 0;
		}
	}
}

/* Decode the frame at the front into item without consuming it. */
static enum verdict decode(struct cw_frames *f, struct cw_item *item, size_t *extent,
			   const char **why)
{
	size_t content, n;
	enum verdict v;

	*why = "it is cut";
	if (!want(f, 18) && avail(f) < 10)
		return CUT;
	if (!frame_head(f, &content, why))
		return BAD;
	*extent = frame_extent(f, &v);
	*why = v == CUT ? "it is cut" : "its blocks are damaged";
	if (v != GOOD) {
		f->wasted += avail(f);
		return v;
	}
	f->error = item_room(item, content);
	if (f->error)
		return BAD;
	n = ZSTD_decompressDCtx(f->dctx, item->mem, content, f->buf + f->pos, *extent);
	if (ZSTD_isError(n))
		*why = ZSTD_getErrorCode(n) == ZSTD_error_checksum_wrong
			       ? "its checksum does not match"
			       : "its compressed data is damaged";
	else if (n != content)
		*why = "it holds less than it claims";
	else if (!chunk_sane(item->mem, content))
		*why = "it does not begin with a chunk record";
	else
		*why = NULL;
	if (!*why) {
		item->size = content;
		return GOOD;
	}
	f->wasted += content + *extent;
	return BAD;
}

static void note_seen(struct cw_frames *f, size_t compressed, size_t decompressed)
{
	if (f->nseen == f->seen_room) {
		size_t room = f->seen_room ? 2 * f->seen_room : 256;
		struct seen *bigger = realloc(f->seen, room * sizeof(*bigger));

		if (!bigger) {
			f->damaged =
				true; /* the table cannot be checked; the records can be read */
			return;
		}
		f->seen = bigger;
		f->seen_room = room;
	}
	f->seen[f->nseen].compressed = compressed;
	f->seen[f->nseen++].decompressed = decompressed;
}

void cw_frames_start(struct cw_frames *f, size_t n, bool search)
{
	note_seen(f, n, 0);
	f->search = search;
	f->damaged = search;
	cw_frames_consume(f, search ? 8 + CW_HEADER_FIXED : n);
}

/* ---- problems -------------------------------------------------------------------------------- */

static void problem(struct cw_item *item, uint64_t offset, bool lost_data)
{
	item->kind = CW_ITEM_PROBLEM;
	item->offset = offset;
	item->lost_data = lost_data;
	item->fatal = item->torn = false;
}

static void end(struct cw_frames *f, struct cw_item *item)
{
	f->over = true;
	item->kind = CW_ITEM_END;
	item->offset = item->end = here(f);
	item->error = f->error;
}

static bool table_whole(struct cw_frames *f)
{
	uint32_t size;
	const uint8_t *p;

	if (!want(f, 8))
		return false;
	size = cw_get32(f->buf + f->pos + 4);
	if (size % 8 != CW_SEEK_FOOTER_SIZE % 8 || size < CW_SEEK_FOOTER_SIZE ||
	    size > CW_MAX_FRAME)
		return false;
	if (!want(f, 8 + (size_t)size))
		return false;
	p = f->buf + f->pos + 8 + size - CW_SEEK_FOOTER_SIZE;
	return cw_get32(p + 5) == CW_SEEK_FOOTER_MAGIC &&
	       cw_get32(p) == (size - CW_SEEK_FOOTER_SIZE) / 8;
}

/* Is there something at the front that reading can go on with? */
static bool resumable(struct cw_frames *f, struct cw_item *item)
{
	const char *why;
	size_t extent;
	uint32_t magic = cw_get32(f->buf + f->pos);

	if (magic == CW_ZSTD_MAGIC)
		return decode(f, item, &extent, &why) == GOOD;
	return magic == CW_SEEK_FRAME_MAGIC && table_whole(f);
}

/* Move to the next byte that may begin a frame; false at the end of the file. */
static bool scan(struct cw_frames *f)
{
	while (want(f, 4)) {
		const uint8_t *p = f->buf + f->pos;
		size_t n = avail(f) - 3;

		for (size_t i = 0; i < n; i++) {
			if (p[i] != (CW_ZSTD_MAGIC & 0xff) && p[i] != (CW_SEEK_FRAME_MAGIC & 0xff))
				continue;
			if (cw_get32(p + i) == CW_ZSTD_MAGIC ||
			    cw_get32(p + i) == CW_SEEK_FRAME_MAGIC) {
				f->pos += i;
				return true;
			}
		}
		f->pos += n;
	}
	f->pos = f->len;
	return false;
}

/* Skip what is damaged. why says what is wrong with what begins here. */
static void resync(struct cw_frames *f, struct cw_item *item, const char *why, bool cut)
{
	uint64_t from = here(f);

	f->damaged = true;
	f->pos += avail(f) ? 1 : 0;
	while (scan(f)) {
		if (f->wasted > WASTE_FREE + WASTE_FACTOR * (f->base + f->len)) {
			problem(item, from, true);
			item->fatal = true;
			snprintf(item->text, sizeof(item->text),
				 "too much of the file is damaged to read on from byte %llu",
				 (unsigned long long)from);
			f->over = true;
			return;
		}
		if (resumable(f, item)) {
			if (cut)
				why = "its end is missing";
			problem(item, from, true);
			snprintf(item->text, sizeof(item->text),
				 "the frame at byte %llu is damaged: %s; %llu bytes are skipped",
				 (unsigned long long)from, why,
				 (unsigned long long)(here(f) - from));
			return;
		}
		f->pos++;
	}
	problem(item, from, true);
	item->torn = true;
	if (cut)
		snprintf(item->text, sizeof(item->text),
			 "the file ends in the middle of the frame at byte %llu: %llu bytes of it "
			 "are there",
			 (unsigned long long)from, (unsigned long long)(here(f) - from));
	else
		snprintf(item->text, sizeof(item->text),
			 "the frame at byte %llu is damaged: %s; no good frame follows in the last "
			 "%llu bytes",
			 (unsigned long long)from, why, (unsigned long long)(here(f) - from));
}

/* ---- frames that hold no records ------------------------------------------------------------- */

static bool table_agrees(const struct cw_frames *f, const uint8_t *p, size_t n)
{
	if (n != f->nseen)
		return false;
	for (size_t i = 0; i < n; i++)
		if (cw_get32(p + 8 * i) != f->seen[i].compressed ||
		    cw_get32(p + 8 * i + 4) != f->seen[i].decompressed)
			return false;
	return true;
}

static void seek_table(struct cw_frames *f, struct cw_item *item)
{
	uint32_t size;

	if (!table_whole(f)) {
		if (f->eof && avail(f) < 8 + CW_MAX_FRAME) {
			problem(item, here(f), false);
			snprintf(item->text, sizeof(item->text),
				 "the seek table at byte %llu is cut or damaged; no records are "
				 "missing",
				 (unsigned long long)here(f));
			f->pos = f->len;
			return;
		}
		resync(f, item, "its seek table is damaged", false);
		return;
	}
	size = cw_get32(f->buf + f->pos + 4);
	if (!f->damaged && !table_agrees(f, f->buf + f->pos + 8, size / 8 - 1)) {
		problem(item, here(f), false);
		snprintf(item->text, sizeof(item->text),
			 "the seek table at byte %llu does not agree with the frames before it",
			 (unsigned long long)here(f));
		f->damaged = true; /* said once; the table is taken at the next call */
		return;
	}
	f->table_seen = true;
	item->kind = CW_ITEM_TABLE;
	item->offset = here(f);
	f->pos += 8 + size;
	item->end = here(f);
}

/* A skippable frame is passed over in pieces, however long it is. False when item was filled. */
static bool skip_frame(struct cw_frames *f, struct cw_item *item)
{
	uint64_t from = here(f), left;

	if (want(f, 16) && cw_get32(f->buf + f->pos) == CW_HEADER_FRAME_MAGIC &&
	    !memcmp(f->buf + f->pos + 8, CW_FILE_MAGIC, 8)) {
		problem(item, from, false);
		item->fatal = true;
		snprintf(item->text, sizeof(item->text),
			 "another capture begins at byte %llu: it must be a file of its own to be "
			 "read",
			 (unsigned long long)from);
		f->over = true;
		return false;
	}
	if (!want(f, 8)) {
		resync(f, item, "it is cut", true);
		return false;
	}
	left = 8 + (uint64_t)cw_get32(f->buf + f->pos + 4);
	note_seen(f, left, 0);
	while (left) {
		size_t n = avail(f) < left ? avail(f) : left;

		f->pos += n;
		left -= n;
		if (left && !want(f, 1)) {
			problem(item, from, true);
			item->torn = true;
			snprintf(item->text, sizeof(item->text),
				 "the frame at byte %llu runs past the end of the file",
				 (unsigned long long)from);
			return false;
		}
	}
	return true;
}

static void data_frame(struct cw_frames *f, struct cw_item *item)
{
	const char *why;
	size_t extent = 0;
	enum verdict v = decode(f, item, &extent, &why);

	if (f->error) {
		end(f, item);
		return;
	}
	if (v != GOOD) {
		resync(f, item, why, v == CUT);
		return;
	}
	item->kind = CW_ITEM_FRAME;
	item->offset = here(f);
	item->number = f->number++;
	note_seen(f, extent, item->size);
	f->pos += extent;
	item->end = here(f);
}

void cw_frames_next(struct cw_frames *f, struct cw_item *item)
{
	uint32_t magic;

	item->error = 0;
	for (;;) {
		if (f->over || (!want(f, 1) && !f->search)) {
			end(f, item);
			return;
		}
		if (f->search) {
			f->search = false;
			f->pos--; /* resync begins one byte further on */
			resync(f, item, "its header is damaged", false);
			return;
		}
		magic = want(f, 4) ? cw_get32(f->buf + f->pos) : 0;
		if (f->table_seen && magic != CW_ZSTD_MAGIC &&
		    (magic & ~15u) != CW_HEADER_FRAME_MAGIC) {
			problem(item, here(f), false);
			snprintf(item->text, sizeof(item->text),
				 "bytes that belong to no frame follow the seek table at byte %llu",
				 (unsigned long long)here(f));
			f->over = true;
			return;
		}
		if (magic == CW_SEEK_FRAME_MAGIC)
			return seek_table(f, item);
		if ((magic & ~15u) == CW_HEADER_FRAME_MAGIC) {
			if (!skip_frame(f, item))
				return;
			continue;
		}
		if (magic == CW_ZSTD_MAGIC)
			return data_frame(f, item);
		return resync(f, item, avail(f) < 4 ? "it is cut" : "it begins with no frame magic",
			      avail(f) < 4);
	}
}
