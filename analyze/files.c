/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the rows of files and sockets that threads blocked on, as text. Knows no threads. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"
#include "files.h"

#define LINUX_AF_UNIX  1u
#define LINUX_AF_INET  2u
#define LINUX_AF_INET6 10u
#define LINUX_TCP      6u
#define LINUX_UDP      17u

struct seen {
	struct cw_hnode by_id;
	uint32_t epoch;
	struct seen *next;
};

struct cw_files {
	struct cw_htab seen;
	struct seen *all;
};

/* "c/b/a" as recorded, innermost first, to "/a/b/c"; a name alone stays as it is. */
static char *outermost_first(const char *path, size_t n)
{
	char *out = cw_zalloc(n + 2), *w = out;
	size_t end = n;

	while (end) {
		size_t begin = end;

		while (begin && path[begin - 1] != '/')
			begin--;
		if (begin < end && (begin || w > out))
			*w++ = '/';
		memcpy(w, path + begin, end - begin);
		w += end - begin;
		end = begin ? begin - 1 : 0;
	}
	return out;
}

static void address_text(char *buf, size_t size, uint32_t family, const uint8_t *addr,
			 uint32_t port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family == LINUX_AF_INET ? AF_INET : AF_INET6, addr, text, sizeof(text));
	snprintf(buf, size, family == LINUX_AF_INET ? "%s:%u" : "[%s]:%u", text, port);
}

static char *socket_text(const struct cw_file *r)
{
	char local[80], peer[80], text[256];
	const char *protocol = r->protocol == LINUX_TCP   ? "tcp"
			       : r->protocol == LINUX_UDP ? "udp"
							  : "inet";

	if (r->family == LINUX_AF_UNIX)
		return cw_strndup("unix socket", 11);
	if (r->family != LINUX_AF_INET && r->family != LINUX_AF_INET6) {
		snprintf(text, sizeof(text), "socket of family %u", r->family);
		return cw_strndup(text, sizeof(text));
	}
	address_text(local, sizeof(local), r->family, r->local_addr, r->local_port);
	address_text(peer, sizeof(peer), r->family, r->peer_addr, r->peer_port);
	snprintf(text, sizeof(text), "%s %s -> %s", protocol, local, peer);
	return cw_strndup(text, sizeof(text));
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_file *r = (const void *)rec;
	size_t n = cw_tail_strlen(rec, r->path);
	struct cw_hnode *known = cw_htab_first(&t->files->seen, r->id);
	struct seen *s;
	uint64_t *w;

	if (known) {
		cw_container(known, struct seen, by_id)->epoch = t->epoch;
		return 0;
	}
	s = cw_zalloc(sizeof(*s));
	s->next = t->files->all;
	t->files->all = s;
	s->epoch = t->epoch;
	cw_htab_insert(&t->files->seen, &s->by_id, r->id);
	w = cw_rows_put(t->rows, CW_ROW_FILE, 0);
	w[0] = r->id;
	w[1] = cw_word(r->family ? socket_text(r) : outermost_first(r->path, n));
	w[2] = r->mode;
	w[3] = r->dev;
	w[4] = r->ino;
	return 0;
}

static void watermark(struct cw_trace *t, uint64_t ts)
{
	struct seen **at = &t->files->all;

	(void)ts;
	while (t->watch && *at) {
		struct seen *s = *at;

		if (!cw_stale(t, s->epoch)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		t->watch->file_gone(t->watch->arg, s->by_id.hash);
		cw_htab_remove(&t->files->seen, &s->by_id);
		free(s);
	}
}

bool cw_file_known(const struct cw_trace *t, uint64_t id)
{
	return cw_htab_first(&t->files->seen, id) != NULL;
}

static int begin(struct cw_trace *t)
{
	t->files = cw_zalloc(sizeof(*t->files));
	return 0;
}

static void release(struct cw_trace *t)
{
	if (!t->files)
		return;
	for (struct seen *s = t->files->all, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	cw_htab_free(&t->files->seen);
	free(t->files);
	t->files = NULL;
}

extern const struct cw_pass cw_pass_files;
const struct cw_pass cw_pass_files = {
	.name = "files",
	.version = 1,
	.reads = "file",
	.writes = "file",
	.types = CW_TYPE_BIT(CW_FILE),
	.begin = begin,
	.event = event,
	.watermark = watermark,
	.free = release,
};
