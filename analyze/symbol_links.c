/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the sections that name or hold what an ELF file lacks. Their contents are not trusted.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol_links.h"

#define MAX_MINI_DEBUG (32u << 20) /* compressed bytes */
#define MAX_DECOMPRESS (128u << 20)
#define DECOMPRESS_S   20

/* Contents of a section of this name; NULL when there is none or it is empty. */
static Elf_Data *contents(struct cw_elf *elf, const char *name)
{
	GElf_Shdr sh;
	Elf_Scn *scn = cw_elf_find_section(elf, name, &sh);
	Elf_Data *data = scn && sh.sh_type != SHT_NOBITS ? elf_rawdata(scn, NULL) : NULL;

	return data && data->d_buf && data->d_size ? data : NULL;
}

const char *cw_elf_debuglink(struct cw_elf *elf)
{
	Elf_Data *data = contents(elf, ".gnu_debuglink");
	const char *name = data ? data->d_buf : NULL;

	if (!name || !memchr(name, 0, data->d_size) || !*name || strchr(name, '/'))
		return NULL;
	return name;
}

const char *cw_elf_altlink(struct cw_elf *elf, char id[CW_BUILD_ID_TEXT])
{
	Elf_Data *data = contents(elf, ".gnu_debugaltlink");
	const char *name = data ? data->d_buf : NULL;
	size_t len, size, i;

	len = name ? strnlen(name, data->d_size) : 0;
	if (!len || len == data->d_size)
		return NULL;
	size = data->d_size - len - 1;
	if (!size || 2 * size >= CW_BUILD_ID_TEXT)
		return NULL;
	for (i = 0; i < size; i++)
		sprintf(id + 2 * i, "%02x", (unsigned char)name[len + 1 + i]);
	return name;
}

struct cw_elf *cw_elf_open_nothing(void)
{
	static const char names[16] = "\0.debug_line\0";
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[3];
		char names[16];
	} image = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB
									    : ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_REL,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 1},
		/* One byte of a line table: without any section there is no debug information. */
		.sections = {{0},
			     {.sh_type = SHT_STRTAB,
			      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
			      .sh_size = sizeof(names)},
			     {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
			      .sh_size = 1}},
	};
	const char *why;

	memcpy(image.names, names, sizeof(names));
	return cw_elf_open_memory(&image, sizeof(image), &why);
}

void cw_elf_set_alternate(struct cw_elf *elf, struct cw_elf *alt)
{
	Dwarf *main = cw_elf_dwarf(elf), *other = alt ? cw_elf_dwarf(alt) : NULL;

	if (main && other)
		dwarf_setalt(main, other);
}

/* Bytes of data that the process has now; limits count from there. */
static rlim_t data_now(void)
{
	unsigned long data = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &data) != 1)
		data = 0;
	if (f)
		fclose(f);
	return (rlim_t)data * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* In a child: decompress what in leads to into out. */
static void decompress(int in, int out)
{
	struct rlimit limit = {.rlim_cur = data_now() + MAX_DECOMPRESS};
	size_t size = 0, done = 0;
	const char *bytes;
	ssize_t n;
	Elf *elf;

	limit.rlim_max = limit.rlim_cur;
	signal(SIGALRM, SIG_DFL);
	alarm(DECOMPRESS_S);
	setrlimit(RLIMIT_DATA, &limit);
	elf = dwelf_elf_begin(in);
	bytes = elf ? elf_rawfile(elf, &size) : NULL;
	while (bytes && done < size && (n = write(out, bytes + done, size - done)) > 0)
		done += (size_t)n;
	_exit(!(bytes && done == size));
}

/*
 * Decompress a section that is a compressed file. libdw does that, without a bound for what comes
 * out: a child with little memory and time does not let a crafted section cost more.
 */
static bool decompress_apart(const Elf_Data *data, int out)
{
	int in = memfd_create("compressed", MFD_CLOEXEC), status = -1;
	pid_t child = -1;

	if (in < 0)
		return false;
	if (write(in, data->d_buf, data->d_size) == (ssize_t)data->d_size &&
	    !lseek(in, 0, SEEK_SET)) {
		child = fork();
		if (!child)
			decompress(in, out);
	}
	close(in);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && !status;
}

struct cw_elf *cw_elf_mini_debug(struct cw_elf *elf, const char **why)
{
	Elf_Data *data = contents(elf, ".gnu_debugdata");
	struct cw_elf *mini = NULL;
	struct stat st;
	void *image;
	int fd;

	*why = NULL;
	if (!data)
		return NULL;
	*why = "its .gnu_debugdata cannot be decompressed";
	fd = data->d_size > MAX_MINI_DEBUG ? -1 : memfd_create("mini debug", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (decompress_apart(data, fd) && !fstat(fd, &st) && st.st_size) {
		image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (image != MAP_FAILED) {
			mini = cw_elf_open_memory(image, (size_t)st.st_size, why);
			munmap(image, (size_t)st.st_size);
		}
	}
	close(fd);
	return mini;
}
