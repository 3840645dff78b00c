/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the header frame of a capture, and saying what a file is that has none.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe.h"
#include "frames.h"
#include "header.h"
#include "typeset.h"
#include "wire.h"

#define HEAD (8 + CW_HEADER_FIXED)

/* ---- what it is instead ---------------------------------------------------------------------- */

struct known {
	const char *magic;
	size_t size;
	const char *what;
};

static const struct known knowns[] = {
	{"\x7f"
	 "ELF",
	 4, "an ELF file; give the capture that was recorded from it"},
	{"\x28\xb5\x2f\xfd", 4, "a zstd file without a capture's header frame"},
	{"\x1f\x8b", 2, "a gzip file; decompress it first"},
	{"\xfd"
	 "7zXZ",
	 5, "an xz file; decompress it first"},
	{"PK\x03\x04", 4, "a zip file; unpack it first"},
	{"SQLite format 3", 16, "an SQLite database; open it with sqlite3"},
	{"PERFILE2", 8, "a perf.data file"},
};

static const char *what_is(const uint8_t *p, size_t n)
{
	size_t text = 0;

	for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++)
		if (n >= knowns[i].size && !memcmp(p, knowns[i].magic, knowns[i].size))
			return knowns[i].what;
	while (text < n && (isprint(p[text]) || isspace(p[text])))
		text++;
	return text == n ? "a text file" : "a file of another kind";
}

/* Check the first HEAD bytes and return the size of the payload, or a negative errno. */
static int64_t check_head(const uint8_t *p, size_t n, const char *name, char *err, size_t errsize)
{
	uint32_t size, version;

	if (n == 0) {
		snprintf(err, errsize, "%s is empty: nothing was recorded into it", name);
		return -ENODATA;
	}
	if (cw_get32((const uint8_t[4]){p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0,
					n > 3 ? p[3] : 0}) != CW_HEADER_FRAME_MAGIC ||
	    (n >= 16 && memcmp(p + 8, CW_FILE_MAGIC, 8) != 0)) {
		snprintf(err, errsize, "%s is not a callweave capture but %s", name, what_is(p, n));
		return -EINVAL;
	}
	if (n < HEAD) {
		snprintf(err, errsize, "%s ends within its header: only %zu bytes are there", name,
			 n);
		return -EBADMSG;
	}
	size = cw_get32(p + 4);
	version = cw_get32(p + 16);
	if (version > CW_FORMAT_VERSION) {
		snprintf(err, errsize,
			 "%s has capture format version %u, and this program reads up to version "
			 "%u: "
			 "use a newer callweave-analyze",
			 name, version, (unsigned)CW_FORMAT_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (version == 0 || size < CW_HEADER_FIXED || size > CW_MAX_HEADER) {
		snprintf(err, errsize, "%s has a damaged header: format version %u, %u bytes", name,
			 version, size);
		return -EBADMSG;
	}
	return size;
}

/* ---- records --------------------------------------------------------------------------------- */

static void defect(struct cw_header *h, const char *what, const char *why)
{
	if (!h->defect[0])
		snprintf(h->defect, sizeof(h->defect), "the header's %s %s", what, why);
}

static int add_key(struct cw_header *h, const struct cw_rec *rec)
{
	const struct cw_meta *m = (const struct cw_meta *)rec;
	size_t n = cw_tail_strlen(rec, m->text);
	char *text = strndup(m->text, n);
	char *equals = text ? strchr(text, '=') : NULL;
	struct cw_meta_kv *bigger;

	if (!text)
		return -ENOMEM;
	if (!equals) {
		free(text);
		defect(h, "key", "has no value");
		return 0;
	}
	bigger = realloc(h->kv, (h->n + 2) * sizeof(*bigger));
	if (!bigger) {
		free(text);
		return -ENOMEM;
	}
	*equals = '\0';
	h->kv = bigger;
	h->kv[h->n].key = text;
	h->kv[h->n++].value = equals + 1;
	h->kv[h->n].key = h->kv[h->n].value = NULL;
	return 0;
}

static int add_type(struct cw_header *h, struct cw_typeset *types, const struct cw_rec *rec)
{
	const struct cw_type_info *info = (const struct cw_type_info *)rec;
	const char *why;
	char what[48];
	int err;

	if (h->damaged)
		return 0; /* this build's own descriptions are the better guess */
	if (rec->size < sizeof(*info)) {
		defect(h, "type record", "is too short");
		return 0;
	}
	err = cw_typeset_add(types, info, &why);
	if (err == -ENOMEM)
		return err;
	snprintf(what, sizeof(what), "description of type %u", info->id);
	if (err)
		defect(h, what, why);
	return 0;
}

/* The records of the header are of version 1's layout for ever: types are not known before. */
static int add_records(struct cw_header *h, struct cw_typeset *types, uint8_t *p, size_t n)
{
	int err = 0;

	while (n && !err) {
		struct cw_rec *rec = (struct cw_rec *)p;
		uint32_t stride;

		if (n >= sizeof(*rec) && CW_SWAP_FILE)
			cw_rec_swap(NULL, rec, true);
		stride = n >= sizeof(*rec) ? cw_rec_stride(rec) : 0;
		if (stride < sizeof(*rec) || stride > n) {
			defect(h, "records", "end in a malformed one");
			return 0;
		}
		if (rec->type == CW_META)
			err = add_key(h, rec);
		else if (rec->type == CW_TYPE_INFO) {
			if (CW_SWAP_FILE && rec->size >= sizeof(struct cw_type_info)) {
				struct cw_type_info *info = (struct cw_type_info *)rec;

				info->id = __builtin_bswap32(info->id);
				info->fixed_size = __builtin_bswap32(info->fixed_size);
			}
			err = add_type(h, types, rec);
		}
		p += stride;
		n -= stride;
	}
	return err;
}

int cw_header_read(struct cw_header *h, struct cw_frames *f, struct cw_typeset *types,
		   const char *name, char *err, size_t errsize)
{
	const uint8_t *p;
	uint8_t *copy;
	size_t n;
	uint32_t sum = 0;
	int64_t size;
	int ret;

	memset(h, 0, sizeof(*h));
	ret = cw_frames_peek(f, HEAD, &p, &n);
	if (ret) {
		snprintf(err, errsize, "cannot read %s: %s", name, strerror(-ret));
		return ret;
	}
	size = check_head(p, n, name, err, errsize);
	if (size < 0)
		return size;
	ret = cw_frames_peek(f, 8 + size, &p, &n);
	if (!ret && n < 8 + (size_t)size) {
		snprintf(err, errsize, "%s ends within its header: %zu of %zu bytes are there",
			 name, n, 8 + (size_t)size);
		return -EBADMSG;
	}
	ret = cw_checksum(p + HEAD, size - CW_HEADER_FIXED, &sum);
	h->damaged = sum != cw_get32(p + 20);
	if (h->damaged)
		defect(h, "checksum", "does not match: its keys may be wrong");
	h->kv = calloc(1, sizeof(*h->kv));
	copy = malloc(size);
	ret = h->kv && copy ? ret : -ENOMEM;
	if (!ret) {
		memcpy(copy, p + HEAD, size - CW_HEADER_FIXED);
		ret = add_records(h, types, copy, size - CW_HEADER_FIXED);
	}
	free(copy);
	if (ret)
		snprintf(err, errsize, "cannot read %s: %s", name, strerror(-ret));
	cw_frames_start(f, 8 + size, h->damaged);
	return ret;
}

void cw_header_free(struct cw_header *h)
{
	for (size_t i = 0; i < h->n; i++)
		free((void *)h->kv[i].key);
	free(h->kv);
}
