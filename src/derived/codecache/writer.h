/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes a CodeCache.
 */
#pragma once

#include "reader.h"

struct codecache_mark {
    uint32_t address;
    uint32_t mode;
};

struct codecache_content {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;
    bool is_big;
    const struct codecache_part *parts; /* ascending, without an overlap */
    uint32_t num_parts;
    const struct codecache_mark *marks; /* ascending strictly */
    uint32_t num_marks;
};

/* Writes the file.  It cannot have 4 GiB or more: that is SYMC_NO_MEMORY. */
enum symc_status codecache_write(const struct codecache_content *content,
                                 const struct symc_sink *sink);
