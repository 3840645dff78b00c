/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files and sockets: device, inode and names, a socket's ends. Named by a hash and handed over
 * once, as stacks are. Reads the current task only.
 */
#include "vmlinux.h"
#include "emit.bpf.h"
#include "file.bpf.h"

#define CW_PATH_DEPTH 20
#define CW_NAME_MAX   256
#define CW_PATH_BYTES 1024
#define CW_S_IFMT     0170000
#define CW_S_IFSOCK   0140000
#define CW_AF_INET    2
#define CW_AF_INET6   10

struct cw_file_scratch {
	__u8 rec[sizeof(struct cw_file) + CW_PATH_BYTES + CW_NAME_MAX] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cw_file_scratch);
} file_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u32);
} seen_files SEC(".maps");

static __always_inline struct file *cw_fd_file(struct task_struct *current, __u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(current, files, fdt);
	struct file **slot, *file = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	slot = BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), slot + fd);
	return file;
}

static __always_inline void cw_fill_socket(struct cw_file *r, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (r->family != CW_AF_INET && r->family != CW_AF_INET6)
		return;
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (r->family == CW_AF_INET) {
		bpf_core_read(r->local_addr, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(r->peer_addr, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_core_read(r->local_addr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(r->peer_addr, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/*
 * Names from the file up to the root of who has it open, across mounts, innermost first, joined by
 * '/'. Returns their length.
 */
static __always_inline __u32 cw_fill_path(char *path, struct file *file, struct task_struct *task)
{
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry), *parent;
	struct dentry *root = BPF_CORE_READ(task, fs, root.dentry);
	struct vfsmount *root_mnt = BPF_CORE_READ(task, fs, root.mnt);
	struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	struct mount *m, *above;
	__u32 off = 0, i;
	long n;

	for (i = 0; i < CW_PATH_DEPTH; i++) {
		if (off >= CW_PATH_BYTES || (d == root && mnt == root_mnt))
			break;
		if (d == BPF_CORE_READ(mnt, mnt_root)) {
			m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
			above = BPF_CORE_READ(m, mnt_parent);
			if (above == m || !above)
				break;
			d = BPF_CORE_READ(m, mnt_mountpoint);
			mnt = (void *)above + bpf_core_field_offset(struct mount, mnt);
			continue;
		}
		n = bpf_probe_read_kernel_str(path + off, CW_NAME_MAX,
					      BPF_CORE_READ(d, d_name.name));
		if (n <= 1)
			break;
		if (n > CW_NAME_MAX)
			break;
		if (off)
			path[off - 1] = '/';
		off += n;
		parent = BPF_CORE_READ(d, d_parent);
		if (parent == d)
			break;
		d = parent;
	}
	return off;
}

/* Hash of what tells the file from others; cheaper than reading its names every time. */
static __always_inline __u64 cw_file_id(const struct cw_file *r, struct file *file)
{
	const __u64 *words = (const __u64 *)&r->mode;
	__u64 h = BPF_CORE_READ(file, f_path.dentry, d_name.hash_len);
	__u32 i;

#pragma unroll
	for (i = 0; i < (sizeof(*r) - __builtin_offsetof(struct cw_file, mode)) / 8; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

__noinline __u64 cw_file_note(int fd, __u64 ts)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	__u32 zero = 0, epoch = cw_epoch, *seen, size;
	struct cw_file_scratch *s = bpf_map_lookup_elem(&file_scratch, &zero);
	struct cw_file *r;
	struct inode *inode;
	struct file *file;

	if (!s || fd < 0)
		return 0;
	file = cw_fd_file(current, fd);
	if (!file)
		return 0;
	r = (void *)s->rec;
	__builtin_memset(r, 0, sizeof(*r));
	inode = BPF_CORE_READ(file, f_inode);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->ino = BPF_CORE_READ(inode, i_ino);
	if ((r->mode & CW_S_IFMT) == CW_S_IFSOCK)
		cw_fill_socket(r, file);
	r->id = cw_file_id(r, file);
	seen = bpf_map_lookup_elem(&seen_files, &r->id);
	if (seen && *seen == epoch)
		return r->id;
	size = sizeof(*r) + cw_fill_path(r->path, file, current);
	if (size > sizeof(s->rec))
		return 0;
	cw_fill_header(&r->h, CW_FILE, size, ts);
	if (!cw_output(r, size, CW_FILE, ts))
		bpf_map_update_elem(&seen_files, &r->id, &epoch, BPF_ANY);
	return r->id;
}
