#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Text that was moved from the pages of its file to other memory has the names of its file, and other code
# that lies there has not.
# PARALLEL: files and names are compared.
# shellcheck disable=SC2154 # variables of lib.sh
. "$(dirname "$0")/../made_lib.sh"
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"

# Text that was moved to huge pages, before the recording and while it runs, has the names of its file. Programs
# either put other memory in its place and copy it back, or copy it elsewhere and move that over it.
cp "$build/workloads/text_mover" "$tmp/maker"
moved_text_is_named "before back" "during back" "before over" "during over" "before over memfd" "during over memfd"
# At the end everything is looked at once more. Seven tenths of a second after the beginning nothing is due for 0.8 s.
rm -f "$tmp/in"
mkfifo "$tmp/in"
"$tmp/maker" last over <"$tmp/in" >"$tmp/last.out" 2>&1 &
maker=$!
pids+=($maker)
exec 5>"$tmp/in"
wait_for grep -q PID "$tmp/last.out"
start_recorder "$tmp/last.log" -p "$maker" -o "$tmp/last.cwc" leaf
sleep 0.5
echo go >&5
exec 5>&-
wait_for grep -q MOVED "$tmp/last.out"
kill -INT $recorder_pid
wait $recorder_pid
expect "last: recorder's exit status" $? 0
kill $maker
wait $maker 2>/dev/null
forget $recorder_pid $maker
import last
expect "text moved right before the end" "$(stack_of last)" "leaf file < moved_inner file < moved_outer file"
expect "processes that moved text right before the end" "$(sqlite3 "$tmp/last.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
# The same when all of a program's text, or its first pages, were moved before the recording: nothing of it is mapped
# from the file beside it, but other parts of the file are. Whoever moves it is a library, which calls it, too.
cat >"$tmp/holder.c" <<'END'
#include <stdio.h>
#include <unistd.h>
void leaf(void);
void move_text(const char *how, void *inner);
/* The text goes on for more pages. */
__asm__(".section .text.zz,\"ax\"\n.fill 20000, 1, 0x90\n.text");
__attribute__((noipa)) void moved_inner(void) { leaf(); __asm__ volatile(""); }
__attribute__((noipa)) void moved_outer(void) { moved_inner(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	char line[8];
	(void)argc;
	printf("PID %d\n", getpid());
	move_text(argv[1], (void *)moved_inner);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 20; i++) {
		moved_outer();
		usleep(1000);
	}
	return 0;
}
END
cat >"$tmp/libmove.c" <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static char *start, *end;
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
/* The program is the first. */
static int first(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		start = (char *)((info->dlpi_addr + ph->p_vaddr) & -4096ul);
		end = (char *)((info->dlpi_addr + ph->p_vaddr + ph->p_memsz + 4095) & -4096ul);
	}
	return 1;
}
static __attribute__((noipa)) void run_other(char *inner)
{
	char line[8];
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	for (int i = 0; i < 20; i++) {
		((void (*)(void (*)(void)))inner)(leaf);
		usleep(1000);
	}
	_exit(0);
}
/* Where there is other code then, that is no text that was moved. */
void move_text(const char *how, void *inner)
{
	dl_iterate_phdr(first, NULL);
	if (!strcmp(how, "head"))
		end = (char *)(((unsigned long)inner + 0x1000) & -4096ul) + 4096;
	size_t size = (size_t)(end - start);
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(to, start, size);
	if (!strcmp(how, "other")) {
		memset(to, 0xcc, size);
		memcpy(to + ((char *)inner - start), code, sizeof(code));
	}
	mprotect(to, size, PROT_READ | PROT_EXEC);
	if (mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != start)
		perror("mremap");
	if (!strcmp(how, "other"))
		run_other(inner);
}
END
"$cc" -O1 -g -shared -fPIC -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/libmove.so" "$tmp/libmove.c" || fail "cannot compile libmove.so"
for how in "whole separate-code" "whole noseparate-code" "whole lld" "head separate-code" "head lld" "other separate-code"; do
	link=-Wl,-z,${how#* }
	[ "$link" != -Wl,-z,lld ] || link=-fuse-ld=lld
	[ "$link" != -fuse-ld=lld ] || command -v ld.lld >/dev/null || continue
	"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$link" -Wl,-rpath,"$tmp" -o "$tmp/maker" "$tmp/holder.c" "$tmp/libmove.so" ||
		fail "cannot compile the holder"
	target=libmove.so:leaf record_maker moved -- "${how% *}"
	if [ "${how% *}" = other ]; then
		expect "other code where text was" "$(stack_of moved)" "leaf file < ? anonymous < run_other file"
		continue
	fi
	expect "text moved, $how" "$(stack_of moved)" "leaf file < moved_inner file < moved_outer file"
	expect "processes that moved text, $how" "$(sqlite3 "$tmp/moved.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
done

finish
