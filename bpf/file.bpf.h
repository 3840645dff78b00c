/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread blocks on when its system call takes a file descriptor. Must not know why it
 * blocks.
 */
#ifndef CW_FILE_BPF_H
#define CW_FILE_BPF_H

#include <bpf/bpf_helpers.h>

/* Id of the file behind a descriptor of the current task, its record handed over; 0 for none. */
extern __u64 cw_file_note(int fd, __u64 ts);

/* The descriptor a blocking system call works on; -1 when it has none. */
static __always_inline int cw_syscall_fd(int nr, const __u64 *args)
{
	int fd = -1;

	switch (nr) {
#if defined(__TARGET_ARCH_x86)
	case 0:   /* read */
	case 1:   /* write */
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 232: /* epoll_wait */
	case 275: /* splice */
	case 281: /* epoll_pwait */
	case 285: /* fallocate */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return (int)args[0];
	case 40: /* sendfile: what it reads is what it waits for */
		return (int)args[1];
	case 7:   /* poll */
	case 271: /* ppoll */
#elif defined(__TARGET_ARCH_arm64)
	case 22:  /* epoll_pwait */
	case 25:  /* fcntl */
	case 29:  /* ioctl */
	case 32:  /* flock */
	case 47:  /* fallocate */
	case 63:  /* read */
	case 64:  /* write */
	case 65:  /* readv */
	case 66:  /* writev */
	case 67:  /* pread64 */
	case 68:  /* pwrite64 */
	case 69:  /* preadv */
	case 70:  /* pwritev */
	case 76:  /* splice */
	case 82:  /* fsync */
	case 83:  /* fdatasync */
	case 202: /* accept */
	case 203: /* connect */
	case 206: /* sendto */
	case 207: /* recvfrom */
	case 211: /* sendmsg */
	case 212: /* recvmsg */
	case 242: /* accept4 */
	case 243: /* recvmmsg */
	case 269: /* sendmmsg */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return (int)args[0];
	case 71: /* sendfile */
		return (int)args[1];
	case 73: /* ppoll */
#endif
		/* The first of those polled stands for them all. */
		if (args[1])
			bpf_probe_read_user(&fd, sizeof(fd), (void *)args[0]);
		return fd;
	}
	return -1;
}

#endif
