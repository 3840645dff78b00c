/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that is being made: it has another name beside its place until it is whole, and a signal
 * that ends the program removes it. One at a time.
 */
#ifndef CW_UNFINISHED_H
#define CW_UNFINISHED_H

/*
 * Make an empty file beside path, which only its owner may read. Returns its descriptor, the
 * caller's, and its name in *name; or a negative errno, and *name is NULL.
 */
int cw_unfinished_new(char **name, const char *path);

/*
 * It is whole: give it its place; or (path NULL) it is given up. Frees name. 0, or a negative errno
 * of renaming, and then it is gone.
 */
int cw_unfinished_end(char *name, const char *path);

#endif
