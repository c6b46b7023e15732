/*
 * Copyright (C) the ngx_symcache authors
 *
 * Opens files of a store that was made on Windows: where the exact name does
 * not exist, names match without case.  This may block on a network mount, so
 * it is for processes that have nothing else to do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens a regular file for reading.  path is relative to root, without empty
 * components and without dots.  beneath: symbolic links must not lead out of
 * root.  any_case: as above, otherwise only
 * the exact name counts.  Returns a descriptor; or -1 with errno (EXDEV: a link
 * leads out of root; EINVAL: not a regular file; ENOLINK: a symbolic link
 * without a target).
 */
int casefold_open(int root, const char *path, bool beneath, bool any_case);

/* Opens a folder for what is relative to it.  No component of the path may be a
 * symbolic link (ELOOP).  Returns a descriptor, or -1 with errno. */
int casefold_open_root(const char *path);

/*
 * How many of the first of n paths lie in one folder and have a name that is
 * not known?  Such a path has three components: "*", the folder, and the file,
 * which is "*" for the name, "*_" for its packed form, or another one.  Returns
 * 0 if the first one is no such path.
 */
size_t casefold_count_unnamed(const char *const *paths, size_t n);

/*
 * Opens such files in any case, in one pass over root: each in the first folder
 * that has it, and none any more once the first file is open.  fds and errors
 * get n descriptors as casefold_open() returns them, with errno.
 */
void casefold_open_unnamed(int root, const char *const *paths, size_t n,
                           bool beneath, int *fds, int *errors);

/*
 * Is there a file with that name in root, in exactly this spelling, or in any
 * case?  For any_case, the whole of root is read.  Returns 0, or -1 with
 * errno.
 */
int casefold_has(int root, const char *name, bool any_case);

/* Does this errno mean that there is no such file?  Others prove nothing. */
bool casefold_absent(int error);
