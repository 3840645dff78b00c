/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy of a capture with further payloads of its modules, everything else being as it was. Must
 * not know what payloads are for.
 */
#ifndef CW_SPLICE_H
#define CW_SPLICE_H

#include <stddef.h>
#include <stdint.h>
#include "records.h"

/* A payload to add: all of a regular file, at most CW_SPLICE_MAX bytes. fd stays the caller's. */
struct cw_splice_payload {
	uint32_t module_id;
	enum cw_blob_kind kind;
	int fd;
	uint64_t size;
	const char *name; /* for messages */
};

#define CW_SPLICE_MAX (512ull << 20) /* what readers of version 1 take in one payload */

/*
 * Copy the capture in_fd, a regular file, to out_fd, and put the payloads before its first chunk;
 * the chunks behind are numbered anew. What is damaged in the file is copied as it is, records of
 * types that this build does not know among the others. Returns 0 or a negative errno, with a
 * sentence in err (of errsize bytes).
 */
int cw_splice(int in_fd, int out_fd, const struct cw_splice_payload *payloads, size_t n, char *err,
	      size_t errsize);

#endif
