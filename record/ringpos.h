/* SPDX-License-Identifier: GPL-2.0-only */
/* How much waits in a BPF ring buffer; libbpf tells only from version 1.3 on. */
#ifndef CW_RINGPOS_H
#define CW_RINGPOS_H

#include <stdint.h>

struct cw_ringpos {
	const uint64_t *consumer, *producer; /* NULL when not mapped */
};

/* fd is the map's. On failure nothing is mapped, and nothing waits. */
void cw_ringpos_map(struct cw_ringpos *p, int fd);
uint64_t cw_ringpos_waiting(const struct cw_ringpos *p);
void cw_ringpos_unmap(struct cw_ringpos *p);

#endif
