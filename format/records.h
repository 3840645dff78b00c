/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one list of record types and fields of a capture (.cwc).
 *
 * Structs, layout asserts, the self-description written into every file, `dump`, the raw_* tables
 * and FORMAT.md's tables all expand from CW_RECORDS below. Included by BPF programs (after
 * vmlinux.h) and by user space (after <linux/types.h>); it must not know how records are stored.
 *
 * Rules: fields are 4 or 8 bytes (or byte arrays that keep 8-byte alignment), without padding; at
 * most one tail, the last field, which runs to rec.size. New fields go before the tail or at the
 * end; readers match fields by name, so an id is never reused and a field never changes its type.
 */
#ifndef CW_RECORDS_H
#define CW_RECORDS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define CW_FORMAT_VERSION 1
#define CW_MAX_RECORD     65528u /* bytes of one record, header and tail included */
#define CW_COMM_LEN       16
#define CW_NARGS          8   /* argument words of a probe_entry */
#define CW_NSYSARGS       6   /* arguments of a system call */
#define CW_NREGS          33  /* registers by their DWARF numbers: x86-64 uses 17, arm64 33 */
#define CW_MAX_FRAMES     127 /* user or kernel frames of one stack record */
#define CW_USER_TYPE_MIN  256 /* ids from here on are declared by type records while recording */

/*
 * Every record starts with this header. The next record starts at size rounded up to 8.
 * ts: CLOCK_MONOTONIC ns, taken before anything else the record holds.
 * cpu: where the event happened, 0xffff when written by the recorder itself.
 */
struct cw_rec {
	__u16 type; /* enum cw_type_id */
	__u16 size; /* bytes, header and tail included, padding excluded */
	__u16 cpu;
	__u16 flags; /* CW_REC_* */
	__u64 ts;
};
#define CW_CPU_NONE     0xffffu
#define CW_REC_REPEATED 1u /* written again for a new epoch; says nothing new */

/* clang-format off */
/*
 * X(NAME, name, id, class, doc): class is STREAM (about the file), REF (referred to by others, written
 * again for every epoch) or EVENT (happened at ts).
 */
#define CW_RECORDS(X) \
	X(META, meta, 1, STREAM, "one key of the capture's header") \
	X(TYPE_INFO, type_info, 2, STREAM, "describes a record type") \
	X(CHUNK, chunk, 3, STREAM, "opens every frame") \
	X(LOST, lost, 4, STREAM, "events of one kind lost on one CPU from ts to end_ts") \
	X(COUNTER, counter, 5, STREAM, "events of one kind on one CPU so far, by the BPF programs' count") \
	X(END, end, 6, STREAM, "the recorder stopped cleanly") \
	X(PLAN_TEXT, plan_text, 7, STREAM, "what was traced and how it hangs together") \
	X(PROCESS, process, 16, REF, "a process incarnation") \
	X(PROCESS_ARGS, process_args, 17, REF, "the command line of a process") \
	X(THREAD, thread, 18, REF, "a thread incarnation, or its new name") \
	X(MODULE, module, 19, REF, "an ELF file or another object that is mapped executable") \
	X(MAP, map, 20, REF, "an executable mapping, from ts on") \
	X(STACK, stack, 21, REF, "a distinct stack") \
	X(BLOB, blob, 22, REF, "a piece of a payload that belongs to a module") \
	X(KSYM, ksym, 23, REF, "a kernel symbol") \
	X(PROBE, probe, 24, REF, "a probed function") \
	X(FILE, file, 25, REF, "an open file or socket that a thread blocked on") \
	X(STACK_REGS, stack_regs, 26, REF, "registers and memory that a stack is unwound from; comes before it") \
	X(PROBE_ENTRY, probe_entry, 32, EVENT, "a probed function was entered") \
	X(PROBE_RETURN, probe_return, 33, EVENT, "a probed function returned") \
	X(SCHED_SWITCH, sched_switch, 34, EVENT, "a CPU switched threads; prev stays runnable, exits or is not traced") \
	X(SCHED_BLOCK, sched_block, 35, EVENT, "a CPU switched away from a traced thread that went to sleep") \
	X(SCHED_WAKING, sched_waking, 36, EVENT, "a traced thread is being woken: its blocked time ends") \
	X(SCHED_WAKEUP, sched_wakeup, 37, EVENT, "a traced thread was put on a run queue") \
	X(FORK, fork, 38, EVENT, "a traced thread created a thread or a process") \
	X(EXEC, exec, 39, EVENT, "a traced process executed a program") \
	X(EXIT, exit, 40, EVENT, "a traced thread exited")

/*
 * Fields: F(R, type, name, doc), A(R, type, name, count, doc) fixed array; R is the struct.
 * Tails: S(R, name, doc) text up to size or the first NUL, B(R, name, doc) bytes,
 * V(R, type, name, doc) array.
 * Types: u8 u32 u64 i32 i64 and x64 (u64 shown in hexadecimal: addresses, keys, ids).
 */
#define CW_FIELDS_META(R, F, A, S, B, V) \
	S(R, text, "KEY=VALUE; the keys are listed in FORMAT.md")

#define CW_FIELDS_TYPE_INFO(R, F, A, S, B, V) \
	F(R, u32, id, "record type described") \
	F(R, u32, fixed_size, "bytes before the tail, header included") \
	S(R, text, "NAME CLASS FIELD:TYPE ...; an array is TYPE[N], a tail str, bytes or TYPE[]")

#define CW_FIELDS_CHUNK(R, F, A, S, B, V) \
	F(R, u64, seq, "number of this chunk, from 0") \
	F(R, u64, min_ts, "least ts of its EVENT records; 0 when there is none") \
	F(R, u64, max_ts, "greatest ts of its EVENT records") \
	F(R, u32, records, "records in the chunk, this one excluded") \
	F(R, u32, epoch, "epoch its references belong to") \
	F(R, u64, mono_ns, "CLOCK_MONOTONIC when the chunk was closed") \
	F(R, u64, wall_ns, "CLOCK_REALTIME at the same moment, ns since 1970") \
	V(R, u64, lost, "pairs of (record type << 32 | cpu, events lost so far); zero counts left out")

#define CW_FIELDS_LOST(R, F, A, S, B, V) \
	F(R, u32, kind, "record type of the lost events") \
	F(R, u32, reason, "1 ring full, 2 probe missed (the kernel skipped it), 3 recorder overload, 4 deleted, 5 probe detached (hit too often, or its file is written to)") \
	F(R, u64, count, "how many; at least 1, but for reason 5 0: nobody counts") \
	F(R, u64, end_ts, "last moment of the loss, ns; ts is the first; for reason 5 the greatest number: up to the end") \
	F(R, u32, probe, "number plus 1 of the probe that alone is meant; 0 all") \
	F(R, u32, reserved, "0")

#define CW_FIELDS_COUNTER(R, F, A, S, B, V) \
	F(R, u32, kind, "record type counted") \
	F(R, u32, reserved, "0") \
	F(R, u64, emitted, "records submitted by the BPF programs") \
	F(R, u64, lost, "records that found no room in the ring")

#define CW_FIELDS_END(R, F, A, S, B, V) \
	F(R, u32, reason, "1 stopped by a signal, 2 target exited, 3 duration over, 4 enough events, 5 error, 6 size reached, 7 goes on in the next file") \
	F(R, u32, reserved, "0") \
	S(R, text, "the reason as a sentence")

#define CW_FIELDS_PLAN_TEXT(R, F, A, S, B, V) \
	F(R, u32, piece, "number of this piece, from 0") \
	F(R, u32, pieces, "how many pieces the document has") \
	S(R, yaml, "a piece of the plan as a YAML document")

#define CW_FIELDS_PROCESS(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, ppid, "parent's process id, kernel-global; 0 unknown") \
	F(R, u32, ns_pid, "process id in the process's own PID namespace") \
	F(R, u32, rec_pid, "process id in the recorder's PID namespace; 0 when not visible") \
	F(R, u64, start_boottime, "CLOCK_BOOTTIME of its start, ns; with pid it names the incarnation") \
	F(R, u64, pid_ns, "inode of its PID namespace") \
	F(R, u64, mnt_ns, "inode of its mount namespace") \
	F(R, u32, uid, "real user id") \
	F(R, u32, flags, "1 traced") \
	S(R, exe, "path of the program as the process sees it")

#define CW_FIELDS_PROCESS_ARGS(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, reserved, "0") \
	S(R, cmdline, "arguments joined by blanks")

#define CW_FIELDS_THREAD(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, tid, "thread id, kernel-global") \
	F(R, u32, ns_pid, "process id in the thread's own PID namespace") \
	F(R, u32, ns_tid, "thread id in the thread's own PID namespace") \
	F(R, u64, start_boottime, "CLOCK_BOOTTIME of its start, ns; with tid it names the incarnation") \
	F(R, u32, flags, "1 traced, 2 kernel thread") \
	F(R, u32, reserved, "0") \
	S(R, comm, "name of the thread, at most 15 bytes")

#define CW_FIELDS_MODULE(R, F, A, S, B, V) \
	F(R, u32, module_id, "number of the module in this capture, from 1") \
	F(R, u32, build_id_size, "bytes of build_id used; 0 when there is none") \
	F(R, u32, dev_major, "major number of the file's device") \
	F(R, u32, dev_minor, "minor number of the file's device") \
	F(R, u64, ino, "inode of the file; 0 for what has none") \
	F(R, u64, file_size, "bytes of the file; 0 unknown") \
	A(R, u8, build_id, 24, "GNU build id") \
	S(R, path, "path as the first process that mapped it sees it, or [vdso], [anon]")

#define CW_FIELDS_MAP(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, module_id, "module mapped") \
	F(R, x64, start, "first address") \
	F(R, x64, end, "first address after it") \
	F(R, x64, pgoff, "offset in the file, bytes; of memory without a file its address") \
	F(R, u32, prot, "PROT_* bits") \
	F(R, u32, flags, "1 from /proc/PID/maps, 2 from PERF_RECORD_MMAP2, 4 other memory that the process moved the file's text to")

#define CW_FIELDS_STACK(R, F, A, S, B, V) \
	F(R, x64, id, "hash of the process incarnation, caller, frames and return addresses in saved memory; referred to by events") \
	F(R, u32, pid, "process id, kernel-global; 0 for a kernel stack") \
	F(R, u32, flags, "1 kernel, 2 truncated at the frame limit, 4 walk failed, 8 at function entry, " \
		      "16 only address and caller are kept (no frame pointers), " \
		      "32 to be unwound from saved memory (--stack dwarf), 64 the outermost frame pointer was 0: the walk is complete") \
	F(R, x64, caller, "return address read at the stack pointer at function entry; 0 elsewhere") \
	V(R, x64, frames, "instruction pointers, innermost first; from the second on return addresses")

#define CW_FIELDS_STACK_REGS(R, F, A, S, B, V) \
	F(R, x64, id, "the stack") \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, frame, "index of the frame in the stack that the registers belong to; 0 the innermost") \
	F(R, x64, known, "bit n: register n is known") \
	A(R, x64, regs, CW_NREGS, "registers by DWARF number, as that frame has them; the last one used is the instruction pointer") \
	F(R, x64, address, "of the first byte of memory") \
	F(R, u32, wanted, "bytes asked for; fewer when the rest could not be read") \
	F(R, u32, flags, "1 memory asked for ends where the stack begins") \
	B(R, memory, "the user stack from address on; return addresses that probes replaced are put back")

#define CW_FIELDS_BLOB(R, F, A, S, B, V) \
	F(R, u32, module_id, "module the payload belongs to") \
	F(R, u32, kind, "1 ELF file with symbol tables and unwind sections only, 2 whole ELF file, 3 vdso image, 4 perf map, 5 separate debug file, 6 the file that dwz moved parts of that to, 7 symbol tables of the separate debug file only") \
	F(R, u64, offset, "where data starts in the payload, bytes") \
	F(R, u64, total, "bytes of the whole payload") \
	B(R, data, "the bytes")

#define CW_FIELDS_KSYM(R, F, A, S, B, V) \
	F(R, x64, start, "first address of the symbol") \
	F(R, x64, end, "first address after it") \
	S(R, name, "name as in /proc/kallsyms")

#define CW_FIELDS_PROBE(R, F, A, S, B, V) \
	F(R, u32, probe_id, "number of the probe in this capture, from 0") \
	F(R, u32, module_id, "module of the function") \
	F(R, x64, value, "value of the ELF symbol") \
	F(R, x64, offset, "file offset of the function's entry") \
	F(R, x64, placed, "file offset of the breakpoint") \
	F(R, u64, size, "bytes of the function; 0 unknown") \
	F(R, i32, sp_adjust, "bytes the stack pointer moved from the entry to the breakpoint; add to get the entry's") \
	F(R, u32, flags, "1 entry probe, 2 return probe, 4 single-stepped, 8 moved, 16 no frame pointers, 256 to 8192 no argument 1 to 6") \
	S(R, name, "name of the function as asked for")

#define CW_FIELDS_FILE(R, F, A, S, B, V) \
	F(R, x64, id, "hash of what follows; referred to by sched_block") \
	F(R, u32, mode, "st_mode; 0 unknown") \
	F(R, u32, dev, "device as the kernel's dev_t") \
	F(R, u64, ino, "inode") \
	F(R, u32, family, "socket's address family; 0 when it is no socket") \
	F(R, u32, protocol, "socket's protocol") \
	F(R, u32, local_port, "socket's local port") \
	F(R, u32, peer_port, "socket's peer port") \
	A(R, u8, local_addr, 16, "socket's local address, IPv4 in the first four bytes") \
	A(R, u8, peer_addr, 16, "socket's peer address") \
	S(R, path, "path names, innermost first, joined by '/': up to the process's root")

#define CW_FIELDS_PROBE_ENTRY(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, tid, "thread id, kernel-global") \
	F(R, u32, probe_id, "probe that was hit") \
	F(R, u32, reserved, "0") \
	F(R, x64, sp, "stack pointer at the function's entry") \
	F(R, x64, stack, "user stack; 0 when none was taken") \
	A(R, x64, args, CW_NARGS, "the first eight integer or pointer argument words")

#define CW_FIELDS_PROBE_RETURN(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, tid, "thread id, kernel-global") \
	F(R, u32, probe_id, "probe that was hit") \
	F(R, u32, reserved, "0") \
	F(R, x64, sp, "stack pointer after the return: the entry's plus 8 on x86-64, the entry's on arm64") \
	F(R, x64, ret, "return register")

#define CW_FIELDS_SCHED_SWITCH(R, F, A, S, B, V) \
	F(R, u32, prev_pid, "process that leaves the CPU; 0 idle") \
	F(R, u32, prev_tid, "thread that leaves the CPU; 0 idle") \
	F(R, u32, next_pid, "process that gets the CPU; 0 idle") \
	F(R, u32, next_tid, "thread that gets the CPU; 0 idle") \
	F(R, u32, prev_state, "task state bits of prev; 0 still runnable, 1 interruptible, 2 uninterruptible") \
	F(R, u32, flags, "1 preempted, 2 prev traced, 4 next traced, 8 prev sleeps: no signal kept it runnable")

#define CW_FIELDS_SCHED_BLOCK(R, F, A, S, B, V) \
	CW_FIELDS_SCHED_SWITCH(R, F, A, S, B, V) \
	F(R, i32, syscall, "system call prev sleeps in; -1 none (page fault, exit)") \
	F(R, u32, reserved, "0") \
	A(R, x64, args, CW_NSYSARGS, "its arguments") \
	F(R, x64, ustack, "user stack of prev; 0 none") \
	F(R, x64, kstack, "kernel stack of prev; 0 none") \
	F(R, x64, file, "file or socket of its file descriptor; 0 none")

#define CW_FIELDS_SCHED_WAKING(R, F, A, S, B, V) \
	F(R, u32, pid, "process of the waker (the thread that was on the CPU)") \
	F(R, u32, tid, "the waker") \
	F(R, u32, wakee_pid, "process of the thread being woken") \
	F(R, u32, wakee_tid, "the thread being woken") \
	F(R, u32, target_cpu, "CPU the wakee last ran on") \
	F(R, u32, flags, "1 in interrupt: the thread on the CPU is not the waker, 2 waker traced") \
	F(R, i32, syscall, "system call the waker is in; -1 none") \
	F(R, u32, reserved, "0") \
	A(R, x64, args, CW_NSYSARGS, "its arguments") \
	F(R, x64, ustack, "user stack of the waker; 0 none")

#define CW_FIELDS_SCHED_WAKEUP(R, F, A, S, B, V) \
	F(R, u32, pid, "process of the thread that was woken") \
	F(R, u32, tid, "the thread that was woken") \
	F(R, u32, target_cpu, "CPU whose run queue it is on") \
	F(R, u32, flags, "1 newly created thread")

#define CW_FIELDS_FORK(R, F, A, S, B, V) \
	F(R, u32, pid, "process of the parent") \
	F(R, u32, tid, "the parent") \
	F(R, u32, child_pid, "process of the child; pid when the child is a thread") \
	F(R, u32, child_tid, "the child") \
	F(R, u64, child_start_boottime, "CLOCK_BOOTTIME of the child's start, ns")

#define CW_FIELDS_EXEC(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, tid, "thread id after the exec") \
	F(R, u32, old_tid, "thread id before it") \
	F(R, u32, flags, "1 still traced") \
	S(R, filename, "path given to execve")

#define CW_FIELDS_EXIT(R, F, A, S, B, V) \
	F(R, u32, pid, "process id, kernel-global") \
	F(R, u32, tid, "thread id, kernel-global") \
	F(R, u32, flags, "1 last thread of its process") \
	F(R, i32, code, "exit code as wait status")

/* ---- expansion: ids, structs, layout asserts ------------------------------------------------- */

#define CW_X_ID(NAME, name, id, class, doc) CW_##NAME = id,
enum cw_type_id { CW_RECORDS(CW_X_ID) };
#undef CW_X_ID

#define CW_C_u8 __u8
#define CW_C_u32 __u32
#define CW_C_u64 __u64
#define CW_C_i32 __s32
#define CW_C_i64 __s64
#define CW_C_x64 __u64

#define CW_X_F(R, type, name, doc) CW_C_##type name;
#define CW_X_A(R, type, name, count, doc) CW_C_##type name[count];
#define CW_X_S(R, name, doc) char name[];
#define CW_X_B(R, name, doc) __u8 name[];
#define CW_X_V(R, type, name, doc) CW_C_##type name[];
#define CW_X_STRUCT(NAME, name, id, class, doc) \
	struct cw_##name { \
		struct cw_rec h; \
		CW_FIELDS_##NAME(struct cw_##name, CW_X_F, CW_X_A, CW_X_S, CW_X_B, CW_X_V) \
	}; \
	struct cw_packed_##name { \
		struct cw_rec h; \
		CW_FIELDS_##NAME(struct cw_##name, CW_X_F, CW_X_A, CW_X_S, CW_X_B, CW_X_V) \
	} __attribute__((packed)); \
	_Static_assert(sizeof(struct cw_##name) == sizeof(struct cw_packed_##name), \
		       #name ": padding between fields");
CW_RECORDS(CW_X_STRUCT)
#undef CW_X_STRUCT
#undef CW_X_F
#undef CW_X_A
#undef CW_X_S
#undef CW_X_B
#undef CW_X_V
/* clang-format on */

/* Values of the flag fields above. */
enum cw_lost_reason {
	CW_LOST_RING = 1,
	CW_LOST_MISSED = 2,
	CW_LOST_OVERLOAD = 3,
	CW_LOST_DELETED = 4,
	CW_LOST_DETACHED = 5
};
enum cw_end_reason {
	CW_END_SIGNAL = 1,
	CW_END_TARGET = 2,
	CW_END_DURATION = 3,
	CW_END_EVENTS = 4,
	CW_END_ERROR = 5,
	CW_END_SIZE = 6,
	CW_END_NEXT = 7
};
enum cw_thread_flags { CW_THREAD_TRACED = 1, CW_THREAD_KERNEL = 2 };
enum cw_stack_flags {
	CW_STACK_KERNEL = 1,
	CW_STACK_TRUNCATED = 2,
	CW_STACK_FAILED = 4,
	CW_STACK_ENTRY = 8,
	CW_STACK_NO_FP = 16,
	CW_STACK_DWARF = 32,
	CW_STACK_FP_END = 64
};
enum cw_saved_flags { CW_SAVED_ALL = 1 };
enum cw_blob_kind {
	CW_BLOB_SYMBOLS = 1,
	CW_BLOB_ELF = 2,
	CW_BLOB_VDSO = 3,
	CW_BLOB_PERF_MAP = 4,
	CW_BLOB_DEBUG = 5,
	CW_BLOB_ALTERNATE = 6,
	CW_BLOB_DEBUG_SYMBOLS = 7
};
enum cw_probe_flags {
	CW_PROBE_HAS_ENTRY = 1,
	CW_PROBE_HAS_RETURN = 2,
	CW_PROBE_SINGLE_STEPPED = 4,
	CW_PROBE_MOVED = 8,
	CW_PROBE_NO_FP = 16,
	/* Argument 1 to 6: the function overwrites its register unread before the breakpoint. */
	CW_PROBE_NO_ARG1 = 256
};
enum cw_switch_flags {
	CW_SWITCH_PREEMPTED = 1,
	CW_SWITCH_PREV_TRACED = 2,
	CW_SWITCH_NEXT_TRACED = 4,
	CW_SWITCH_PREV_ASLEEP = 8 /* no signal kept it runnable; set by recorders since 2026-11 */
};
enum cw_waking_flags { CW_WAKING_IRQ = 1, CW_WAKING_WAKER_TRACED = 2 };
enum cw_map_flags { CW_MAP_PROC = 1, CW_MAP_MMAP2 = 2, CW_MAP_MOVED = 4 };

#endif
