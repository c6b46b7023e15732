/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies that other processes can map: files without names, in memory, or if
 * they are large in a folder.  A small body, which is sent to another process
 * by copying it, gets its file only when it is asked for: to make, fill, map
 * and drop one costs as much as all else that is done with a small dump.
 * Bodies are counted, all together.  For all threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a body that is kept without a file. */
#define SPOOL_SMALL ((size_t)60 << 10)

/* Bytes of a file that stays in memory if there is a folder. */
#define SPOOL_MEMORY ((size_t)1 << 20)

struct spool {
    int fd;     /* -1: it is in data */
    bool is_in_folder;
    bool is_sealed; /* the file */
    char *data; /* NULL: it is in the file */
    uint64_t size;
    atomic_uint_least64_t counted; /* of what all may have */
    atomic_uint refs;
};

/* Bytes that all may have. */
void spool_limit(uint64_t most);

/*
 * From now on large bodies are in a folder, which is open and stays the
 * caller's; -1: in memory.  Their files have no names, so nobody else can open
 * them, and nothing is left of them when the process is killed.  Returns 0, or
 * -1 with errno: no such file can be made there.
 */
int spool_folder(int folder);

/* Bytes that all have. */
uint64_t spool_bytes(void);

/* Makes an empty one, with a reference.  NULL without memory. */
struct spool *spool_new(void);

/* The same of a file without a name, which is taken over.  NULL without memory,
 * or room; then the file is closed. */
struct spool *spool_adopt(int fd);

/* Returns 0, or -1: there is no room. */
int spool_write(struct spool *spool, const void *data, size_t size);

/* Charges size more bytes to this spool, for the copy of the body that another
 * process has.  Returns 0, or -1: there is no space left. */
int spool_count(struct spool *spool, uint64_t size);

/* Moves a body that has none into a file.  Returns the descriptor, which stays
 * the spool's, or -1. */
int spool_file(struct spool *spool);

/* Nothing can be written any more, by whoever gets the descriptor.  Returns 0,
 * or -1 with errno; then the body is gone. */
int spool_seal(struct spool *spool);

struct spool *spool_ref(struct spool *spool);
void spool_unref(struct spool *spool); /* NULL is allowed */
