/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The child of --exec: held back until the probes are in place, given back to the user who called
 * sudo, ended with the recording. Must not know about BPF or captures.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "exec.h"
#include "resolve.h"

#define GRACE_MS   2000
#define MAX_GROUPS 256

struct cw_child {
	pid_t pid;
	int go_fd;     /* a byte lets the child execute */
	int result_fd; /* errno of a failed step, or end of file after a successful execve */
};

char *cw_exec_find(const char *prog)
{
	const char *dirs = getenv("PATH"), *end;
	char *path = NULL;
	struct stat st;

	if (strchr(prog, '/'))
		return access(prog, X_OK) ? NULL : strdup(prog);
	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	for (; *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (asprintf(&path, "%.*s/%s", (int)(end - dirs), end == dirs ? "." : dirs, prog) <
		    0)
			return NULL;
		if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return path;
		free(path);
	}
	errno = ENOENT;
	return NULL;
}

/* An id from an environment variable that sudo sets: 1, 0 when there is none, or -EINVAL. */
static int sudo_id(const char *name, id_t *out)
{
	const char *text = getenv(name);
	unsigned long long v;
	char *end;

	if (!text || !*text)
		return 0;
	v = strtoull(text, &end, 10);
	*out = (id_t)v;
	/* The greatest id would mean: leave it as it is. */
	return *text >= '0' && *text <= '9' && !*end && v < UINT32_MAX ? 1 : -EINVAL;
}

static bool is_member(const struct group *g, const char *user)
{
	char **m;

	for (m = g->gr_mem; *m; m++) {
		if (!strcmp(*m, user))
			return true;
	}
	return false;
}

/* Supplementary groups from /etc/group: a static program cannot ask NSS. */
static size_t user_groups(const char *user, gid_t gid, gid_t *list, size_t max)
{
	FILE *f = fopen("/etc/group", "re");
	struct group *g;
	size_t n = 0;

	list[n++] = gid;
	while (f && n < max && (g = fgetgrent(f))) {
		if (g->gr_gid != gid && user && is_member(g, user))
			list[n++] = g->gr_gid;
	}
	if (f)
		fclose(f);
	return n;
}

/* The user behind sudo: 1, 0 when there is none (or it is root), or -EINVAL. */
static int sudo_user(id_t *uid, id_t *gid)
{
	int has_uid = sudo_id("SUDO_UID", uid), has_gid = sudo_id("SUDO_GID", gid);

	if (geteuid())
		return 0;
	if (has_uid < 0 || has_uid != has_gid)
		return -EINVAL;
	return has_uid && *uid;
}

static int drop_to_sudo_user(void)
{
	gid_t groups[MAX_GROUPS];
	id_t uid, gid;
	size_t n;
	int rc = sudo_user(&uid, &gid);

	if (rc <= 0)
		return rc;
	n = user_groups(getenv("SUDO_USER"), gid, groups, MAX_GROUPS);
	if (setgroups(n, groups) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

static void run_child(const char *path, char **argv, bool to_stderr, int go, int result)
{
	sigset_t none;
	char byte;
	int err;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* End of file: the recorder gave up. */
	if (read(go, &byte, 1) != 1)
		_exit(0);
	if (to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	err = -drop_to_sudo_user();
	if (!err) {
		execv(path, argv);
		err = errno;
	}
	if (write(result, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(127);
}

int cw_child_start(struct cw_child **out, const char *path, char **argv, bool to_stderr, char *err)
{
	struct cw_child *c;
	int go[2] = {-1, -1}, result[2] = {-1, -1};
	id_t uid, gid;

	/* At any doubt about the user the program is not started, rather than started as root. */
	if (sudo_user(&uid, &gid) < 0) {
		snprintf(err, CW_ERR,
			 "SUDO_UID and SUDO_GID do not tell who %s is to run as: unset both to "
			 "run it as root",
			 path);
		return -EINVAL;
	}
	c = calloc(1, sizeof(*c));
	if (!c || pipe2(go, O_CLOEXEC) || pipe2(result, O_CLOEXEC)) {
		snprintf(err, CW_ERR, "cannot start %s: %s", path, strerror(errno));
		free(c);
		return -errno;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		close(result[0]);
		run_child(path, argv, to_stderr, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	c->go_fd = go[1];
	c->result_fd = result[0];
	if (c->pid < 0) {
		snprintf(err, CW_ERR, "cannot start %s: %s", path, strerror(errno));
		cw_child_free(c);
		return -EAGAIN;
	}
	*out = c;
	return 0;
}

pid_t cw_child_pid(const struct cw_child *c)
{
	return c->pid;
}

int cw_child_go(struct cw_child *c, char *err)
{
	int e = 0;

	if (write(c->go_fd, "g", 1) != 1 || read(c->result_fd, &e, sizeof(e)) > 0) {
		e = e ? e : EPIPE;
		snprintf(err, CW_ERR, "cannot execute the program given by --exec: %s",
			 strerror(e));
		return -e;
	}
	return 0;
}

void cw_child_stop(struct cw_child *c)
{
	int i, fd;
	struct pollfd p;

	if (!c || c->pid <= 0)
		return;
	close(c->go_fd);
	c->go_fd = -1;
	fd = syscall(SYS_pidfd_open, c->pid, 0);
	kill(-c->pid, SIGTERM);
	kill(-c->pid, SIGCONT);
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	if (fd >= 0)
		poll(&p, 1, GRACE_MS);
	for (i = 0; fd < 0 && i < GRACE_MS / 10 && !waitpid(c->pid, NULL, WNOHANG); i++)
		usleep(10000);
	kill(-c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	if (fd >= 0)
		close(fd);
	c->pid = 0;
}

void cw_child_free(struct cw_child *c)
{
	if (!c)
		return;
	cw_child_stop(c);
	if (c->go_fd >= 0)
		close(c->go_fd);
	close(c->result_fd);
	free(c);
}
