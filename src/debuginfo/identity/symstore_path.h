/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a debug file, or an image, belongs in a symbol store: the path
 * <name>/<id>/<file> that its content says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "proto/key.h"

/* By how many ids a file may be asked for. */
#define SYMSTORE_PATH_IDS 6

/* "elf-buildid-sym-" and the digits of a build id, or an id as in keys. */
#define SYMSTORE_ID_SIZE (SYMCACHE_ID_TEXT_MAX + 16)

/* Where a file belongs below the root, whatever the case of its path was, and
 * what it is.  A debug file has a name there that is not that of its module. */
struct symstore_path {
    char name[SYMCACHE_NAME_MAX + 1];
    char id[SYMSTORE_ID_SIZE];
    char file[SYMCACHE_NAME_MAX + 1];
    symcache_key_t ids[SYMSTORE_PATH_IDS];
    size_t nids;
    char module[SYMCACHE_NAME_MAX + 1]; /* "": neither path nor file says it */
    enum original_format format;
    unsigned features; /* a set of SYMCACHE_HAS_... */
};

struct file_identity;

/*
 * Compares the n identities of a file with the three parts
 * of a path.  With packed, the file was packed, and the third part may say so.
 * Where the second part is NULL, a PDB may have any id, and no other file is
 * taken.  Where the third is NULL, too, nothing is compared: the first is the
 * file's name on the disk.  Returns true with *place, or false with a sentence
 * in error.
 */
bool symstore_path_find(const struct file_identity *list, size_t n,
                        const char *const parts[3], bool packed,
                        struct symstore_path *place, char *error,
                        size_t error_size);

/* The same of a file in memory.  An ELF file and a PE image also have the ids
 * by which profilers know them, after the others. */
bool symstore_path_read(const uint8_t *data, size_t size,
                        const char *const parts[3], bool packed,
                        struct symstore_path *place, char *error,
                        size_t error_size);
