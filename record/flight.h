/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --flight: the last seconds of a recording, kept in memory as finished captures until somebody
 * wants them. Knows nothing of what is in them.
 */
#ifndef CW_FLIGHT_H
#define CW_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

struct cw_flight;

/* span_ns is what is to be kept, max_bytes how much memory that may take. NULL without memory. */
struct cw_flight *cw_flight_new(uint64_t span_ns, uint64_t max_bytes);
void cw_flight_free(struct cw_flight *f);

/* Length of one piece, ns: several of them make up the span. */
uint64_t cw_flight_piece_ns(const struct cw_flight *f);

/* Memory to write the next piece into, as a file descriptor of the caller's; or a negative errno.
 */
int cw_flight_open(void);

/*
 * Somebody wants the span that ends at ts (ns): it is not forgotten until it is written, though the
 * piece that holds its end takes a while to be finished. Of several the first counts.
 */
void cw_flight_want(struct cw_flight *f, uint64_t ts);

/*
 * A piece is finished: its descriptor, which is f's now, its number and its time. What is older
 * than the span before its end, or too much, is forgotten. Returns 0 or -ENOMEM.
 */
int cw_flight_keep(struct cw_flight *f, int fd, uint32_t number, uint64_t from_ns, uint64_t to_ns);

/*
 * Write every piece that was not written yet into the file whose name path(number) gives,
 * malloc'ed. err (CW_ERR bytes) gets one sentence. Returns how many were written, or a negative
 * errno.
 */
int cw_flight_write(struct cw_flight *f, char *(*path)(void *arg, uint32_t number), void *arg,
		    char *err);

#endif
