/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that survive a power failure once they have their name: the content
 * is written through (fsync), then comes the rename, then the folders in which
 * the name lies are written through.  Where less is enough, a plain rename()
 * is used instead: after a crash a negative entry or a .gz may be missing or
 * damaged, and is made again.
 */
#ifndef BASE_DURABLE_H
#define BASE_DURABLE_H

#include <stdio.h>

/* fsync() of a file or folder.  Returns 0, or -1 with errno; a file system
 * that cannot do it (EINVAL) is not an error. */
int durable_sync(int fd);

/*
 * durable_sync() of the innermost n folders that path lies in.  A folder that
 * has vanished is not an error: a cleaner has removed it with what was in it.
 * Returns 0, or -1 with errno.
 */
int durable_sync_folders(const char *path, unsigned n);

/*
 * Closes a stream that has written the file tmp, and gives the file the name
 * path, in a folder of the same file system.  Returns 0; or -1 with errno, and
 * then tmp is gone and path is what it was, unless only the fsync of its
 * folder failed.
 */
int durable_close(FILE *f, const char *tmp, const char *path);

#endif
