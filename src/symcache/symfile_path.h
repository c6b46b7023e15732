/*
 * Copyright (C) the ngx_symcache authors
 *
 * Paths of source files: Windows or Unix, whatever the compiler wrote.
 */
#ifndef SYMFILE_PATH_H
#define SYMFILE_PATH_H

#include <stddef.h>

#include "symfile_reader.h"

/*
 * Writes compilation directory, directory and name as one path, without "."
 * and "..", and a NUL into buf.  Returns the length without the NUL; a path
 * that does not fit is cut.
 */
size_t symfile_path(const struct symfile_file *file, char *buf, size_t size);

#endif
