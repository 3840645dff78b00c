/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the bytes of a capture to decoded frames: buffering, decompression, and finding the next
 * good frame behind damage. For the reader only. Knows chunk records, and no other.
 */
#ifndef CW_FRAMES_H
#define CW_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_frames;

enum cw_item_kind {
	CW_ITEM_FRAME,   /* mem holds size bytes of records, the first of which is a chunk */
	CW_ITEM_PROBLEM, /* text says what is wrong at offset */
	CW_ITEM_TABLE,   /* the seek table was seen */
	CW_ITEM_END      /* nothing more, or error */
};

/* One step of a capture. mem is kept and reused from call to call. */
struct cw_item {
	enum cw_item_kind kind;
	uint8_t *mem;
	size_t size, room;
	uint64_t offset; /* where it begins in the file */
	uint64_t end;    /* first byte behind it */
	uint64_t number; /* of the frame */
	bool fatal, lost_data, torn;
	int error;
	char text[256];
};

/* fd stays the caller's. stop_fd, when it becomes readable, ends a wait for input. */
struct cw_frames *cw_frames_new(int fd, int stop_fd);
void cw_frames_free(struct cw_frames *f);

/* Make at least n bytes visible at the front; fewer at the end of the file. Negative errno. */
int cw_frames_peek(struct cw_frames *f, size_t n, const uint8_t **p, size_t *avail);
void cw_frames_consume(struct cw_frames *f, size_t n);

/* Tell that the header frame was n bytes, and whether what follows must be searched for. */
void cw_frames_start(struct cw_frames *f, size_t n, bool search);

/* The next step into item, waiting for input. Behind CW_ITEM_END it is not to be called. */
void cw_frames_next(struct cw_frames *f, struct cw_item *item);

#endif
