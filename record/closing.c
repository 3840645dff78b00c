/* SPDX-License-Identifier: GPL-2.0-only */
/* Words for the end of a recording, on standard error. */
#include <inttypes.h>
#include <stdio.h>
#include "closing.h"
#include "say.h"

static const struct {
	uint32_t kind;
	const char *name;
} events[] = {
	{CW_PROBE_ENTRY, "entries"}, {CW_PROBE_RETURN, "returns"}, {CW_SCHED_SWITCH, "switches"},
	{CW_SCHED_BLOCK, "blocks"},  {CW_SCHED_WAKING, "wakings"}, {CW_SCHED_WAKEUP, "wakeups"},
	{CW_FORK, "forks"},          {CW_EXEC, "execs"},           {CW_EXIT, "exits"}};
#define NEVENTS (sizeof(events) / sizeof(*events))

static const struct {
	uint32_t kind;
	const char *name;
} refs[] = {{CW_STACK, "stacks"},
	    {CW_STACK_REGS, "saved stacks"},
	    {CW_THREAD, "threads"},
	    {CW_FILE, "files"}};

static void print_lost(uint64_t n, const char *name, bool *any)
{
	if (n)
		fprintf(stderr, "%s%" PRIu64 " %s", *any ? ", " : "; LOST: ", n, name);
	*any |= n > 0;
}

static uint64_t lost(const struct cw_losses *l, uint32_t kind)
{
	return cw_losses_lost(l, kind) + cw_losses_missed(l, kind);
}

void cw_closing_line(const char *path, const struct cw_losses *l, const struct cw_modules *m,
		     const struct cw_writer_stats *st)
{
	uint64_t total = 0, n, data = st->bytes - st->payload_bytes;
	bool any = false;
	size_t i;

	for (i = 0; i < NEVENTS; i++)
		total += cw_losses_emitted(l, events[i].kind);
	cw_put(stderr, "callweave-record: %s: %" PRIu64 " events", path, total);
	for (i = 0; i < NEVENTS; i++) {
		n = cw_losses_emitted(l, events[i].kind);
		if (n)
			fprintf(stderr, "%s%" PRIu64 " %s", any ? ", " : " (", n, events[i].name);
		any |= n > 0;
	}
	fprintf(stderr, "%s", any ? ")" : "");
	any = false;
	for (i = 0; i < NEVENTS; i++)
		print_lost(lost(l, events[i].kind), events[i].name, &any);
	for (i = 0; i < sizeof(refs) / sizeof(*refs); i++)
		print_lost(lost(l, refs[i].kind), refs[i].name, &any);
	print_lost(cw_modules_lost(m), "reports of mappings", &any);
	if (!any)
		fprintf(stderr, ", none lost");
	if (cw_losses_ndetached(l))
		fprintf(stderr, "; %zu functions detached", cw_losses_ndetached(l));
	fprintf(stderr, "; %.1f KiB", st->bytes / 1024.0);
	if (st->payload_bytes)
		fprintf(stderr, ", %.1f of them symbols", st->payload_bytes / 1024.0);
	if (total)
		fprintf(stderr, "; %.1f bytes an event", (double)data / total);
	fprintf(stderr, "\n");
}

#define MAX_NAMED 3

void cw_closing_stacks(const struct cw_modules *m)
{
	const char *path;
	uint32_t id = 0;
	unsigned n = 0;

	while ((path = cw_modules_without_fp(m, &id))) {
		if (n++ < MAX_NAMED)
			cw_put(stderr, "%s%s", n == 1 ? "callweave-record: " : ", ", path);
	}
	if (n > MAX_NAMED)
		fprintf(stderr, " and %u more", n - MAX_NAMED);
	if (n)
		fprintf(stderr,
			": no frame pointers, so that stacks end at the caller; --stack dwarf "
			"records whole ones\n");
}

void cw_closing_left_out(const struct cw_modules *m, uint64_t max_bytes)
{
	uint64_t size, sum = 0;
	const char *path;
	uint32_t id = 0;
	unsigned n = 0;

	while ((path = cw_modules_left_out(m, &id, &size))) {
		sum += size;
		if (n++ < MAX_NAMED)
			cw_put(stderr, "%s%s", n == 1 ? "callweave-record: " : ", ", path);
	}
	if (n > MAX_NAMED)
		fprintf(stderr, " and %u more", n - MAX_NAMED);
	if (n)
		fprintf(stderr,
			": left out, as %.1f KiB more than the %.1f KiB of --embed-max would be "
			"needed; "
			"callweave-analyze archive can add them later\n",
			sum / 1024.0, max_bytes / 1024.0);
}

/* Does a point before this one lie in the same module? */
static bool is_first_of_module(const struct cw_points *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (p->at[k].module_id == p->at[i].module_id)
			return false;
	return true;
}

void cw_closing_uncalled(const struct cw_points *p, const struct cw_modules *m)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!cw_modules_was_mapped(m, p->at[i].module_id) && !p->at[i].called &&
		    is_first_of_module(p, i))
			cw_say("no traced process had %s mapped: its functions were not called",
			       p->at[i].file->path);
	for (size_t i = 0; i < p->n; i++) {
		if (p->at[i].called || !cw_modules_was_mapped(m, p->at[i].module_id))
			continue;
		if (n++ < MAX_NAMED)
			cw_put(stderr, "%s%s", n == 1 ? "callweave-record: never called: " : ", ",
			       p->at[i].name);
	}
	if (n > MAX_NAMED)
		fprintf(stderr, " and %u more of %zu functions", n - MAX_NAMED, p->n);
	if (n)
		fputc('\n', stderr);
}
