/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that survive a power failure once they have their name.  First the
 * content is written to the disk (fsync), then the file is renamed, then the
 * folders that the name lies in are written to the disk.  Negative entries and
 * gzip files need only a plain rename(): after a crash they may be missing or
 * damaged, and are made again.
 */
#pragma once

#include <stdio.h>

/* fsync() of a file or folder.  Returns 0, or -1 with errno; a file system
 * that cannot do it (EINVAL) is not an error. */
int durable_sync(int fd);

/*
 * durable_sync() of the innermost n folders that path lies in.  A missing
 * folder is not an error: cleaning has removed it with all that was in it.
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
