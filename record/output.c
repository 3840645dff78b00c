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

int cw_output_open(struct cw_output *o, const char *path, char *err)
{
	struct stat st;

	*o = (struct cw_output){.fd = -1, .path = path};
	if (!strcmp(path, "-")) {
		if (isatty(STDOUT_FILENO)) {
			snprintf(err, CW_ERR,
				 "a capture is not for a terminal: give -o FILE or pipe -o - into "
				 "callweave-analyze");
			return -EINVAL;
		}
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	if (o->fd < 0) {
		snprintf(err, CW_ERR, "cannot write to %s: %s", path, strerror(errno));
		return -errno;
	}
	if (strcmp(path, "-") != 0 && !fstat(o->fd, &st) && S_ISREG(st.st_mode)) {
		o->created = true;
		give_to_sudo_user(o->fd);
	}
	return 0;
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
