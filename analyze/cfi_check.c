/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Goes through programs of unwind information without running them. Everything is found as libdw
 * finds it, down to which of two tables it takes: what is checked must be what runs.
 */
#include <dwarf.h>
#include <string.h>
#include "cfi_check.h"

#define MAX_REGISTER   2047 /* libdw's 16 bytes for each below; machines have up to some hundred */
#define MAX_REMEMBERED 64   /* compilers use one or two */
#define MAX_LEB128     10   /* bytes */

/* Bytes not yet read; p is NULL once there were too few. */
struct bytes {
	const uint8_t *p, *end;
};

static bool skip(struct bytes *b, uint64_t n)
{
	if (!b->p || (uint64_t)(b->end - b->p) < n) {
		b->p = NULL;
		return false;
	}
	b->p += n;
	return true;
}

static uint64_t leb128(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < MAX_LEB128; i++) {
		const uint8_t *at = b->p;

		if (!skip(b, 1))
			return 0;
		value |= (uint64_t)(*at & 0x7f) << (7 * i);
		if (!(*at & 0x80))
			return value;
	}
	b->p = NULL;
	return 0;
}

/* ---- programs ----------------------------------------------------------------------------------
 */

/* What follows an operation. */
enum operands {
	NONE,
	BYTES_1,
	BYTES_2,
	BYTES_4,
	BYTES_8,
	NUMBER,
	TWO_NUMBERS,
	BLOCK,
	REGISTER,
	REGISTER_NUMBER,
	REGISTER_BLOCK,
	UNKNOWN
};

static enum operands operands_of(uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_GNU_window_save:
		return NONE;
	case DW_CFA_advance_loc1:
		return BYTES_1;
	case DW_CFA_advance_loc2:
		return BYTES_2;
	case DW_CFA_advance_loc4:
		return BYTES_4;
	case DW_CFA_MIPS_advance_loc8:
		return BYTES_8;
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		return NUMBER;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		return TWO_NUMBERS;
	case DW_CFA_def_cfa_expression:
		return BLOCK;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_restore_extended:
		return REGISTER;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
		return REGISTER_NUMBER;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return REGISTER_BLOCK;
	default:
		break;
	}
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
	case DW_CFA_restore:
		return NONE;
	case DW_CFA_offset:
		return NUMBER;
	default:
		return UNKNOWN;
	}
}

static bool skip_operands(struct bytes *b, enum operands kind)
{
	if (kind >= REGISTER && kind <= REGISTER_BLOCK && leb128(b) > MAX_REGISTER)
		return false;
	switch (kind) {
	case BYTES_1:
	case BYTES_2:
	case BYTES_4:
	case BYTES_8:
		return skip(b, 1u << (kind - BYTES_1));
	case TWO_NUMBERS:
		leb128(b);
		/* fall through */
	case NUMBER:
	case REGISTER_NUMBER:
		leb128(b);
		return b->p;
	case BLOCK:
	case REGISTER_BLOCK:
		return skip(b, leb128(b));
	default:
		return b->p;
	}
}

/* libdw stops at an operation that it does not know. No compiler uses DW_CFA_set_loc. */
static bool may_run(struct bytes b)
{
	unsigned remembered = 0;

	while (b.p && b.p < b.end) {
		uint8_t op = *b.p++;
		enum operands kind = operands_of(op);

		if (kind == UNKNOWN)
			return op != DW_CFA_set_loc;
		if (!skip_operands(&b, kind))
			return false;
		if (op == DW_CFA_remember_state && ++remembered > MAX_REMEMBERED)
			return false;
		if (op == DW_CFA_restore_state && remembered)
			remembered--;
	}
	return b.p;
}

/* ---- entries -----------------------------------------------------------------------------------
 */

static unsigned encoded_size(const struct cw_cfi_section *s, uint8_t encoding)
{
	if (encoding == DW_EH_PE_omit || (encoding & 0x70) == DW_EH_PE_aligned)
		return 0;
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
		return s->ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata8:
		return 8;
	default:
		return 0;
	}
}

/* How the addresses of a CIE's entries are encoded, and whether a block of known size follows. */
static bool read_augmentation(const struct cw_cfi_section *s, const Dwarf_CIE *cie,
			      uint8_t *encoding, bool *sized)
{
	struct bytes b = {cie->augmentation_data, cie->initial_instructions_end};
	const char *c = cie->augmentation;

	*encoding = DW_EH_PE_absptr;
	*sized = *c == 'z';
	if (*c && !*sized)
		return false;
	for (; *c; c++) {
		const uint8_t *at = b.p;

		if (!strchr("LPR", *c))
			continue;
		if (!skip(&b, 1))
			return false;
		if (*c == 'R')
			*encoding = *at;
		if (*c == 'P' && *at != DW_EH_PE_omit &&
		    (!encoded_size(s, *at) || !skip(&b, encoded_size(s, *at))))
			return false;
	}
	return true;
}

/* The entry at an offset: what dwarf_next_cfi returns, which takes some offsets beyond the end. */
static int entry_at(const struct cw_cfi_section *s, uint64_t offset, Dwarf_Off *next,
		    Dwarf_CFI_Entry *entry)
{
	if (offset >= s->data->d_size)
		return 1;
	return dwarf_next_cfi(s->ident, s->data, s->eh, offset, next, entry);
}

static bool cie_may_run(const Dwarf_CIE *cie)
{
	return may_run((struct bytes){cie->initial_instructions, cie->initial_instructions_end});
}

static bool fde_may_run(const struct cw_cfi_section *s, const Dwarf_FDE *fde)
{
	struct bytes b = {fde->start, fde->end};
	Dwarf_CFI_Entry cie;
	Dwarf_Off next;
	uint8_t encoding;
	unsigned size;
	bool sized;

	if (entry_at(s, fde->CIE_pointer, &next, &cie) || !dwarf_cfi_cie_p(&cie) ||
	    !read_augmentation(s, &cie.cie, &encoding, &sized) || !cie_may_run(&cie.cie))
		return false;
	size = encoded_size(s, encoding);
	if (!size || !skip(&b, 2 * size))
		return false;
	if (sized && !skip(&b, leb128(&b)))
		return false;
	return may_run(b);
}

/* Entry after entry, as libdw reads them when there is no table. */
static bool all_may_run(const struct cw_cfi_section *s)
{
	Dwarf_CFI_Entry entry;

	for (Dwarf_Off off = 0, next = 0;; off = next) {
		int got = entry_at(s, off, &next, &entry);

		if (got > 0 || (got && next == off))
			return true;
		if (!got && !(dwarf_cfi_cie_p(&entry) ? cie_may_run(&entry.cie)
						      : fde_may_run(s, &entry.fde)))
			return false;
	}
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static uint64_t number(const struct cw_cfi_section *s, const uint8_t *at, unsigned width,
		       bool is_signed)
{
	bool big = s->ident[EI_DATA] == ELFDATA2MSB;
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)at[i] << (8 * (big ? width - 1 - i : i));
	return width == 4 && is_signed ? (uint64_t)(int32_t)value : value;
}

/*
 * Read .eh_frame_hdr, found at an address. Linkers write it in one way, with four bytes for each
 * number, or eight in huge files; libdw reads any. *eh_frame is the address it says.
 */
static bool read_header(struct cw_cfi_section *s, const uint8_t *at, size_t size, uint64_t address,
			uint64_t *eh_frame)
{
	unsigned pointer, count;

	if (size < 4 || at[0] != 1 || (at[1] & 0xf8) != (DW_EH_PE_pcrel | DW_EH_PE_signed))
		return false;
	pointer = encoded_size(s, at[1]);
	if (pointer < 4 || size - 4 < pointer)
		return false;
	*eh_frame = address + 4 + number(s, at + 4, pointer, true);
	if (at[2] == DW_EH_PE_omit)
		return true;
	count = encoded_size(s, at[2]);
	s->width = encoded_size(s, at[3]);
	if (at[2] & 0xf8 || count < 4 || size - 4 - pointer < count)
		return false;
	s->entries = number(s, at + 4 + pointer, count, false);
	if (!s->entries || at[3] == DW_EH_PE_omit) {
		s->entries = 0;
		return true;
	}
	if ((at[3] & 0xf8) != (DW_EH_PE_datarel | DW_EH_PE_signed) || s->width < 4)
		return false;
	s->table = at + 4 + pointer + count;
	s->table_base = address;
	return s->entries <= (size - 4 - pointer - count) / s->width / 2;
}

static bool find_section(struct cw_cfi_section *s, Elf *elf, bool *found)
{
	Elf_Scn *scn = NULL, *header = NULL;
	uint64_t address = 0, eh_frame;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while (names && (scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && !strcmp(name, ".eh_frame"))
			break;
		if (name && !strcmp(name, ".eh_frame_hdr")) {
			header = scn;
			address = sh.sh_addr;
		}
	}
	*found = scn;
	if (!scn)
		return true;
	s->data = sh.sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);
	s->vaddr = sh.sh_addr;
	if (!s->data || !s->data->d_buf)
		return false;
	if (header) {
		Elf_Data *h = elf_rawdata(header, NULL);

		if (h && h->d_buf && !read_header(s, h->d_buf, h->d_size, address, &eh_frame))
			return false;
		if (h && h->d_buf && eh_frame != s->vaddr)
			s->entries = 0;
	}
	return true;
}

/* Without section headers. */
static bool find_segment(struct cw_cfi_section *s, Elf *elf)
{
	size_t count, size, file_size;
	Elf_Data *h;
	GElf_Phdr ph;
	uint64_t at;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph))
			return false;
		if (ph.p_type != PT_GNU_EH_FRAME)
			continue;
		h = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		if (!h || !h->d_buf || !read_header(s, h->d_buf, h->d_size, ph.p_vaddr, &s->vaddr))
			return false;
		at = s->vaddr - ph.p_vaddr + ph.p_offset;
		size = elf_rawfile(elf, &file_size) && at < file_size ? file_size - at : 0;
		s->data = size ? elf_getdata_rawchunk(elf, (int64_t)at, size, ELF_T_BYTE) : NULL;
		return s->data && s->data->d_buf;
	}
	return false;
}

bool cw_cfi_check_eh(struct cw_cfi_section *s, Elf *elf)
{
	bool found;

	*s = (struct cw_cfi_section){.ident = (const unsigned char *)elf_getident(elf, NULL),
				     .eh = true};
	if (!s->ident || elf_kind(elf) != ELF_K_ELF || !find_section(s, elf, &found))
		return false;
	if (!found && !find_segment(s, elf))
		return false;
	return s->entries || all_may_run(s);
}

bool cw_cfi_check_debug(Elf *elf)
{
	struct cw_cfi_section s = {.ident = (const unsigned char *)elf_getident(elf, NULL)};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!s.ident || elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (!name || !strstr(name, "debug_frame"))
			continue;
		s.data = elf_getdata(scn, NULL);
		if (s.data && s.data->d_buf && !all_may_run(&s))
			return false;
	}
	return true;
}

bool cw_cfi_check_at(const struct cw_cfi_section *s, uint64_t pc)
{
	size_t low = 0, high = s->entries, step = 2 * (size_t)s->width;
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	uint64_t fde;

	if (!s->entries)
		return true;
	/* libdw's own search: in a table that is out of order another one ends elsewhere. */
	while (low < high) {
		size_t middle = (low + high) / 2;
		const uint8_t *at = s->table + middle * step;

		if (pc < s->table_base + number(s, at, s->width, true)) {
			high = middle;
			continue;
		}
		low = middle + 1;
		if (low < s->entries && pc >= s->table_base + number(s, at + step, s->width, true))
			continue;
		fde = s->table_base + number(s, at + s->width, s->width, true) - s->vaddr;
		return !entry_at(s, fde, &next, &entry) && !dwarf_cfi_cie_p(&entry) &&
		       fde_may_run(s, &entry.fde);
	}
	return true;
}
