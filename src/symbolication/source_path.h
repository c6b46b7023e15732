/*
 * Copyright (C) the ngx_symcache authors
 *
 * The path of a source file as people read it.
 */
#pragma once

#include "derived/symcache/symcache.h"

/* Keeps the path of the last file: neighbours in a list of addresses tend to
 * share it.  All zero at first. */
struct source_path {
    char *data;
    size_t room;
    struct symc_string path;
    const struct symc_reader *reader;
    uint32_t file;
};

/* The path of a file by its index, joined and cleaned, until the next call;
 * no bytes when it has none.  NULL without memory. */
const struct symc_string *source_path(struct source_path *path,
                                      const struct symc_reader *reader,
                                      uint32_t file);
void source_path_free(struct source_path *path);

/* Its last part, after "/" or "\". */
struct symc_string source_path_name(const struct symc_string *path);
