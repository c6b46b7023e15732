/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of a store that was made on Windows: names match without case where
 * the exact ones lead nowhere.  May block on a network mount: for processes
 * that have nothing else to do.
 */
#ifndef SYMCACHED_UNPACK_CASEFOLD_OPEN_H
#define SYMCACHED_UNPACK_CASEFOLD_OPEN_H

#include <stdbool.h>

/*
 * Opens a regular file for reading; path is relative to root and has neither
 * empty nor dot components.  beneath: no symbolic link may lead out of root.
 * Returns a descriptor, or -1 with errno (EXDEV: it would have left root;
 * EINVAL: not a regular file; ENOLINK: a symbolic link that leads nowhere).
 */
int casefold_open(int root, const char *path, bool beneath);

/*
 * Is there a file of that name, in just this spelling, or any_case?  That has
 * to read all of root.  Returns 0, or -1 with errno.
 */
int casefold_has(int root, const char *name, bool any_case);

/* Does an error of these say that there is none?  No other one does. */
bool casefold_absent(int error);

#endif
