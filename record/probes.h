/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF programs: loading, configuring, attaching, and the numbers they keep. */
#ifndef CW_PROBES_H
#define CW_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include "../bpf/abi.h"
#include "options.h"
#include "points.h"
#include "target.h"

struct cw_probes;

/* Load the programs for these points. err gets one sentence: what is missing and what to do. */
int cw_probes_load(struct cw_probes **out, const struct cw_options *o, const struct cw_target *t,
		   const struct cw_points *p, char *err);

/* Attach everything: scheduler and lives first, then functions. Warnings go to warn, one sentence
 * each. */
int cw_probes_attach(struct cw_probes *pr, const struct cw_target *t, const struct cw_points *p,
		     void (*warn)(const char *text), char *err);

/* Have this process (as the recorder sees it) traced from the next cw_probes_seed on. */
int cw_probes_want(struct cw_probes *pr, uint32_t pid);
/* Take in all threads of wanted processes that exist now. */
int cw_probes_seed(struct cw_probes *pr);
/* Id of a traced process as the recorder sees it; 0 when it does not. Outside the initial
 * namespace. */
uint32_t cw_probes_rec_pid(const struct cw_probes *pr, uint32_t global);
/* Is any process traced still? */
bool cw_probes_any_process(const struct cw_probes *pr);
/* Kernel-global id of a wanted process; 0 when it was not found. */
uint32_t cw_probes_global_pid(const struct cw_probes *pr, uint32_t pid);

/* A process (kernel-global pid) has code from start to end; start = end: forget the process. The
 * programs hear of it with cw_probes_text_done at the latest. */
void cw_probes_text(void *probes, uint32_t pid, uint64_t start, uint64_t end);
void cw_probes_text_done(struct cw_probes *pr);

/* A probe that had too many hits (--max-rate). */
struct cw_hot_probe {
	uint32_t probe; /* its point */
	uint64_t hits;  /* before it fell silent */
	uint64_t ns;    /* within this time */
	uint64_t ts;    /* nothing is recorded of it from here on, CLOCK_MONOTONIC */
};

/*
 * Detach the next probe that had too many hits and say which; false when there is none. The program
 * has let it fall silent before; this takes milliseconds, the breakpoint away from the target.
 */
bool cw_probes_take_hot(struct cw_probes *pr, struct cw_hot_probe *out);

/*
 * Detach a point, as far as it has links of its own; false when it was detached before. Those that
 * share links with all others of their file are detached with them.
 */
bool cw_probes_detach_point(struct cw_probes *pr, size_t point);
void cw_probes_detach_file(struct cw_probes *pr, const struct cw_points *p,
			   const struct cw_elf_file *f);

/* No event is recorded from now on; one that is being recorded may still come. */
void cw_probes_stop(struct cw_probes *pr);

/* Detach the programs. Takes long on a busy host, so it comes after all else. */
void cw_probes_detach(struct cw_probes *pr);

/* Descriptors of the n rings, of bytes each, that records come through. */
const int *cw_probes_rings(const struct cw_probes *pr, size_t *n, uint64_t *bytes);
unsigned int cw_probes_cpus(const struct cw_probes *pr);
/* Counts of one record type, one per CPU. */
int cw_probes_counts(const struct cw_probes *pr, uint32_t kind, struct cw_count *percpu);
/* Begin the next generation of loss windows; returns the one that ended. */
uint32_t cw_probes_next_loss_gen(struct cw_probes *pr);
/* Have references handed over again from now on. */
void cw_probes_next_epoch(struct cw_probes *pr);
/* Times the kernel skipped a program whose records are of this type. */
uint64_t cw_probes_missed(const struct cw_probes *pr, uint32_t kind);

void cw_probes_free(struct cw_probes *pr);

#endif
