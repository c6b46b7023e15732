/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes new files into a store.  They are written below its .tmp, and get
 * their names when they are complete and durable.
 */
#pragma once

#include <sys/types.h>

#include "proto/path.h"

struct store_writer {
    int root;
    int work;      /* work folder below .tmp, locked while the process lives */
    int has_owner; /* new files get the owner of the root */
    uid_t uid;
    gid_t gid;
    char work_name[64]; /* relative to the root */
};

/* The root must exist.  This and the others return 0, or -1 with errno. */
int store_writer_open(struct store_writer *writer, const char *root);

/* Copies an open file from its first byte into a new file, which is open
 * for reading at *copy. */
int store_writer_copy(struct store_writer *writer, int from, int *copy);

/* Gives the copy its name durably.  The gzip file and the negative entry of
 * the former file are removed. */
int store_writer_publish(struct store_writer *writer, int copy,
                         const symcache_key_t *key,
                         const symcache_version_t *version);

/* Removes a copy that was not published. */
void store_writer_close(struct store_writer *writer);
