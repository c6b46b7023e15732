/*
 * Copyright (C) the ngx_symcache authors
 *
 * To which module a file belongs: an image, a PDB, an ELF or Mach-O file, or
 * its debug file.
 */
#pragma once

#include "identity.h"

#define MODULE_FILE_ERROR 400

enum module_file {
    MODULE_FILE_OTHER, /* of no format that belongs to a module */
    MODULE_FILE_WRONG, /* error says why its module is not known */
    MODULE_FILE_PORTABLE, /* a portable PDB, or an image that has one: the
                             module is known, and yet there is an error */
    MODULE_FILE_FOUND
};

/* Examines an open regular file; path is for its name. */
enum module_file module_file_read(const char *path, int fd,
                                  struct identity *identity,
                                  char error[MODULE_FILE_ERROR]);
