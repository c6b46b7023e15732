/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds out what a file of unknown origin is.  It is parsed in a child process
 * that has no access to anything but the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "debuginfo/identity/identity.h"
#include "proto/key.h"

enum examine_kind {
    EXAMINE_OTHER,
    EXAMINE_IMAGE,   /* PE; name, guid and age are those of its PDB */
    EXAMINE_PDB,     /* guid and age */
    EXAMINE_SYMCACHE /* of the open format; guid and age */
};

struct examine_result {
    enum examine_kind kind;
    char error[200]; /* what is wrong with it, or "" */
    bool is_portable; /* an image of .NET, whose PDB is a portable one: it has
                       * an error, and yet name, guid and age */
    uint8_t guid[16];
    uint32_t age;
    uint32_t stamp; /* of a portable PDB, which the layout "unified" has in
                     * place of an age */
    uint32_t name_size;
    char name[SYMCACHE_NAME_MAX];
};

/* Decides by the first bytes only. */
enum examine_kind examine_sniff(int fd);

/*
 * Examines an open regular file.  A SymCache must pass all checks.  Returns 0
 * if error is empty, and -1 otherwise.
 */
int examine_file(int fd, struct examine_result *result);

/* Is the file a cabinet, or packed by gzip, zstd, bzip2 or xz? */
bool examine_is_packed(int fd);

/*
 * Tells where an open regular file belongs in a symbol store; name is its own,
 * without a folder.  Returns 0; or with a sentence in error 1 if it belongs
 * nowhere, and -1 if it could not be read to the end.
 */
int examine_place(int fd, const char *name, struct symstore_path *place,
                  char *error, size_t size);

/* Tells the same for the layout "unified", and returns as unified_path_read()
 * does. */
int examine_unified(int fd, const char *name, struct unified_path *path,
                    char *error, size_t size);
