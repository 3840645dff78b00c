/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening and closing the capture file. Must not know what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output.h"
#include "resolve.h"

/* A capture shows what a program did: readable by its owner only, who is the one behind sudo. */
static void give_to_sudo_user(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (!geteuid() && uid && gid && fchown(fd, strtoul(uid, NULL, 10), strtoul(gid, NULL, 10)))
		return; /* it stays root's */
}

/* Is it a capture, or empty? Another file of the user's is not overwritten by mistake. */
static bool may_replace(const char *path)
{
	char head[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	return !n || (n == sizeof(head) && !memcmp(head + 8, "CWCAPTUR", 8));
}

static int open_file(struct cw_output *o, char *err)
{
	struct stat st;

	/* A file that was there keeps its owner, and until recording begins what is in it. */
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (o->fd >= 0) {
		o->created = true;
		give_to_sudo_user(o->fd);
		return 0;
	}
	if (errno == EEXIST)
		o->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (o->fd < 0)
		return -errno;
	o->replaces = !fstat(o->fd, &st) && S_ISREG(st.st_mode);
	if (!o->replaces || !st.st_size || may_replace(o->path))
		return 0;
	snprintf(err, CW_ERR, "%s exists and is no capture: give another name with -o", o->path);
	close(o->fd);
	o->fd = -1;
	return -EEXIST;
}

int cw_output_open(struct cw_output *o, const char *path, char *err)
{
	int rc = 0;

	*o = (struct cw_output){.fd = -1, .path = path};
	*err = 0;
	if (!strcmp(path, "-")) {
		if (isatty(STDOUT_FILENO)) {
			snprintf(err, CW_ERR,
				 "a capture is not for a terminal: give -o FILE or pipe -o - into "
				 "callweave-analyze");
			return -EINVAL;
		}
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		rc = o->fd < 0 ? -errno : 0;
	} else {
		rc = open_file(o, err);
	}
	if (rc && !*err)
		snprintf(err, CW_ERR, "cannot write to %s: %s", path, strerror(-rc));
	return rc;
}

int cw_output_begin(struct cw_output *o)
{
	if (!o->replaces)
		return 0;
	o->replaces = false;
	o->created = true;
	return ftruncate(o->fd, 0) ? -errno : 0;
}

int cw_output_close(struct cw_output *o, bool discard)
{
	int rc = 0;

	if (o->fd < 0)
		return 0;
	if (discard && o->created)
		unlink(o->path);
	if (close(o->fd))
		rc = -errno;
	o->fd = -1;
	return rc;
}

const char *cw_output_reason(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return "no space left on the device; what was written so far is readable";
	case EPIPE:
		return "the reader closed the pipe";
	default:
		return strerror(-error);
	}
}
