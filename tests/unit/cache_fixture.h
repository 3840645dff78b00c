/* SPDX-License-Identifier: GPL-2.0-only */
/* A small capture made by the writer itself, in a folder of the test's own. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture.h"
#include "folder.h"

static inline void fixture_path(char path[256], const char *name)
{
	snprintf(path, 256, "%s", in_dir(name));
}

/* n entries a microsecond apart, from 1 s on, with keys 0 to n - 1 as first argument. */
static inline void fixture_capture(const char *path, int n)
{
	const struct cw_meta_kv kv[] = {{"arch", "x86_64"}, {"host", "box"}, {NULL, NULL}};
	struct cw_thread thread = {
		.h = {.type = CW_THREAD, .cpu = CW_CPU_NONE, .ts = 1}, .pid = 7, .tid = 8};
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	struct cw_writer *w = NULL;

	assert_true(fd >= 0);
	assert_int_equal(cw_writer_new(&w, fd, kv), 0);
	assert_int_equal(cw_writer_append_tail(w, &thread.h, sizeof(thread), "work\033", 6), 0);
	for (int i = 0; i < n; i++) {
		struct cw_probe_entry e = {
			.h = {.type = CW_PROBE_ENTRY,
			      .size = sizeof(e),
			      .cpu = (uint16_t)(i & 1),
			      .ts = 1000000000ull + (uint64_t)i * 1000},
			.pid = 7,
			.tid = 8,
			.probe_id = 1,
			.sp = 0xffffffff00000000ull,
			.args = {(uint64_t)i, (uint64_t)-i},
		};

		assert_int_equal(cw_writer_append(w, &e.h), 0);
	}
	assert_int_equal(cw_writer_finish(w, true), 0);
	cw_writer_free(w);
	close(fd);
}

#endif
