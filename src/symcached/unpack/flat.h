/*
 * Copyright (C) the ngx_symcache authors
 *
 * A directory of PDBs under any name: which of them has an identity.  What was
 * read of a file is kept in an index, by the file's number, size and time of
 * change, so that a lookup reads new and changed files only; so many at a time
 * as one process may have open.
 *
 * For the child of unpacking: flat_open() before it locks itself in, the rest
 * afterwards.
 */
#ifndef SYMCACHED_UNPACK_FLAT_H
#define SYMCACHED_UNPACK_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/key.h"

/* files that are opened at a time, and then the one of the asked name */
#define FLAT_BATCH 256
#define FLAT_FILES 20000 /* of a directory */

/* one file of the directory, as it lies in the index */
struct flat_record {
    uint64_t dev;
    uint64_t ino;
    uint64_t size;
    int64_t seconds; /* of the last change of its inode */
    int64_t nanoseconds;
    uint8_t guid[16];
    uint32_t age;
    uint32_t sound; /* 0: no PDB, or a damaged one */
};

/* a file that must be looked at */
struct flat_file {
    struct flat_record record;
    const uint8_t *map;
    int fd;
    bool known; /* its record is from the index: it has the identity */
    char name[256];
};

struct flat {
    struct flat_record *records; /* of files whose identity is known */
    size_t nrecords;
    struct flat_file files[FLAT_BATCH + 1]; /* the asked name comes first */
    size_t nfiles;
    size_t nnamed;     /* of that name; the case may differ */
    uint64_t mapped;   /* bytes */
    size_t total;      /* PDBs of the directory */
    bool more;         /* there are others, for the next process */
    char error[320];   /* what could not be looked at, or "" */
    char damaged[480]; /* the asked name, and what is wrong with it, or "" */
};

/*
 * Lists the directory, by name *.pdb without case, and opens what is to be
 * looked at for the key, asked for by that name.  Returns NULL when out of
 * memory.
 */
struct flat *flat_open(int root, int index, const symcache_key_t *key,
                       const char *asked);

/*
 * Reads the identity of a file and notes it.  Returns whether it is the key's.
 */
bool flat_look(struct flat *flat, struct flat_file *file,
               const symcache_key_t *key);

/* Writes what is known to an empty file; what fails is read again later. */
void flat_save(const struct flat *flat, int index);

#endif
