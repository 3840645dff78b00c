/* SPDX-License-Identifier: GPL-2.0-only */
/* What the harnesses share: reading a capture to its end, touching every byte. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What every consumer relies on: the fixed part of a known type is there, and all bytes are. */
static inline uint64_t fuzz_touch(const struct cw_reader *r, const struct cw_rec *rec)
{
	const struct cw_rec *written = cw_reader_as_written(r);
	const struct cw_type *t = cw_type_by_id(rec->type),
			     *file = cw_reader_type(r, written->type);
	uint64_t sum = 0;

	if (rec->size < (t ? t->fixed_size : sizeof(*rec)))
		abort();
	if (written->size < (file ? file->fixed_size : sizeof(*rec)))
		abort();
	for (size_t i = 0; i < rec->size; i++)
		sum += ((const uint8_t *)rec)[i];
	for (size_t i = 0; i < written->size; i++)
		sum += ((const uint8_t *)written)[i];
	for (uint32_t i = 0; file && i < file->nfields; i++) {
		const struct cw_field *f = &file->fields[i];
		uint32_t n = cw_field_elems(file, f, written);

		sum += f->type == CW_T_STR
			       ? cw_tail_strlen(written, (const char *)written + f->offset)
			       : n;
	}
	return sum;
}

static inline uint64_t fuzz_read(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	const struct cw_rec *rec;
	struct cw_reader *r;
	struct cw_pos pos;
	uint64_t sum = 0;
	char err[256] = "";

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	if (cw_reader_open_fd(&r, fd, "FILE", err, sizeof(err))) {
		if (!err[0] || r)
			abort();
		close(fd);
		return 0;
	}
	while (cw_reader_next(r, &rec, &pos) > 0)
		sum += fuzz_touch(r, rec);
	for (size_t i = 0; i < cw_reader_nproblems(r); i++)
		sum += strlen(cw_reader_problem(r, i)->text);
	for (const struct cw_meta_kv *kv = cw_reader_metas(r); kv->key; kv++)
		sum += strlen(kv->value);
	cw_reader_free(r);
	close(fd);
	return sum;
}

#endif
