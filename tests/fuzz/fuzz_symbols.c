/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/all.o */
/*
 * Any bytes as the ELF file of a module: names, lines, inlined functions and unwind rules at places
 * all over it, and steps by those rules. Offsets of the file are what the frames of a capture hold.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "symbolize_batch.h"
#include "unwind.h"

#define PLACES 48

static uint64_t place(unsigned i, size_t size)
{
	return i < 4 ? (uint64_t)i - 2 : i * (uint64_t)size / PLACES + i % 3;
}

static void name_all(const uint8_t *data, size_t size)
{
	static const volatile sig_atomic_t cancel;
	static const struct cw_source_places nowhere;
	const struct cw_module_identity identity = {.path = "/nonexistent"};
	struct cw_batch batch = {0};
	struct cw_module_work *w = cw_batch_add(&batch, 1, &identity);
	const char *why = NULL;
	uint64_t sum = 0;

	w->files.embedded = cw_elf_open_memory(data, size, &why);
	w->files.embedded_why = why;
	for (unsigned i = 0; i < PLACES; i++) {
		struct cw_code *c = cw_batch_add_code(w);

		c->file_offset = c->address = place(i, size);
		c->is_return = i & 1;
	}
	if (cw_module_symbolize(w, &nowhere, &cancel))
		abort();
	for (size_t i = 0; i < w->code_count; i++)
		for (unsigned k = 0; k < w->codes[i].count; k++) {
			const struct cw_symbol *s = &w->codes[i].symbols[k];

			sum += s->function ? strlen(s->function) : 0;
			sum += s->file ? strlen(s->file) : 0;
		}
	cw_batch_free(&batch);
	(void)sum;
}

static void step(const struct cw_rules *row, bool arm64)
{
	static const uint64_t words[64] = {0x400000, 0x7fff00000010, 0, 1, ~0ull};
	const struct cw_saved mem = {.data = (const uint8_t *)words,
				     .address = 0x7fff00000000,
				     .size = sizeof(words),
				     .wanted = 1024};
	struct cw_regs r = {.pc = 0x400000, .exact = true, .known = ~0ull};

	for (int i = 0; i < CW_NREGS; i++)
		r.r[i] = 0x7fff00000000 + 8u * (unsigned)i;
	for (int i = 0; i < 8; i++)
		if (cw_unwind_step(cw_machine_of(arm64), row, &mem, &r) != CW_UNWIND_CALLER)
			break;
}

static void unwind_all(const uint8_t *data, size_t size)
{
	const char *why;
	struct cw_elf *elf = cw_elf_open_memory(data, size, &why);
	struct cw_cfi *cfi;

	if (!elf)
		return;
	cfi = cw_cfi_new(elf);
	for (unsigned i = 0; i < PLACES; i++) {
		const struct cw_rules *row = cw_cfi_rules(cfi, place(i, size));

		if (row && row->found) {
			step(row, false);
			step(row, true);
		}
	}
	cw_cfi_free(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	name_all(data, size);
	unwind_all(data, size);
	return 0;
}
