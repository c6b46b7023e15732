/*
 * Copyright (C) the ngx_symcache authors
 *
 * Opens files of a store that was made on Windows: where the exact name does
 * not exist, names match without case.  This may block on a network mount, so
 * it is for processes that have nothing else to do.
 */
#ifndef SYMCACHED_UNPACK_CASEFOLD_OPEN_H
#define SYMCACHED_UNPACK_CASEFOLD_OPEN_H

#include <stdbool.h>

/*
 * Opens a regular file for reading.  path is relative to root, without empty
 * components and without dots.  A "*" as the first component and as the last
 * one stands for any name in root, for the same in both places.  beneath:
 * symbolic links must not lead out of root.  any_case: as above, otherwise only
 * the exact name counts.  Returns a descriptor; or -1 with errno (EXDEV: a link
 * leads out of root; EINVAL: not a regular file; ENOLINK: a symbolic link
 * without a target).
 */
int casefold_open(int root, const char *path, bool beneath, bool any_case);

/*
 * Is there a file with that name in root, in exactly this spelling, or in any
 * case?  For any_case, the whole of root is read.  Returns 0, or -1 with
 * errno.
 */
int casefold_has(int root, const char *name, bool any_case);

/* Does this errno mean that there is no such file?  Others prove nothing. */
bool casefold_absent(int error);

#endif
