/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns system call numbers by name. They are part of the kernel's ABI (asm/unistd_64.h and
 * asm-generic/unistd.h) and listed for both architectures, as a capture is read on any machine.
 */
#include "syscalls.h"

/* X(name, x86-64, arm64); -1 where there is none. */
/* clang-format off */
#define SYSCALLS(X) \
	X(read, 0, 63) X(write, 1, 64) X(open, 2, -1) X(close, 3, 57) X(poll, 7, -1) \
	X(mmap, 9, 222) X(mprotect, 10, 226) X(munmap, 11, 215) X(brk, 12, 214) X(ioctl, 16, 29) \
	X(pread64, 17, 67) X(pwrite64, 18, 68) X(readv, 19, 65) X(writev, 20, 66) X(select, 23, -1) \
	X(sched_yield, 24, 124) X(msync, 26, 227) X(madvise, 28, 233) X(pause, 34, -1) \
	X(nanosleep, 35, 101) X(sendfile, 40, 71) X(connect, 42, 203) X(accept, 43, 202) \
	X(sendto, 44, 206) X(recvfrom, 45, 207) X(sendmsg, 46, 211) X(recvmsg, 47, 212) \
	X(shutdown, 48, 210) X(clone, 56, 220) X(fork, 57, -1) X(vfork, 58, -1) X(execve, 59, 221) \
	X(exit, 60, 93) X(wait4, 61, 260) X(kill, 62, 129) X(semop, 65, 193) X(msgsnd, 69, 189) \
	X(msgrcv, 70, 188) X(fcntl, 72, 25) X(flock, 73, 32) X(fsync, 74, 82) X(fdatasync, 75, 83) \
	X(truncate, 76, 45) X(ftruncate, 77, 46) X(getdents, 78, -1) X(rename, 82, -1) \
	X(mkdir, 83, -1) X(creat, 85, -1) X(unlink, 87, -1) X(rt_sigsuspend, 130, 133) \
	X(rt_sigtimedwait, 128, 137) X(sync, 162, 81) X(tkill, 200, 130) X(futex, 202, 98) \
	X(io_getevents, 208, 4) X(io_submit, 209, 2) X(getdents64, 217, 61) \
	X(semtimedop, 220, 192) X(clock_nanosleep, 230, 115) X(exit_group, 231, 94) \
	X(epoll_wait, 232, -1) X(epoll_ctl, 233, 21) X(tgkill, 234, 131) \
	X(mq_timedsend, 242, 182) X(mq_timedreceive, 243, 183) X(waitid, 247, 95) \
	X(openat, 257, 56) X(mkdirat, 258, 34) X(unlinkat, 263, 35) X(renameat, 264, 38) \
	X(pselect6, 270, 72) X(ppoll, 271, 73) X(splice, 275, 76) X(tee, 276, 77) \
	X(sync_file_range, 277, 84) X(vmsplice, 278, 75) X(epoll_pwait, 281, 22) \
	X(fallocate, 285, 47) X(timerfd_settime, 286, 86) X(accept4, 288, 242) X(preadv, 295, 69) \
	X(pwritev, 296, 70) X(recvmmsg, 299, 243) X(syncfs, 306, 267) X(sendmmsg, 307, 269) \
	X(renameat2, 316, 276) X(getrandom, 318, 278) X(execveat, 322, 281) X(membarrier, 324, 283) \
	X(copy_file_range, 326, 285) X(preadv2, 327, 286) X(pwritev2, 328, 287) X(statx, 332, 291) \
	X(io_uring_enter, 426, 426) X(clone3, 435, 435) X(close_range, 436, 436) \
	X(openat2, 437, 437) X(epoll_pwait2, 441, 441) X(futex_waitv, 449, 449) \
	X(futex_wake, 454, 454) X(futex_wait, 455, 455) X(futex_requeue, 456, 456)
/* clang-format on */

#define X_ENTRY(name, x86_64, arm64) {#name, x86_64, arm64},
static const struct {
	const char *name;
	int x86_64, arm64;
} syscalls[] = {SYSCALLS(X_ENTRY)};

bool cw_arch_is_arm64(const char *arch)
{
	return arch && (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64"));
}

int cw_syscall_number(const char *arch, const char *name)
{
	for (size_t i = 0; i < sizeof(syscalls) / sizeof(*syscalls); i++)
		if (!strcmp(syscalls[i].name, name))
			return cw_arch_is_arm64(arch) ? syscalls[i].arm64 : syscalls[i].x86_64;
	return -1;
}

void cw_syscalls_write(struct cw_rows *rows, const char *arch)
{
	bool arm64 = cw_arch_is_arm64(arch);

	for (size_t i = 0; i < sizeof(syscalls) / sizeof(*syscalls); i++) {
		int nr = arm64 ? syscalls[i].arm64 : syscalls[i].x86_64;
		uint64_t *w;

		if (nr < 0)
			continue;
		w = cw_rows_put(rows, CW_ROW_SYSCALL, 0);
		w[0] = (uint64_t)nr;
		w[1] = cw_word(syscalls[i].name);
	}
}
