/*
 * Copyright (C) the ngx_symcache authors
 *
 * How long an uploaded file is kept.  The time of its last use is its atime,
 * which is set here, whatever the file system's own rule is.  What an uploader
 * or an operator says is in extended attributes of the file, so that it comes
 * and goes with it.
 */
#ifndef SYMCACHED_UPLOAD_RETENTION_H
#define SYMCACHED_UPLOAD_RETENTION_H

/*
 * Notes that the file is of no use after so many seconds; 0 removes such a
 * note, unless the file is new and has none.  Returns 0 or an errno: where the
 * file system has no such attributes, a file with a limit cannot be kept.
 */
int retention_set_expires(const char *path, unsigned seconds);

/* Notes that the file is used now. */
int retention_touch(const char *path);

#endif
