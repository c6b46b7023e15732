/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of a store that was made on Windows: names match without case where
 * the exact ones lead nowhere.  May block on a network mount: for processes
 * that have nothing else to do.
 */
#ifndef SYMCACHED_TREE_H
#define SYMCACHED_TREE_H

#include <stdbool.h>

/*
 * Opens a regular file for reading; path is relative to root and has neither
 * empty nor dot components.  beneath: no symbolic link may lead out of root.
 * Returns a descriptor, or -1 with errno (EXDEV: it would have left root;
 * EINVAL: not a regular file).
 */
int tree_open(int root, const char *path, bool beneath);

#endif
