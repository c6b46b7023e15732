/*
 * Copyright (C) the ngx_symcache authors
 *
 * Negative entries of the disk, as they were read last.  A key that is known to
 * be absent may be asked for a thousand times a second, and most of that was
 * listing its folder and reading the entry in there.  A folder whose ctime has
 * not changed has the same files: so one stat() tells that what was read holds.
 */
#ifndef SYMCACHED_NEGCACHE_RECALL_H
#define SYMCACHED_NEGCACHE_RECALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "entry_file.h"
#include "proto/version.h"

struct recall;

/* A folder as it was at a moment, and which entry of it is meant. */
struct recall_place {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    uint8_t kind;
    symcache_version_t version;
};

struct recall *recall_new(void); /* NULL when out of memory */
void recall_free(struct recall *recall);

/* Looks at the folder of a key below root.  Returns false if there is none. */
bool recall_place(struct recall_place *place, const char *root,
                  const symcache_key_t *key,
                  const symcache_version_t *version);

/* Fills written with the remembered entry of a place, if that still holds;
 * written may be NULL.  If is_alone is true, what counts is an entry in a
 * folder that has no file of its kind. */
bool recall_get(struct recall *recall, const struct recall_place *place,
                bool is_alone, struct written *written);

/* Remembers the entry read after recall_place(), unless its folder has changed
 * a moment ago: that could change once more without a new ctime. */
void recall_put(struct recall *recall, const struct recall_place *place,
                const struct written *written);

/* The folder of a remembered entry has no file of its kind. */
void recall_set_alone(struct recall *recall, const struct recall_place *place);

#endif
