/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/elffile.o record/resolve.o record/debugfile.o record/nearest.o */
/* LINK: record/cxxname.o record/embed.o */
/* LINK: record/placement.o record/x86code.o */
/*
 * Any bytes as an ELF file that a target has mapped: what the recorder, as root, asks of it. It
 * finds functions, places probes and embeds symbol tables.
 */
#include <fcntl.h>
#include "elffile.h"
#include "embed.h"
#include "fuzz.h"
#include "placement.h"
#include "resolve.h"

static void check_place(int fd, const struct cw_func *f)
{
	struct cw_placement at;

	for (int i = 0; i < 4; i++) {
		const struct cw_placement_wish wish = {.with_return = i & 1,
						       .keep = i & 2 ? 0xff : 0};

		cw_place_probe(fd, f, &wish, &at);
		if (at.placed < f->offset || at.placed - f->offset > 64 || at.sp_adjust < 0 ||
		    at.sp_adjust > 256)
			abort();
	}
}

static void look(void *arg, const char *name, const struct cw_func *f)
{
	check_place(*(int *)arg, f);
	if (!*name)
		abort();
}

static void resolve(int fd)
{
	static const char *const names[] = {"main", "two", "two@@V2", "ns::f(int)", "ns::f", "m"};
	char err[CW_ERR];
	struct cw_func f;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		err[0] = '\0';
		if (!cw_resolve_symbol(fd, "FILE", 0, names[i], &f, err))
			check_place(fd, &f);
		else if (!err[0] || strlen(err) >= CW_ERR)
			abort();
		cw_resolve_each(fd, "FILE", 0, names[i], look, &fd, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cw_meta_kv keys[] = {{"arch", "x86_64"}, {NULL, NULL}};
	static struct cw_writer *w;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	uint64_t written;
	uint8_t id[24];
	char err[CW_ERR];
	struct cw_func f;

	if (!w && cw_writer_new(&w, open("/dev/null", O_WRONLY | O_CLOEXEC), keys))
		abort();
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (cw_elf_build_id(fd, id) > (int)sizeof(id))
		abort();
	resolve(fd);
	for (unsigned i = 0; i < 8; i++)
		if (!cw_resolve_offset(fd, "FILE", 0, i * (uint64_t)size / 8, &f, err))
			check_place(fd, &f);
	if (cw_embed_elf(w, 1, fd, UINT64_MAX, &written))
		abort();
	close(fd);
	return 0;
}
