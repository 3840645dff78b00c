/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that were looked at and did not serve, so that a cached database is made again when one of
 * them comes or changes. Text, a line a file: its state, and its path.
 */
#ifndef CW_FILE_STATE_H
#define CW_FILE_STATE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CW_FILE_STATE 80
/* For what is no file and may be otherwise the next time: such a line is always of before. */
#define CW_STATE_OF_BEFORE "?\n"

/* Which file path is, and when it was last changed, as one word; "-" when there is none. */
static inline void cw_file_state(char state[CW_FILE_STATE], const char *path)
{
	struct stat st;

	strcpy(state, "-");
	if (!stat(path, &st))
		snprintf(state, CW_FILE_STATE, "%ju.%jd.%jd.%09ld", (uintmax_t)st.st_ino,
			 (intmax_t)st.st_size, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

/* Write a file's line: as it was before it was looked at. A path of two lines is left out. */
static inline void cw_file_state_write(FILE *out, const char *state, const char *path)
{
	if (!strchr(path, '\n'))
		fprintf(out, "%s %s\n", state, path);
}

/*
 * Whether one of these files is there and was not then, or was another. What is gone changes
 * nothing: it did not serve.
 */
static inline bool cw_files_changed(const char *lines)
{
	char path[4096], now[CW_FILE_STATE];

	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
		size_t state = strcspn(lines, " \n"), len;

		if (lines[state] == '\n')
			return true;
		len = (size_t)(end - lines) - state - 1;
		if (len >= sizeof(path))
			continue;
		memcpy(path, lines + state + 1, len);
		path[len] = 0;
		cw_file_state(now, path);
		if (strcmp(now, "-") != 0 &&
		    (strlen(now) != state || strncmp(now, lines, state) != 0))
			return true;
	}
	return false;
}

#endif
