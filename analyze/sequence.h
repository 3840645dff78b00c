/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that one recording goes on in, which are opened as one capture. */
#ifndef CW_SEQUENCE_H
#define CW_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_sequence {
	struct cw_sequence_file {
		char *path;
		uint32_t number; /* of the segment, from 1; 0: the capture has no segments */
	} * files;               /* by number, at least one */
	size_t n;
};

/*
 * The capture in path and, when it is a segment called NAME.NUMBER[.cwc], those beside it under
 * such names with the same capture id. Of several with one number the first by name counts, or path
 * itself. Returns 0 or -ENOMEM; what is wrong with path the reader says later.
 */
int cw_sequence_find(struct cw_sequence *s, const char *path);

/* Are a and b files of one recording, which cw_sequence_find finds together? */
bool cw_sequence_together(const char *a, const char *b);
void cw_sequence_free(struct cw_sequence *s);

#endif
