/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds a PDB by its identity in a directory of PDBs with any names.  The ids
 * of read files are kept in an index, by inode number, size and time of
 * change, so that a lookup reads only new or changed files; at most as many at
 * a time as one process may have open.
 *
 * This is for the child process that unpacks: pdb_directory_open() is called
 * before it enters the sandbox, and the rest inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/key.h"

/* Files that are opened at a time, and one more for the requested name. */
#define FLAT_BATCH 256
#define FLAT_FILES 20000 /* in a directory */

/* A file of the directory, as the index stores it. */
struct pdb_directory_record {
    uint64_t dev;
    uint64_t ino;
    uint64_t size;
    int64_t seconds; /* of the last change of its inode */
    int64_t nanoseconds;
    uint8_t guid[16];
    uint32_t age;
    uint32_t sound; /* 0: not a PDB, or a damaged one */
};

/* A file that must be looked at. */
struct pdb_directory_file {
    struct pdb_directory_record record;
    const uint8_t *map;
    int fd;
    bool known; /* the index says that it has the identity */
    char name[256];
};

struct pdb_directory {
    struct pdb_directory_record
        *records; /* of files whose identity is known */
    size_t nrecords;
    struct pdb_directory_file
        files[FLAT_BATCH + 1]; /* the requested name first */
    size_t nfiles;
    size_t nnamed;     /* with the requested name in any case */
    uint64_t mapped;   /* bytes */
    size_t total;      /* number of PDBs in the directory */
    bool images;       /* images are looked at, too */
    bool more;         /* others remain for the next process */
    char error[320];   /* what could not be looked at, or "" */
    char damaged[480]; /* what is wrong with the requested name, or "" */
};

/*
 * Lists the files *.pdb of the directory, without case, and opens those that
 * must be looked at for the key, whose requested name is given; with images
 * also *.dll and *.exe, in which a portable PDB may lie.  Returns NULL when
 * out of memory.
 */
struct pdb_directory *pdb_directory_open(int root, int index,
                                         const symcache_key_t *key,
                                         const char *asked, bool images);

/*
 * Reads the identity of a file, and records it.  Returns whether it is that of
 * the key.
 */
bool pdb_directory_look(struct pdb_directory *directory,
                        struct pdb_directory_file *file,
                        const symcache_key_t *key);

/* Writes the index to an empty file.  If this fails, files are read again. */
void pdb_directory_save(const struct pdb_directory *directory, int index);
