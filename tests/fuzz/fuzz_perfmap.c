/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/all.o */
/* Any text as /tmp/perf-PID.map, and addresses looked up in it. */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "symbolize_perfmap.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {
		0,          1,         0x10,       0x1000,         0x7f0000,  0x7f0010,
		UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
	struct cw_symtab *table = cw_symtab_new();
	struct obstack mem;
	uint64_t start;

	obstack_init(&mem);
	if (cw_perfmap_add((const char *)data, size, &mem, table) < 0)
		abort();
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		const char *name = cw_symtab_find(table, addresses[i], &start);

		if (name && (!*name || strlen(name) > size || start > addresses[i]))
			abort();
	}
	cw_symtab_free(table);
	obstack_free(&mem, NULL);
	return 0;
}
