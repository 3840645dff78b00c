/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns how a linkage name becomes the name that reports show. Must not know where names come from.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

#define MAX_OUTPUT (64u << 10)
#define STYLE      (DMGL_PARAMS | DMGL_ANSI)

struct sink {
	struct obstack *mem;
	jmp_buf too_long;
};

/*
 * A crafted name can expand to gigabytes. The demanglers have no way to stop from a callback, but
 * they keep their state on the stack only, so that leaving by longjmp loses nothing.
 */
static void add_output(const char *text, size_t len, void *arg)
{
	struct sink *sink = arg;

	if (len > MAX_OUTPUT || obstack_object_size(sink->mem) + len > MAX_OUTPUT)
		longjmp(sink->too_long, 1);
	obstack_grow(sink->mem, text, len);
}

/* Demangle into a growing object of mem; false, and no object, when name is not mangled. */
static bool expand(const char *name, struct obstack *mem)
{
	struct sink sink = {.mem = mem};
	int done;

	if (setjmp(sink.too_long))
		goto drop;
	done = rust_demangle_callback(name, STYLE, add_output, &sink);
	if (!done) {
		if (obstack_object_size(mem))
			obstack_free(mem, obstack_finish(mem));
		done = cplus_demangle_v3_callback(name, STYLE, add_output, &sink);
	}
	if (done && obstack_object_size(mem))
		return true;
drop:
	if (obstack_object_size(mem))
		obstack_free(mem, obstack_finish(mem));
	return false;
}

/* Length of name without what compilers append to the names of a function's copies. */
static size_t without_clones(const char *name, size_t len)
{
	static const char *const suffixes[] = {
		".constprop.", ".isra.", ".part.", ".cold", ".llvm.", ".lto_priv.", ".localalias",
	};
	size_t i;

	if (!memchr(name, '.', len))
		return len;
	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const char *dot = memmem(name, len, suffixes[i], strlen(suffixes[i]));

		if (dot && dot != name)
			len = dot - name;
	}
	return len;
}

const char *cw_demangle(const char *name, struct obstack *mem)
{
	static const char plt[] = "@plt";
	size_t full = strlen(name), len, tail = 0;
	const char *at = strchr(name, '@');
	char *plain;

	if (full > sizeof(plt) - 1 && !strcmp(name + full - (sizeof(plt) - 1), plt))
		tail = sizeof(plt) - 1;
	len = without_clones(name, at && at != name ? (size_t)(at - name) : full);
	if (len + tail == full && name[0] != '_')
		return name;

	plain = obstack_copy0(mem, name, len);
	if (name[0] != '_' || !expand(plain, mem))
		obstack_grow(mem, plain, len);
	obstack_grow0(mem, plt, tail);
	return obstack_finish(mem);
}
