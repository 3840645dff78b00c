/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * End the virtual machine with a status that a panic cannot give: qemu's isa-debug-exit turns what
 * is written to its port, N, into the exit status 2N + 1. Usage: poweroff N
 */
#include <stdlib.h>
#include <sys/io.h>

#define PORT 0xf4

int main(int argc, char **argv)
{
	if (argc != 2 || iopl(3))
		return 1;
	outb((unsigned char)atoi(argv[1]), PORT);
	return 1;
}
