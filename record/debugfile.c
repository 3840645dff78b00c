/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate debug files. Owns where they are looked for and what makes one the right one; it must
 * not know what its symbols are wanted for.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>
#include "debugfile.h"
#include "elffile.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define PATH_SIZE  4096
#define MAX_SUMMED \
	(512 << 20) /* bytes, half a second, in which events may wait; most have build-ids */

struct wanted {
	const char *path;
	int root; /* the folder that paths begin at; -1 this process's own */
	uint8_t id[24];
	int id_size;
	char name[256]; /* of .gnu_debuglink, or empty */
	uint32_t crc;
};

/* The section holds a name, padding up to a multiple of four, and the file's checksum. */
static void read_link(struct wanted *w, Elf *elf)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = cw_elf_section(elf, SHT_PROGBITS, ".gnu_debuglink", &shdr);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	size_t len;

	if (!data || !data->d_buf || data->d_size < 6)
		return;
	len = strnlen(data->d_buf, data->d_size);
	if (!len || len >= sizeof(w->name) || (len / 4 + 2) * 4 > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return;
	memcpy(w->name, data->d_buf, len);
	memcpy(&w->crc, (char *)data->d_buf + (len / 4 + 1) * 4, 4);
}

/* The name is the target's choice: it may lead to a device, or to a file that has no end. */
static bool has_checksum(int fd, uint32_t wanted)
{
	struct stat st;
	uLong crc = crc32(0, NULL, 0);
	uint8_t *buf = malloc(1 << 16);
	off_t at = 0;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_SUMMED) {
		free(buf);
		return false;
	}
	while (buf && at < st.st_size && (n = pread(fd, buf, 1 << 16, at)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	free(buf);
	return at && at == st.st_size && crc == wanted;
}

static bool is_right(const struct wanted *w, int fd)
{
	uint8_t id[24];

	if (w->id_size > 0)
		return cw_elf_build_id(fd, id) == w->id_size &&
		       !memcmp(id, w->id, (size_t)w->id_size);
	return has_checksum(fd, w->crc);
}

/* Links in the folders of a container lead to what is in there. */
static int open_path(const struct wanted *w, const char *path)
{
	struct open_how how = {.flags = CW_OPEN_ELF, .resolve = RESOLVE_IN_ROOT};

	return w->root < 0 ? open(path, CW_OPEN_ELF)
			   : (int)syscall(SYS_openat2, w->root, path, &how, sizeof(how));
}

static bool try_path(const struct wanted *w, const char *path, struct cw_debug_file *out)
{
	GElf_Shdr shdr;

	out->fd = open_path(w, path);
	if (out->fd < 0)
		return false;
	if (is_right(w, out->fd) && !cw_elf_open(&out->elf, out->fd, path, NULL)) {
		if (cw_elf_section(out->elf, SHT_SYMTAB, NULL, &shdr))
			return true;
		elf_end(out->elf);
	}
	close(out->fd);
	*out = (struct cw_debug_file){.fd = -1};
	return false;
}

static bool try_build_id(const struct wanted *w, struct cw_debug_file *out)
{
	char path[PATH_SIZE];
	size_t at;
	int i;

	if (w->id_size < 2)
		return false;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", w->id[0]);
	for (i = 1; i < w->id_size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", w->id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return try_path(w, path, out);
}

static bool try_link(const struct wanted *w, struct cw_debug_file *out)
{
	static const char *const places[] = {"%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s"};
	char real[PATH_SIZE], path[2 * PATH_SIZE];
	const char *slash;
	size_t i;

	if (!*w->name || strlen(w->path) >= PATH_SIZE)
		return false;
	/* A path that was mapped has no links any more. */
	if (w->root >= 0)
		memcpy(real, w->path, strlen(w->path) + 1);
	else if (!realpath(w->path, real))
		return false;
	slash = strrchr(real, '/');
	for (i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		/* A file that is its own debug file has no more to say. */
		snprintf(path, sizeof(path), places[i], (int)(slash - real), real, w->name);
		if (strcmp(path, real) != 0 && try_path(w, path, out))
			return true;
	}
	return false;
}

void cw_debug_file_open(struct cw_debug_file *out, Elf *elf, int fd, const char *path, int root)
{
	struct wanted w = {.path = path, .root = root};
	GElf_Shdr shdr;

	*out = (struct cw_debug_file){.fd = -1};
	if (cw_elf_section(elf, SHT_SYMTAB, NULL, &shdr))
		return;
	w.id_size = cw_elf_build_id(fd, w.id);
	read_link(&w, elf);
	if (!try_build_id(&w, out))
		try_link(&w, out);
}

void cw_debug_file_open_as_process(struct cw_debug_file *out, Elf *elf, int fd, const char *path,
				   uint32_t pid)
{
	char link[64];
	int root = -1;

	*out = (struct cw_debug_file){.fd = -1};
	if (pid) {
		snprintf(link, sizeof(link), "/proc/%u/root", pid);
		root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (root >= 0) {
		cw_debug_file_open(out, elf, fd, path, root);
		close(root);
	}
	if (!out->elf)
		cw_debug_file_open(out, elf, fd, path, -1);
}

void cw_debug_file_close(struct cw_debug_file *d)
{
	if (!d->elf)
		return;
	elf_end(d->elf);
	close(d->fd);
	*d = (struct cw_debug_file){.fd = -1};
}
