/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A breakpoint stays at its offset when the file is overwritten in place, and then cuts some other
 * instruction of the next process that runs it. A read lease makes whoever wants to write wait
 * until the probes are gone (at most /proc/sys/fs/lease-break-time). A file that is replaced under
 * its name is another file and needs nothing. Must not know how probes are attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include "clock.h"
#include "overwrite.h"

/* That somebody waits is asked, not told; but unhandled, the signal would end this program. Not
 * ignored: a program that is started would inherit that. */
static void on_lease(int sig)
{
	(void)sig;
}

void cw_overwrite_watch(const struct cw_points *p)
{
	const struct sigaction act = {.sa_handler = on_lease, .sa_flags = SA_RESTART};

	if (sigaction(SIGIO, &act, NULL))
		return;
	/* Not every file system has leases, and a file that is being written to gets none. */
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i]->leased = !fcntl(p->files[i]->fd, F_SETLEASE, F_RDLCK);
}

static int let_go(struct cw_probes *pr, struct cw_losses *l, const struct cw_points *p,
		  struct cw_elf_file *f, void (*say)(const char *text))
{
	uint64_t ts = cw_clock_ns(CLOCK_MONOTONIC);
	char text[512];
	int rc = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->at[i].file == f && cw_probes_detach_point(pr, i) && !rc)
			rc = cw_losses_detached(l, i, ts);
	cw_probes_detach_file(pr, p, f);
	f->leased = false;
	fcntl(f->fd, F_SETLEASE, F_UNLCK);
	snprintf(text, sizeof(text),
		 "%.300s is being overwritten: detached its functions; their calls from now on are "
		 "not recorded",
		 f->path);
	say(text);
	return rc;
}

int cw_overwrite_poll(struct cw_probes *pr, struct cw_losses *l, const struct cw_points *p,
		      void (*say)(const char *text))
{
	int rc = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i]->leased && fcntl(p->files[i]->fd, F_GETLEASE) == F_UNLCK && !rc)
			rc = let_go(pr, l, p, p->files[i], say);
	return rc;
}
