/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads that make a capture readable elsewhere. */
#include "embed.h"

int cw_embed_elf(struct cw_writer *w, uint32_t module_id, int fd)
{
	(void)w;
	(void)module_id;
	(void)fd;
	return 0;
}

int cw_embed_vdso(struct cw_writer *w, uint32_t module_id)
{
	(void)w;
	(void)module_id;
	return 0;
}

uint32_t cw_vdso_build_id(uint8_t id[24])
{
	(void)id;
	return 0;
}
