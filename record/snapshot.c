/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process as /proc shows it. Owns the parsing of /proc's files; it must not know records or
 * tables. Processes end while they are read: what is missing stays empty.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clock.h"
#include "snapshot.h"

#define INITIAL_PID_NS 0xeffffffcu /* the kernel's fixed inode number of it */

static ssize_t read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	while (n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	buf[n] = '\0';
	return got < 0 && !n ? -1 : (ssize_t)n;
}

static uint64_t tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return 1000000000ull / (uint64_t)(hz > 0 ? hz : 100);
}

/*
 * Field 4 (parent) and 22 (start, as it is shown) of a stat file; the name in parentheses may hold
 * anything.
 */
static bool read_fields(const char *path, uint32_t *ppid, uint64_t *start_ns)
{
	unsigned long long ticks = 0;
	unsigned int parent = 0;
	char buf[1024], *p;

	if (read_text(path, buf, sizeof(buf)) <= 0)
		return false;
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1,
			 " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			 "%*d %*d %*d %llu",
			 &parent, &ticks) != 2)
		return false;
	if (ppid)
		*ppid = parent;
	*start_ns = ticks * tick_ns();
	return true;
}

/*
 * Kernels before 5.11 show when a process started in their own time everywhere. This one has begun
 * just now when it is asked first.
 */
static bool start_is_shifted(int64_t shift)
{
	static int known = -1;
	int64_t age;
	uint64_t start;

	if (known < 0) {
		known = 1;
		if (read_fields("/proc/self/stat", NULL, &start)) {
			age = (int64_t)cw_clock_ns(CLOCK_BOOTTIME) - (int64_t)start;
			known = llabs(age + shift) < llabs(age);
		}
	}
	return known;
}

/*
 * The time that /proc shows is that of the reader's time namespace. Where this is shifted by no
 * whole number of ticks, the tick of the kernel's own time is not known.
 */
static uint64_t unshifted(uint64_t ns)
{
	int64_t shift = cw_clock_shift_ns(CLOCK_BOOTTIME);

	if (!shift || !start_is_shifted(shift))
		return ns;
	return shift % (int64_t)tick_ns() ? 0 : ns - (uint64_t)shift;
}

static bool read_stat(const char *path, uint32_t *ppid, uint64_t *start_boottime)
{
	if (!read_fields(path, ppid, start_boottime))
		return false;
	*start_boottime = unshifted(*start_boottime);
	return true;
}

bool cw_snapshot_same_start(uint64_t a, uint64_t b)
{
	uint64_t tick = tick_ns();

	return !a || !b || a == b || ((a % tick == 0 || b % tick == 0) && a / tick == b / tick);
}

bool cw_snapshot_is(uint32_t pid, uint64_t start_boottime)
{
	uint64_t start;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return read_stat(path, NULL, &start) && cw_snapshot_same_start(start, start_boottime);
}

static const char *status_line(const char *status, const char *key)
{
	const char *p = strstr(status, key);

	return p ? p + strlen(key) : "";
}

/* The last number of a line is the one in the innermost namespace. */
static uint32_t last_number(const char *line)
{
	uint32_t n = 0;
	char *end;

	while (*line && *line != '\n') {
		unsigned long v = strtoul(line, &end, 10);

		if (end == line)
			break;
		n = (uint32_t)v;
		line = end;
		line += strspn(line, " \t");
	}
	return n;
}

static uint64_t namespace_inode(uint32_t pid, const char *name)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/%s", pid, name);
	return stat(path, &st) ? 0 : st.st_ino;
}

bool cw_snapshot_initial_pid_ns(void)
{
	return namespace_inode((uint32_t)getpid(), "pid") == INITIAL_PID_NS;
}

void cw_snapshot_clean_name(char *name, bool file)
{
	static const char deleted[] = " (deleted)", anon[] = "[anon]";
	size_t len = strlen(name), n = sizeof(deleted) - 1;

	if (!len || !strcmp(name, "//anon") || !strncmp(name, "[anon:", 6)) {
		memcpy(name, anon, sizeof(anon));
		return;
	}
	if (file && len > n && !strcmp(name + len - n, deleted))
		name[len - n] = '\0';
}

int cw_snapshot_process(uint32_t pid, struct cw_proc_info *info)
{
	char path[64], status[4096];
	ssize_t len;

	memset(info, 0, sizeof(*info));
	info->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!read_stat(path, &info->ppid, &info->start_boottime))
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	read_text(path, status, sizeof(status));
	info->ns_pid = last_number(status_line(status, "\nNSpid:\t"));
	if (!info->ns_pid)
		info->ns_pid = pid;
	info->uid = (uint32_t)strtoul(status_line(status, "\nUid:\t"), NULL, 10);
	info->pid_ns = namespace_inode(pid, "pid");
	info->mnt_ns = namespace_inode(pid, "mnt");
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, info->exe, sizeof(info->exe) - 1);
	info->exe[len > 0 ? len : 0] = '\0';
	if (len > 0)
		cw_snapshot_clean_name(info->exe, true);
	/* Or else some of this is of another process, which has its number now. */
	return cw_snapshot_is(pid, info->start_boottime) ? 0 : -ESRCH;
}

size_t cw_snapshot_args(uint32_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t len, i;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	len = read_text(path, buf, size);
	if (len <= 0)
		return 0;
	while (len > 0 && !buf[len - 1])
		len--;
	for (i = 0; i < len; i++) {
		if (!buf[i])
			buf[i] = ' ';
	}
	return (size_t)len;
}

static bool read_thread(uint32_t pid, uint32_t tid, struct cw_thread_info *t)
{
	char path[64], status[4096], comm[64];

	memset(t, 0, sizeof(*t));
	t->tid = tid;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	if (!read_stat(path, NULL, &t->start_boottime))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	read_text(path, status, sizeof(status));
	t->ns_pid = last_number(status_line(status, "\nNStgid:\t"));
	t->ns_tid = last_number(status_line(status, "\nNSpid:\t"));
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	read_text(path, comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(t->comm, sizeof(t->comm), "%.15s", comm);
	return true;
}

int cw_snapshot_threads(uint32_t pid, int (*fn)(void *arg, const struct cw_thread_info *t),
			void *arg)
{
	struct cw_thread_info t;
	struct dirent *d;
	char path[64];
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (!rc && (d = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(d->d_name, NULL, 10);

		if (tid && read_thread(pid, tid, &t))
			rc = fn(arg, &t);
	}
	closedir(dir);
	return rc;
}

/* /proc writes newlines and backslashes of names as octal escapes. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
			continue;
		}
		*to++ = *s;
	}
	*to = '\0';
}

static uint32_t prot_bits(const char perms[5])
{
	return (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
	       (perms[2] == 'x' ? PROT_EXEC : 0u);
}

/* One line of maps. */
static bool parse_map(char *line, struct cw_mapped_file *f, uint64_t *pgoff, uint32_t *prot)
{
	unsigned long long start, end, off, ino;
	unsigned int dev_major, dev_minor;
	char perms[5] = "";
	int name = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &off, &dev_major,
		   &dev_minor, &ino, &name) < 7)
		return false;
	line[strcspn(line, "\n")] = '\0';
	unescape(line + name);
	if (!line[name]) {
		f->path = "[anon]";
	} else {
		cw_snapshot_clean_name(line + name, ino != 0);
		f->path = line + name;
	}
	f->dev_major = dev_major;
	f->dev_minor = dev_minor;
	f->ino = ino;
	f->start = start;
	f->end = end;
	*pgoff = ino ? off : 0;
	*prot = prot_bits(perms);
	return true;
}

static int each_map(uint32_t pid, uint64_t start_boottime, uint32_t with,
		    int (*fn)(void *arg, const struct cw_mapped_file *f, uint64_t pgoff,
			      uint32_t prot),
		    void *arg)
{
	size_t size = 0, lines = 0;
	char path[64], *line = NULL;
	int rc = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -ESRCH;
	/* Open, it stays that of one process, whoever has the number later. */
	if (start_boottime && !cw_snapshot_is(pid, start_boottime)) {
		fclose(maps);
		return -ESRCH;
	}
	while (!rc && getline(&line, &size, maps) > 0) {
		struct cw_mapped_file f = {.pid = pid};
		uint64_t pgoff;
		uint32_t prot;

		lines++;
		if (parse_map(line, &f, &pgoff, &prot) && (prot & with) == with)
			rc = fn(arg, &f, pgoff, prot);
	}
	free(line);
	fclose(maps);
	/* A process that ended has an empty file. */
	return rc ? rc : lines ? 0 : -ESRCH;
}

int cw_snapshot_maps(uint32_t pid, uint64_t start_boottime,
		     int (*fn)(void *arg, const struct cw_mapped_file *f, uint64_t pgoff,
			       uint32_t prot),
		     void *arg)
{
	return each_map(pid, start_boottime, PROT_EXEC, fn, arg);
}

int cw_snapshot_all_maps(uint32_t pid, uint64_t start_boottime,
			 int (*fn)(void *arg, const struct cw_mapped_file *f, uint64_t pgoff,
				   uint32_t prot),
			 void *arg)
{
	return each_map(pid, start_boottime, 0, fn, arg);
}
