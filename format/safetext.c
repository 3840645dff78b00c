/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells characters that are safe to show from those that are not. */
#include "safetext.h"

int cw_utf8_decode(const unsigned char *s, unsigned int *out)
{
	static const unsigned int least[] = {0, 0, 0x80, 0x800, 0x10000};
	int n = s[0] < 0x80   ? 1
		: s[0] < 0xc2 ? 0
		: s[0] < 0xe0 ? 2
		: s[0] < 0xf0 ? 3
		: s[0] < 0xf5 ? 4
			      : 0;
	unsigned int c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
		return 0;
	*out = c;
	return n;
}

bool cw_char_hostile(unsigned int c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}
