/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a transcoder has left in a folder.  No symbolic link is followed, and
 * not more is looked at than an honest one leaves.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/key.h"
#include "proto/version.h"

struct output {
    const symcache_key_t *key;
    unsigned entries;
    unsigned files; /* SymCache files of the key */
    bool empty;     /* of the last one: */
    symcache_version_t version;
    char file[PATH_MAX];
    uint64_t bytes; /* that all take on the disk */
    int error; /* errno for which not all was looked at, or 0 */
    char why[128]; /* that, for output_folder_judge() */
};

/* Fills output.  key must live as long. */
void output_folder_look(struct output *output, const char *folder,
                        const symcache_key_t *key);

/* Is there more than is looked at? */
bool output_folder_is_endless(const struct output *output);

/* Returns NULL if the output is one SymCache file, or else its fault as a
 * sentence, which lives as long as output.  of_machine tells whether that is a
 * fault of this machine. */
const char *output_folder_judge(struct output *output, bool *of_machine);
