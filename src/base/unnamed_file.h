/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that go with the last descriptor of them.
 */
#pragma once

/*
 * Makes a file without a name on the file system of a folder, to be read and
 * written.  Where there are none (O_TMPFILE), as on NFS and on an overlay
 * before Linux 6.3, it has one in the folder's SYMCACHE_TMP_DIR for a moment.
 * Returns a descriptor, or -1 with errno.
 */
int unnamed_file_open(const char *folder);
