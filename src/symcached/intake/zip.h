/*
 * Copyright (C) the ngx_symcache authors
 *
 * A zip archive in memory, read by minizip.  Its names and numbers are checked
 * here as far as they matter; nothing is opened.
 */
#ifndef SYMCACHED_INTAKE_ZIP_H
#define SYMCACHED_INTAKE_ZIP_H

#include <stddef.h>
#include <stdint.h>

struct zip;
struct limited_writer;

#define ZIP_NAME_SIZE 1024

struct zip_member {
    char name[ZIP_NAME_SIZE];
    uint64_t size;      /* that it says to have */
    const char *refuse; /* why it is no file that can be taken, or NULL */
};

/* Returns NULL if this is no archive, or memory is out. */
struct zip *zip_open(const uint8_t *data, size_t size);
void zip_close(struct zip *zip);

uint64_t zip_count(const struct zip *zip);

/*
 * Reads the next member, the first one at first.  Returns 1, 0 at the end, or
 * -1 if the directory is damaged.
 */
int zip_next(struct zip *zip, struct zip_member *member);

void zip_rewind(struct zip *zip);

/* A place in the directory; zip_next() goes on behind it. */
void zip_tell(struct zip *zip, uint64_t place[2]);
int zip_seek(struct zip *zip, const uint64_t place[2]);

/*
 * Unpacks the member that was read last.  pick is called once, with its first
 * bytes (at most size of them), and returns where all of it goes, or NULL to
 * end.  Returns 0; -1 with a sentence in error if it is damaged; or -2 if
 * pick or the writer failed.
 */
typedef struct limited_writer *(*zip_pick_fn)(void *arg, const uint8_t *head,
                                              size_t len);
int zip_unpack(struct zip *zip, size_t size, zip_pick_fn pick, void *arg,
               char *error, size_t error_size);

#endif
