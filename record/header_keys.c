/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects what the header says about the host, the clocks and the command line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "clock.h"
#include "header_keys.h"

#define MAX_KEYS    24
#define MAX_CMDLINE 8192

struct cw_header_keys {
	struct cw_meta_kv kv[MAX_KEYS + 1];
	size_t n;
};

static void add(struct cw_header_keys *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct cw_header_keys *m, const char *key, const char *fmt, ...)
{
	char *value = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (m->n < MAX_KEYS && vasprintf(&value, fmt, ap) >= 0)
		m->kv[m->n++] = (struct cw_meta_kv){key, value};
	va_end(ap);
}

static void add_clocks(struct cw_header_keys *m)
{
	time_t now = time(NULL);
	struct tm tm;
	long long boot, mono, wall;

	localtime_r(&now, &tm);
	mono = (long long)cw_clock_ns(CLOCK_MONOTONIC);
	wall = (long long)cw_clock_ns(CLOCK_REALTIME);
	boot = (long long)cw_clock_ns(CLOCK_BOOTTIME);
	add(m, "utc_offset_s", "%ld", tm.tm_gmtoff);
	add(m, "start_wall_ns", "%lld", wall);
	add(m, "start_mono_ns", "%lld", mono);
	add(m, "boottime_offset_ns", "%lld", boot - (long long)cw_clock_ns(CLOCK_MONOTONIC));
}

static void add_boot_id(struct cw_header_keys *m)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char id[64] = "";

	if (f && fgets(id, sizeof(id), f))
		id[strcspn(id, "\n")] = 0;
	if (f)
		fclose(f);
	add(m, "boot_id", "%s", id);
}

static void add_cmdline(struct cw_header_keys *m, int argc, char **argv)
{
	char text[MAX_CMDLINE] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < argc && len < sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "", argv[i]);
	add(m, "cmdline", "%s", text);
}

struct cw_header_keys *cw_header_keys_new(int argc, char **argv, const char *capture_id,
					  uint32_t segment, bool flight)
{
	struct cw_header_keys *m = calloc(1, sizeof(*m));
	struct utsname u;
	struct stat ns;

	if (!m)
		return NULL;
	add(m, "capture_id", "%s", capture_id);
	if (segment)
		add(m, "segment", "%u", segment);
	if (flight)
		add(m, "flight", "1");
	uname(&u);
	add(m, "host", "%s", u.nodename);
	add(m, "kernel", "%s %s", u.release, u.version);
	add(m, "arch", "%s", u.machine);
	add(m, "page_size", "%ld", sysconf(_SC_PAGESIZE));
	add(m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_CONF));
	add_boot_id(m);
	add_clocks(m);
	add_cmdline(m, argc, argv);
	if (!stat("/proc/self/ns/pid", &ns))
		add(m, "recorder_pid_ns", "%lu", (unsigned long)ns.st_ino);
	add(m, "recorder_pid", "%d", getpid());
	return m;
}

const struct cw_meta_kv *cw_header_keys_kv(const struct cw_header_keys *m)
{
	return m->kv;
}

void cw_header_keys_free(struct cw_header_keys *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->n; i++)
		free((char *)m->kv[i].value);
	free(m);
}
