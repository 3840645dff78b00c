/* SPDX-License-Identifier: GPL-2.0-only */
/* Modules, mappings and stacks for synthetic streams. */
#ifndef MAPPED_STREAM_H
#define MAPPED_STREAM_H

#include "stream.h"

static inline void put_module(struct stream *s, uint32_t id, const char *path)
{
	REC(CW_MODULE, module, 1);

	r.module_id = id;
	r.build_id_size = 3;
	r.build_id[0] = 0xab;
	r.build_id[2] = 0x01;
	r.dev_major = 8;
	r.dev_minor = 1;
	r.ino = 77;
	stream_put_text(s, &r.h, sizeof(r), path);
}

static inline void put_map(struct stream *s, uint64_t ts, uint64_t start, uint64_t end,
			   uint64_t pgoff, uint32_t module)
{
	REC(CW_MAP, map, ts);

	r.pid = PID;
	r.module_id = module;
	r.start = start;
	r.end = end;
	r.pgoff = pgoff;
	stream_put(s, &r.h);
}

static inline void put_stack(struct stream *s, uint64_t ts, uint64_t id, uint32_t flags,
			     uint64_t caller, size_t n, const uint64_t *frames)
{
	struct {
		struct cw_stack r;
		uint64_t frames[140];
	} x = {.r = {.h = {.type = CW_STACK, .cpu = 0, .ts = ts},
		     .id = id,
		     .pid = PID,
		     .flags = flags}};

	x.r.caller = caller;
	x.r.h.size = (uint16_t)(sizeof(x.r) + n * 8);
	memcpy(x.frames, frames, n * 8);
	stream_put(s, &x.r.h);
}

static inline const char *stack(struct stream *s, uint64_t id)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(coalesce(m.name, '?') || '+' || printf('%%x', f.rel_pc) || "
		 "CASE f.is_return WHEN 1 THEN ' r' ELSE '' END, ', ') FROM (SELECT * FROM "
		 "stack_frame WHERE "
		 "stack_id = %lld ORDER BY depth) JOIN frame f USING(frame_id) LEFT JOIN module m "
		 "USING(module_id)",
		 (long long)id);
	return ask(s, sql) ?: "(null)";
}

#endif
