/* SPDX-License-Identifier: GPL-2.0-only */
/* A process as /proc shows it. Knows nothing of records or tables. */
#ifndef CW_SNAPSHOT_H
#define CW_SNAPSHOT_H

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include "modopen.h"

struct cw_proc_info {
	uint32_t pid, ppid;      /* in the recorder's PID namespace; ppid 0 unknown */
	uint32_t ns_pid;         /* in the process's own */
	uint32_t uid;            /* real */
	uint64_t start_boottime; /* ns, rounded down to /proc's clock tick (10 ms); 0 unknown */
	uint64_t pid_ns, mnt_ns; /* inodes; 0 where they may not be read */
	char exe[4096];
};

struct cw_thread_info {
	uint32_t tid; /* in the recorder's PID namespace */
	uint32_t ns_pid, ns_tid;
	uint64_t start_boottime;
	char comm[16];
};

/* -ESRCH when the process is gone, else 0 with what could be read. */
int cw_snapshot_process(uint32_t pid, struct cw_proc_info *info);

/* The command line joined by blanks, at most size bytes, no NUL; returns its length. */
size_t cw_snapshot_args(uint32_t pid, char *buf, size_t size);

/*
 * Do two start times mean one life? One may be unknown (0), or one of them rounded down as above.
 */
bool cw_snapshot_same_start(uint64_t a, uint64_t b);

/* Is the process that began then (0: any) still the one with this number? */
bool cw_snapshot_is(uint32_t pid, uint64_t start_boottime);

/*
 * Call fn for each thread, mapping; a nonzero return ends it and is returned. -ESRCH as above. The
 * mappings are those of the process that began then (0: any), -ESRCH when its number is another's.
 */
int cw_snapshot_threads(uint32_t pid, int (*fn)(void *arg, const struct cw_thread_info *t),
			void *arg);
/* prot and pgoff of an executable mapping; f->path is a name in brackets where there is no file. */
int cw_snapshot_maps(uint32_t pid, uint64_t start_boottime,
		     int (*fn)(void *arg, const struct cw_mapped_file *f, uint64_t pgoff,
			       uint32_t prot),
		     void *arg);

/* The same of every mapping, by address. */
int cw_snapshot_all_maps(uint32_t pid, uint64_t start_boottime,
			 int (*fn)(void *arg, const struct cw_mapped_file *f, uint64_t pgoff,
				   uint32_t prot),
			 void *arg);

/* Whether this process is in the initial PID namespace, where its pids are the kernel's own. */
bool cw_snapshot_initial_pid_ns(void);

/*
 * A mapping's name as the kernel gives it made one name for records, in place: without
 * " (deleted)", [anon] for none or //anon, so it has room for that. file: an inode or a path stands
 * behind it.
 */
void cw_snapshot_clean_name(char *name, bool file);

#endif
