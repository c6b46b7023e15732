/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files in a watched folder that need no more attention.  One is known by
 * its inode and the time of the last change of that: a file that is written,
 * moved or replaced is another one.  The time alone does not tell what is new,
 * as the files of a folder that is moved keep theirs.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/hash_table.h"

struct watched_files {
    struct table done;   /* and met in this pass */
    struct table before; /* done before it */
};

uint64_t watched_files_key(const struct watched_files *files,
                           const struct stat *st);

/* Begins a pass: files that the last one has not met are forgotten. */
void watched_files_begin(struct watched_files *files);

/* Is the file of this key done? */
bool watched_files_meet(struct watched_files *files, uint64_t key);

void watched_files_add(struct watched_files *files, uint64_t key);
