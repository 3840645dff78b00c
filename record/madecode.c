/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the kernel's names for memory. Must not know modules or processes. */
#include <stddef.h>
#include <string.h>
#include "madecode.h"

bool cw_is_memory(const char *path)
{
	static const char *const kernels[] = {"[vdso]", "[vsyscall]", "[uprobes]"};
	bool own = path[0] == '[';

	for (size_t i = 0; own && i < sizeof(kernels) / sizeof(*kernels); i++)
		own = strcmp(path, kernels[i]) != 0;
	return own;
}

bool cw_may_be_made(const char *path)
{
	/* Libraries are built in /dev/shm, too: that is a folder like others. */
	static const char *const begins[] = {"/memfd:", "/anon_hugepage", "/dev/zero", "/SYSV"};
	bool made = cw_is_memory(path) || strstr(path, "/hugepages/");

	for (size_t i = 0; !made && i < sizeof(begins) / sizeof(*begins); i++)
		made = !strncmp(path, begins[i], strlen(begins[i]));
	return made;
}
