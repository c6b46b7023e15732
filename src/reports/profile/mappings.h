/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where modules are mapped; for this folder only.  A profile of a machine has
 * a hundred thousand mappings and more frames, so none is looked for one by
 * one: trees have what is found by an address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

struct profile_mapping {
    uint64_t start;
    uint64_t limit;  /* after its last byte; 0: it has no end */
    uint64_t offset; /* in the file */
    uint32_t module; /* or PROFILE_NONE */
    uint32_t process;
    struct symc_string path;
};

struct profile_mappings {
    struct profile_mapping *list; /* the oldest first */
    size_t n;
    size_t room;
    struct table named; /* the newest of a path with a module, places + 1 */
    void *begins;       /* trees, of tsearch() */
    void *newest;       /* areas of a process */
    void *areas;        /* of any process */
};

/* Adds a mapping.  Returns 0, or -1 without memory. */
int profile_mappings_add(struct profile_mappings *mappings,
                         const struct profile_mapping *mapping);

/*
 * The newest mapping of a path that has the address in the process; or NULL.
 * If the process has none, as that of a head with the number of a thread, one
 * of another process, unless others have another part of the file there.
 */
const struct profile_mapping *
profile_mappings_find(const struct profile_mappings *mappings,
                      struct symc_string path, uint32_t process,
                      uint64_t address);

/* The module of the newest mapping of a path that has one, or PROFILE_NONE. */
uint32_t profile_mappings_module(const struct profile_mappings *mappings,
                                 struct symc_string path);

/*
 * An address relative to the first segment of its file, which begins where the
 * file's beginning is mapped; or if that is not in the profile, an offset in
 * the file: the SymCache tells where that is mapped.
 *
 * Of an address in the mapping of the file's beginning this does not tell
 * which of both it is.  The mapping may have all of the file, by its first
 * segment; or only the code of a small file by lld, which begins in the file's
 * first page, and in memory in another one.  *reach tells by how much code
 * there is (see struct profile_place).
 */
uint64_t profile_relative(const struct profile_mappings *mappings,
                          const struct profile_mapping *mapping,
                          uint64_t address, uint64_t *reach);

void profile_mappings_free(struct profile_mappings *mappings);
