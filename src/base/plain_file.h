/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of ours in a folder to which others may write: what lies there under
 * their names need not be a file.  A FIFO is not waited for, and what a link
 * leads to is not written to.
 */
#pragma once

#include <stdio.h>

/* Opens a file to read it.  Returns NULL with errno; it is EINVAL if something
 * else has that name. */
FILE *plain_file_read(const char *path);

/* Opens a file to write it, as it is, or makes it.  What is no file, or has
 * another name as well, is removed first.  Returns -1 with errno. */
int plain_file_make(const char *path);

/* The same, and nothing is left of what was in it. */
FILE *plain_file_write(const char *path);
