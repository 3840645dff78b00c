/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns files with a temporary name. Must not know what is written into them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "unfinished.h"

/* Ctrl-C must not leave a hundred megabytes behind. */
static char *volatile unfinished;

static void on_signal(int sig)
{
	if (unfinished)
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Remove name when a signal ends the program; NULL: back to what was. */
static void remove_on_signal(char *name)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	unfinished = name;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signal(signals[i], name ? on_signal : SIG_DFL) == SIG_IGN)
			signal(signals[i], SIG_IGN);
}

int cw_unfinished_new(char **name, const char *path)
{
	int fd = -ENOMEM;

	if (asprintf(name, "%s.XXXXXX", path) < 0)
		*name = NULL;
	else
		fd = mkostemp(*name, O_CLOEXEC);
	if (fd >= 0) {
		remove_on_signal(*name);
		return fd;
	}
	fd = *name ? -errno : fd;
	free(*name);
	*name = NULL;
	return fd;
}

int cw_unfinished_end(char *name, const char *path)
{
	int err = path && rename(name, path) ? -errno : 0;

	if (!path || err)
		unlink(name);
	remove_on_signal(NULL);
	free(name);
	return err;
}
