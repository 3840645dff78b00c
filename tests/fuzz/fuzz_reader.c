/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a capture. Most end at a checksum: fuzz_records goes where these do not come. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(data, size);
	return 0;
}
