/*
 * Copyright (C) the ngx_symcache authors
 *
 * New files in a store: written below its .tmp, and given their name when
 * they are whole and on the disk.
 */
#ifndef SYMCACHECTL_STORE_WRITER_H
#define SYMCACHECTL_STORE_WRITER_H

#include <limits.h>
#include <sys/types.h>

#include "proto/path.h"

struct store_writer {
    int root;
    int work;      /* our folder below .tmp, locked while we live */
    int has_owner; /* what is made gets that of the root */
    uid_t uid;
    gid_t gid;
    char work_name[64]; /* relative to the root */
};

/* The root must be there.  Each returns 0, or -1 with errno. */
int store_writer_open(struct store_writer *writer, const char *root);

/* Copies an open file from its beginning into a new one, which is open for
 * reading at *copy. */
int store_writer_copy(struct store_writer *writer, int from, int *copy);

/* Gives the copy its name: fsync, rename, fsync of the folders.  What a former
 * file of that name had beside it goes. */
int store_writer_publish(struct store_writer *writer, int copy,
                         const symcache_key_t *key,
                         const symcache_version_t *version);

/* Removes what was not published. */
void store_writer_close(struct store_writer *writer);

#endif
