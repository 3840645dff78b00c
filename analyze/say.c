/* SPDX-License-Identifier: GPL-2.0-only */
/* Sentences on stderr. Knows nothing of captures. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "print.h"
#include "say.h"

static void vsay(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	fputs("callweave-analyze: ", stderr);
	cw_print_safe(stderr, text);
	fputc('\n', stderr);
	free(text);
}

void cw_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

int cw_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
	return err;
}

int cw_output_finish(FILE *out, const char *name, int err)
{
	errno = 0;
	if ((fflush(out) || ferror(out)) && !err)
		err = errno ? -errno : -EIO;
	if (out != stdout && fclose(out) && !err)
		err = -errno;
	if (err == -EPIPE)
		return 0;
	if (err == -ENOSPC || err == -EIO || err == -EFBIG || err == -EDQUOT || err == -EBADF ||
	    err == -ENOMEM)
		cw_say("cannot write %s: %s", name, strerror(-err));
	return err ? 1 : 0;
}
