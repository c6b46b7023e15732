/*
 * Copyright (C) the ngx_symcache authors
 *
 * Compressed PDBs ("PDZ"): the container MSFZ has the streams of a PDB in
 * compressed chunks.  It is expanded to the MSF 7.0 container of an ordinary
 * PDB, which is equal to the one that was compressed stream by stream; where
 * its blocks were, MSFZ does not keep.
 *
 * The format is described in docs/pdb/msfz.md of microsoft/pdb-rs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSFZ_MAGIC "Microsoft MSFZ Container\r\n\x1a" "ALD\0"

/* An expanded file larger than this many times the input is considered an
 * attack; PDBs become five to twenty times smaller. */
#define MSFZ_RATIO_MAX 200
#define MSFZ_RATIO_FREE (32u << 20) /* bytes that do not count in it */

enum msfz_status {
    MSFZ_OK = 0,
    MSFZ_UNKNOWN,   /* of a version or with a compression that is not known */
    MSFZ_DAMAGED,   /* inconsistent */
    MSFZ_TRUNCATED, /* it ends in front of what it refers to */
    MSFZ_LIMIT,     /* larger than it may become */
    MSFZ_FAILED,    /* read() or write() has failed, or memory ran out */
};

/* Where the container is read, and the PDB is written.  Both return 0, or -1;
 * read() never reads beyond size. */
struct msfz_io {
    void *context;
    uint64_t size; /* bytes of the container */
    uint64_t max;  /* that the PDB may have */
    int (*read)(void *context, uint64_t offset, void *to, size_t len);
    /* Each byte is written once, in no order; where nothing was written in
     * front of the end, there are zeros. */
    int (*write)(void *context, uint64_t offset, const void *data, size_t len);
};

/* Does a file that begins like this have the container? */
bool msfz_sniff(const uint8_t *data, size_t size);

/*
 * Returns a number of bytes that the PDB of a container in memory does not
 * exceed, or 0 if it cannot be one that is expanded.  Looks at the table of
 * chunks only.
 */
uint64_t msfz_bound(const uint8_t *data, size_t size);

/*
 * Expands a container.  Returns MSFZ_OK with the size of the PDB in *size.
 * Otherwise error says what the file is instead, or for MSFZ_FAILED the reason,
 * and what was written is worthless.
 */
enum msfz_status msfz_expand(const struct msfz_io *io, uint64_t *size,
                             char *error, size_t error_size);

/* The same between memory: to has room for room bytes, which are zeros. */
enum msfz_status msfz_expand_memory(const uint8_t *data, size_t size,
                                    uint8_t *to, size_t room, uint64_t *made,
                                    char *error, size_t error_size);
