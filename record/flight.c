/* SPDX-License-Identifier: GPL-2.0-only */
/* Pieces of a recording in memory. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "flight.h"
#include "output.h"
#include "resolve.h"

#define PIECES    4u           /* that make up the span: at most a quarter more is kept */
#define MIN_PIECE 500000000ull /* every piece holds all that its records refer to */

struct piece {
	int fd;
	uint32_t number;
	uint64_t from, to, bytes;
	bool written;
};

struct cw_flight {
	uint64_t span, max_bytes;
	uint64_t wanted;      /* the span that ends then is not forgotten; 0: nobody asked */
	struct piece *pieces; /* the oldest first */
	size_t n;
};

struct cw_flight *cw_flight_new(uint64_t span_ns, uint64_t max_bytes)
{
	struct cw_flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->span = span_ns;
	f->max_bytes = max_bytes;
	return f;
}

void cw_flight_free(struct cw_flight *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		close(f->pieces[i].fd);
	free(f->pieces);
	free(f);
}

uint64_t cw_flight_piece_ns(const struct cw_flight *f)
{
	return f->span / PIECES > MIN_PIECE ? f->span / PIECES : MIN_PIECE;
}

int cw_flight_open(void)
{
	int fd = memfd_create("callweave-flight", MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t bytes_kept(const struct cw_flight *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->n; i++)
		sum += f->pieces[i].bytes;
	return sum;
}

static void forget_old(struct cw_flight *f, uint64_t now)
{
	if (f->wanted && f->wanted < now)
		now = f->wanted;
	while (f->n > 1 && (f->pieces[0].to + f->span < now || bytes_kept(f) > f->max_bytes)) {
		close(f->pieces[0].fd);
		memmove(f->pieces, f->pieces + 1, --f->n * sizeof(*f->pieces));
	}
}

void cw_flight_want(struct cw_flight *f, uint64_t ts)
{
	if (!f->wanted)
		f->wanted = ts;
}

int cw_flight_keep(struct cw_flight *f, int fd, uint32_t number, uint64_t from_ns, uint64_t to_ns)
{
	struct piece *more = realloc(f->pieces, (f->n + 1) * sizeof(*more));
	struct stat st = {0};

	if (!more)
		return -ENOMEM;
	fstat(fd, &st);
	f->pieces = more;
	f->pieces[f->n++] = (struct piece){fd, number, from_ns, to_ns, (uint64_t)st.st_size, false};
	forget_old(f, to_ns);
	return 0;
}

static int copy(const struct piece *p, int to)
{
	off_t at = 0;

	while ((uint64_t)at < p->bytes) {
		ssize_t n = sendfile(to, p->fd, &at, p->bytes - (uint64_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -EIO;
	}
	return 0;
}

static int write_piece(const struct piece *p, const char *path, char *err)
{
	struct cw_output out;
	int rc = cw_output_open(&out, path, err), closed;

	if (rc)
		return rc;
	rc = cw_output_begin(&out);
	if (!rc)
		rc = copy(p, out.fd);
	closed = cw_output_close(&out, rc != 0);
	rc = rc ? rc : closed;
	if (rc)
		snprintf(err, CW_ERR, "writing %s failed: %s", path, strerror(-rc));
	return rc;
}

int cw_flight_write(struct cw_flight *f, char *(*path)(void *arg, uint32_t number), void *arg,
		    char *err)
{
	int n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct piece *p = &f->pieces[i];
		char *name;
		int rc;

		if (p->written)
			continue;
		name = path(arg, p->number);
		rc = name ? write_piece(p, name, err) : -ENOMEM;
		free(name);
		if (rc)
			return rc;
		p->written = true;
		n++;
	}
	f->wanted = 0;
	return n;
}
