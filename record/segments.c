/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a recording goes into: names, beginnings and ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "clock.h"
#include "header_keys.h"
#include "resolve.h"
#include "segments.h"

#define RESERVE      (512u << 10) /* for what is still to come when a file is found full */
#define FLIGHT_BYTES (256u << 20) /* of memory, when --max-size says nothing */

static int say_failed(const char *path, int rc, char *err)
{
	snprintf(err, CW_ERR, "writing %s failed: %s", path, cw_output_reason(rc));
	return rc;
}

/* trace.cwc becomes trace.0001.cwc. */
static char *segment_path(const char *output, uint32_t number)
{
	size_t len = strlen(output), ext = 4;
	char *path;

	if (len < ext || strcmp(output + len - ext, ".cwc") != 0)
		ext = 0;
	if (asprintf(&path, "%.*s.%04u.cwc", (int)(len - ext), output, number) < 0)
		return NULL;
	return path;
}

static int open_file(struct cw_segments *s, uint32_t number, char *err)
{
	char *path = number ? segment_path(s->o->output, number) : strdup(s->o->output);
	struct cw_output out = {.fd = -1, .path = path};
	int rc = path ? 0 : -ENOMEM;

	if (!rc && s->flight) {
		out.fd = cw_flight_open();
		rc = out.fd < 0 ? out.fd : 0;
		if (rc)
			snprintf(err, CW_ERR, "cannot keep the recording in memory: %s",
				 strerror(-rc));
	} else if (!rc) {
		rc = cw_output_open(&out, path, err);
	}

	if (rc) {
		free(path);
		return rc;
	}
	if (s->path != s->first_path)
		free(s->path);
	s->path = path;
	if (!s->first_path)
		s->first_path = path;
	s->out = out;
	s->number = number;
	s->began = cw_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

static void make_id(char id[33])
{
	unsigned char raw[16];
	size_t i;

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		memset(raw, 0, sizeof(raw));
	for (i = 0; i < sizeof(raw); i++)
		snprintf(id + 2 * i, 3, "%02x", raw[i]);
}

int cw_segments_open(struct cw_segments *s, const struct cw_options *o, int argc, char **argv,
		     char *err)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	s->argc = argc;
	s->argv = argv;
	s->out.fd = s->old_out.fd = -1;
	make_id(s->capture_id);
	if (o->flight_ns) {
		s->flight = cw_flight_new(o->flight_ns, o->max_bytes ? o->max_bytes : FLIGHT_BYTES);
		if (!s->flight)
			return -ENOMEM;
	}
	return open_file(s, o->segments || o->flight_ns ? 1 : 0, err);
}

int cw_segments_begin(struct cw_segments *s, char *err)
{
	struct cw_header_keys *keys =
		cw_header_keys_new(s->argc, s->argv, s->capture_id, s->number, s->flight);
	int rc = keys ? cw_output_begin(&s->out) : -ENOMEM;

	if (!rc)
		rc = cw_writer_new(&s->w, s->out.fd, cw_header_keys_kv(keys));
	cw_header_keys_free(keys);
	return rc ? say_failed(s->path, rc, err) : 0;
}

bool cw_segments_more(const struct cw_segments *s)
{
	return s->flight || (s->number && s->number < s->o->segments);
}

/* What waits for compression counts as if it compressed like what came before. */
static uint64_t bytes_to_be(const struct cw_writer_stats *st)
{
	double ratio = st->raw_bytes ? (double)(st->bytes) / (double)st->raw_bytes : 0.25;

	return st->bytes + (uint64_t)(ratio * (double)st->waiting_bytes);
}

bool cw_segments_full(const struct cw_segments *s, uint64_t coming)
{
	uint64_t max = s->o->max_bytes;
	struct cw_writer_stats st;

	if (s->flight)
		return cw_clock_ns(CLOCK_MONOTONIC) - s->began >= cw_flight_piece_ns(s->flight);
	if (!max)
		return false;
	cw_writer_get_stats(s->w, &st);
	if (cw_segments_more(s))
		st.waiting_bytes += coming;
	return bytes_to_be(&st) >= max - (max / 8 < RESERVE ? max / 8 : RESERVE);
}

int cw_segments_next(struct cw_segments *s, char *err)
{
	int rc;

	s->old = s->w;
	s->old_out = s->out;
	s->old_began = s->began;
	s->w = NULL;
	s->out.fd = -1;
	rc = open_file(s, s->number + 1, err);
	return rc ? rc : cw_segments_begin(s, err);
}

static int append_end(struct cw_writer *w, int reason)
{
	static const char *const words[] = {
		[CW_END_SIGNAL] = "stopped by a signal",
		[CW_END_TARGET] = "the target exited",
		[CW_END_DURATION] = "the duration is over",
		[CW_END_EVENTS] = "enough events",
		[CW_END_ERROR] = "an error",
		[CW_END_SIZE] = "the file has its size",
		[CW_END_NEXT] = "the recording goes on in the next file",
	};
	struct cw_end e = {
		.h = {.type = CW_END, .cpu = CW_CPU_NONE, .ts = cw_clock_ns(CLOCK_MONOTONIC)},
		.reason = reason,
	};

	return cw_writer_append_tail(w, &e.h, sizeof(e), words[reason], strlen(words[reason]));
}

static void add_stats(struct cw_writer_stats *sum, const struct cw_writer *w)
{
	struct cw_writer_stats st;

	if (!w)
		return;
	cw_writer_get_stats(w, &st);
	sum->records += st.records;
	sum->bytes += st.bytes;
	sum->payload_bytes += st.payload_bytes;
	sum->frames += st.frames;
}

/* A finished file in memory is kept, any other one closed. */
static int put_away(struct cw_segments *s, struct cw_output *out, uint32_t number, uint64_t began)
{
	int rc;

	if (!s->flight)
		return cw_output_close(out, false);
	rc = cw_flight_keep(s->flight, out->fd, number, began, cw_clock_ns(CLOCK_MONOTONIC));
	if (!rc)
		out->fd = -1;
	return rc;
}

static int finish(struct cw_segments *s, struct cw_writer **w, struct cw_output *out, int reason)
{
	bool present = out == &s->out;
	int rc = append_end(*w, reason);

	if (!rc)
		rc = cw_writer_finish(*w, true);
	if (rc)
		return rc;
	add_stats(&s->before, *w);
	cw_writer_free(*w);
	*w = NULL;
	return put_away(s, out, present ? s->number : s->number - 1,
			present ? s->began : s->old_began);
}

int cw_segments_finish_old(struct cw_segments *s, char *err)
{
	int rc = s->old ? finish(s, &s->old, &s->old_out, CW_END_NEXT) : 0;

	return rc ? say_failed(s->path, rc, err) : 0;
}

int cw_segments_finish(struct cw_segments *s, int reason, char *err)
{
	int rc = finish(s, &s->w, &s->out, reason);

	return rc ? say_failed(s->path, rc, err) : 0;
}

static char *kept_path(void *arg, uint32_t number)
{
	return segment_path(arg, number);
}

int cw_segments_write_kept(struct cw_segments *s, char *err)
{
	return cw_flight_write(s->flight, kept_path, (void *)s->o->output, err);
}

const char *cw_segments_name(const struct cw_segments *s, char *buf, size_t size)
{
	if (s->flight)
		return s->o->output;
	if (s->number < 2)
		return s->path;
	snprintf(buf, size, "%s to %s", s->first_path, s->path);
	return buf;
}

struct cw_writer_stats cw_segments_stats(const struct cw_segments *s)
{
	struct cw_writer_stats sum = s->before;

	add_stats(&sum, s->old);
	add_stats(&sum, s->w);
	return sum;
}

void cw_segments_close(struct cw_segments *s, bool discard)
{
	if (!s->o)
		return; /* never opened */
	cw_writer_free(s->old);
	cw_writer_free(s->w);
	cw_output_close(&s->old_out, false);
	cw_output_close(&s->out, discard && !s->flight);
	cw_flight_free(s->flight);
	s->flight = NULL;
	if (s->path != s->first_path)
		free(s->path);
	free(s->first_path);
	s->path = s->first_path = NULL;
}
