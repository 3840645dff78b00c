/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF object as those see it who load, attach and read it: probes_load.c, probes_attach.c and
 * probes.c. All others know probes.h.
 */
#ifndef CW_PROBES_OWN_H
#define CW_PROBES_OWN_H

#include <bpf/libbpf.h>
#include "probes.h"
#include "rings.h"
#include "callweave.skel.h"

#define CW_MAX_LINKS 32

struct cw_probes {
	struct callweave_bpf *skel;
	struct callweave_bpf *
		*copies; /* of the uprobe programs, one a point, where there are no cookies */
	size_t ncopies;
	bool multi;
	bool cookies; /* 5.15: probes carry a number */
	unsigned int cpus;
	int rings[CW_MAX_RINGS]; /* that the CPUs share */
	size_t nrings;
	uint64_t ring_bytes; /* of each */
	int fds[CW_MAX_POINT_FILES]
	       [2];              /* uprobe_multi links of files, entries and returns; 0 none */
	struct bpf_link **links; /* of tracepoints */
	size_t nlinks;
	struct cw_own_links {
		int fd[2]; /* uprobe_multi links, entry and return; 0 none */
		struct bpf_link *link[2];
		bool gone;
	} * own; /* of each point; links only where points do not share those of their file */
	size_t nown;
	uint32_t hot; /* points that had too many hits and were seen */
	struct cw_text_gather {
		uint32_t pid; /* 0: nobody's */
		bool changed; /* since the programs were told */
		bool told;    /* they know some of it */
		struct cw_texts texts;
	} text;
};

/* What the programs know a point by, when they serve several. */
uint64_t cw_probes_cookie(const struct cw_probes *pr, const struct cw_points *p, size_t i);

#endif
