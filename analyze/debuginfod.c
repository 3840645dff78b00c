/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the client library of debuginfod, which is loaded when it is first wanted, as libdw does:
 * most runs never ask a server, and the program should start where the library is missing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debuginfod.h"

/* The part of elfutils/debuginfod.h that is used; its ABI is versioned by the library's name. */
struct client;
typedef int (*progress_fn)(struct client *c, long a, long b);
typedef int (*find_fn)(struct client *c, const unsigned char *build_id, int size, char **path);

static struct {
	pthread_mutex_t lock;
	bool tried;
	struct client *client; /* NULL: there is no library */
	find_fn find[2];
	const volatile sig_atomic_t *cancel;
} lib = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Called now and then while a file comes: what is not 0 stops that. */
static int progress(struct client *c, long a, long b)
{
	(void)c;
	(void)a;
	(void)b;
	return lib.cancel && *lib.cancel;
}

static void load(void)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	struct client *(*begin)(void);
	void (*set_progress)(struct client *, progress_fn);

	lib.tried = true;
	if (!handle)
		return;
	*(void **)&begin = dlsym(handle, "debuginfod_begin");
	*(void **)&set_progress = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&lib.find[CW_DEBUGINFOD_DEBUG] = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&lib.find[CW_DEBUGINFOD_EXECUTABLE] = dlsym(handle, "debuginfod_find_executable");
	if (!begin || !set_progress || !lib.find[0] || !lib.find[1])
		return;
	lib.client = begin();
	if (lib.client)
		set_progress(lib.client, progress);
}

char *cw_debuginfod_find(const char *build_id, enum cw_debuginfod_kind kind,
			 const volatile sig_atomic_t *cancel, const char **why)
{
	char *path = NULL;
	int fd = -1;

	pthread_mutex_lock(&lib.lock);
	if (!lib.tried)
		load();
	*why = "its library, libdebuginfod.so.1, is not installed";
	if (lib.client && !(cancel && *cancel)) {
		lib.cancel = cancel;
		fd = lib.find[kind](lib.client, (const unsigned char *)build_id, 0, &path);
		lib.cancel = NULL;
		*why = fd < 0 ? strerrordesc_np(-fd) : NULL;
	}
	pthread_mutex_unlock(&lib.lock);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}
