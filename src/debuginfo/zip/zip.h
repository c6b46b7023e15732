/*
 * Copyright (C) the ngx_symcache authors
 *
 * A zip archive in memory, read by minizip.  Its names and numbers are checked
 * here as far as they matter; nothing is opened.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct zip;

#define ZIP_NAME_SIZE 1024

struct zip_member {
    char name[ZIP_NAME_SIZE];
    uint64_t size;      /* that it says to have */
    uint64_t packed;    /* the same, in the archive */
    const char *refuse; /* why the file is refused, or NULL */
};

/*
 * Returns NULL if this is no archive, or one without members, which not every
 * version of minizip takes for one; or if memory is out.
 */
struct zip *zip_open(const uint8_t *data, size_t size);
void zip_close(struct zip *zip);

uint64_t zip_count(const struct zip *zip);

/*
 * Reads the next member, the first one at first.  Returns 1, 0 at the end, or
 * -1 if the directory is damaged.
 */
int zip_next(struct zip *zip, struct zip_member *member);

void zip_rewind(struct zip *zip);

/* A place in the directory; zip_next() goes on after it. */
void zip_tell(struct zip *zip, uint64_t place[2]);
int zip_seek(struct zip *zip, const uint64_t place[2]);

/*
 * Takes a piece of a member.  The first piece has at least its first 64 KiB, or
 * all of it: none at all of an empty member.  Returns 0, or another number to
 * end.
 */
typedef int (*zip_take_fn)(void *arg, const uint8_t *data, size_t size);

/*
 * Unpacks the member that was read last.  Returns 0; -1 with a sentence in
 * error if it is damaged, which is known at its end only; or -2 if take has
 * ended it.
 */
int zip_unpack(struct zip *zip, zip_take_fn take, void *arg, char *error,
               size_t error_size);
