/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening the file behind a mapping of another process, which may live in another mount namespace,
 * be deleted, or be gone by now. Knows nothing of modules' numbers or records.
 */
#ifndef CW_MODOPEN_H
#define CW_MODOPEN_H

#include <stdint.h>

/* What a mapping says about its file. Unknown numbers are 0. */
struct cw_mapped_file {
	const char *path; /* as the process sees it, without " (deleted)" */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	const uint8_t *build_id; /* as mapped, from the kernel, or NULL */
	uint32_t build_id_size;
	uint32_t pid; /* in the recorder's namespace */
	uint64_t start, end;
};

struct cw_modopen;

struct cw_modopen *cw_modopen_new(void);
void cw_modopen_free(struct cw_modopen *o);

/* Hold the root directory of a process's mount namespace, to find files after it is gone. */
void cw_modopen_hold_root(struct cw_modopen *o, uint32_t pid, uint64_t mnt_ns);

/*
 * A read-only descriptor of the regular file that is mapped, checked against inode and build-id;
 * the caller's. -ENOENT when there is no such file any more.
 */
int cw_modopen_file(struct cw_modopen *o, const struct cw_mapped_file *f);

/*
 * A read-only descriptor of a file by its path, as a process (pid in the recorder's namespace) sees
 * it, or as others of its mount namespace do when it is gone; the caller's. No symbolic link is
 * followed at its end. Negative errno.
 */
int cw_modopen_path(struct cw_modopen *o, uint32_t pid, uint64_t mnt_ns, const char *path);

/*
 * A descriptor of a folder where paths of the process (pid in the recorder's namespace) begin, or
 * may have begun when it is gone: nth counts them from 0. The caller's; -ENOENT: no more.
 */
int cw_modopen_root(struct cw_modopen *o, uint32_t pid, size_t nth);

/* When the mapped file was modified last, ns; 0 unknown. Cheaper than opening it. */
uint64_t cw_modopen_mtime(const struct cw_mapped_file *f);

#endif
