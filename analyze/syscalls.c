/* SPDX-License-Identifier: GPL-2.0-only */
/* Knows system calls by name, for the machine that a capture was made on. */
#include "syscall_table.h"
#include "syscalls.h"

#define X_ENTRY(name, x86_64, arm64) {#name, x86_64, arm64},
static const struct {
	const char *name;
	int x86_64, arm64;
} syscalls[] = {CW_SYSCALLS(X_ENTRY)};

bool cw_arch_is_arm64(const char *arch)
{
	return arch && (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64"));
}

int cw_syscall_number(const char *arch, const char *name)
{
	for (size_t i = 0; i < sizeof(syscalls) / sizeof(*syscalls); i++)
		if (!strcmp(syscalls[i].name, name))
			return cw_arch_is_arm64(arch) ? syscalls[i].arm64 : syscalls[i].x86_64;
	return -1;
}

void cw_syscalls_write(struct cw_rows *rows, const char *arch)
{
	bool arm64 = cw_arch_is_arm64(arch);

	for (size_t i = 0; i < sizeof(syscalls) / sizeof(*syscalls); i++) {
		int nr = arm64 ? syscalls[i].arm64 : syscalls[i].x86_64;
		uint64_t *w;

		if (nr < 0)
			continue;
		w = cw_rows_put(rows, CW_ROW_SYSCALL, 0);
		w[0] = (uint64_t)nr;
		w[1] = cw_word(syscalls[i].name);
	}
}
