/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps standard descriptors from becoming something else. */
#include <fcntl.h>
#include "stdfds.h"

void cw_keep_std_fds(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free descriptor is given: this one. Without /dev any directory does.
		 */
		if (open("/dev/null", O_RDONLY) < 0)
			open("/", O_RDONLY | O_DIRECTORY);
	}
}
