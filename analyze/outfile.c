/* SPDX-License-Identifier: GPL-2.0-only */
/* Output files that are there whole or not at all. Knows nothing of what is written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "outfile.h"
#include "say.h"
#include "unfinished.h"

static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A temporary file beside o->path, with the rights that the file there has or would get. */
static int open_temporary(struct cw_outfile *o, mode_t mode)
{
	int fd = cw_unfinished_new(&o->temp, o->path);

	if (fd < 0)
		return fd;
	fchmod(fd, mode);
	o->f = fdopen(fd, "w");
	if (!o->f)
		close(fd);
	return o->f ? 0 : -ENOMEM;
}

int cw_outfile_open(struct cw_outfile *o, const char *path)
{
	struct stat st;
	int err = 0;

	*o = (struct cw_outfile){.f = stdout, .name = "standard output"};
	if (!path || !strcmp(path, "-"))
		return 0;
	o->name = path;
	o->f = NULL;
	if (stat(path, &st)) {
		o->path = strdup(path);
		err = o->path ? open_temporary(o, new_mode()) : -ENOMEM;
	} else if (S_ISREG(st.st_mode)) {
		o->path = realpath(path, NULL); /* a link stays one */
		err = o->path ? open_temporary(o, st.st_mode & 07777) : -errno;
	} else {
		o->f = fopen(path, "we");
		err = o->f ? 0 : -errno;
	}
	if (!err)
		return 0;
	if (o->temp)
		cw_unfinished_end(o->temp, NULL);
	free(o->path);
	return cw_fail(err, "cannot write %s: %s", path, strerror(-err));
}

int cw_outfile_finish(struct cw_outfile *o, int err)
{
	int status = cw_output_finish(o->f, o->name, err), rc = 0;

	if (o->temp)
		rc = cw_unfinished_end(o->temp, status || err ? NULL : o->path);
	if (rc) {
		cw_say("cannot write %s: %s", o->name, strerror(-rc));
		status = 1;
	}
	free(o->path);
	return status;
}
