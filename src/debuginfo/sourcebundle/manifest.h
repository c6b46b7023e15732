/*
 * Copyright (C) the ngx_symcache authors
 *
 * The manifest of a source bundle, manifest.json: which members of the archive
 * are which files.
 *
 *   {"files": {member: {"type": ..., "path": ..., "url": ..., "headers": {}}},
 *    "source_links": {pattern: URL}, attribute: text, ...}
 */
#pragma once

#include <stddef.h>

#include "debuginfo/failure.h"
#include "debuginfo/zip/zip.h"
#include "derived/sourcecache/sourcecache.h"

struct manifest_pair {
    struct symc_text name;
    struct symc_text value;
};

/* All zero at first.  Texts point into json. */
struct manifest {
    char *json;
    struct sourcecache_file *files; /* in byte order of their members' names */
    size_t num_files;
    struct manifest_pair *links;
    size_t num_links;
    struct manifest_pair *attributes;
    size_t num_attributes;
    struct sourcecache_identity identity; /* attribute debug_id */
};

void manifest_free(struct manifest *manifest);

/* Reads the manifest of an archive, which is then at its first member again.
 * Returns 0, or -1 with failure set. */
int manifest_read(struct manifest *manifest, struct zip *zip,
                  struct failure *failure);

/* The file of a member; -1: the manifest does not name it. */
ptrdiff_t manifest_find(const struct manifest *manifest, const char *member);
