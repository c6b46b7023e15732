/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section.  An absent one is empty, and its data may be NULL then. */
struct dwarf_section {
    const uint8_t *data;
    size_t size;
};

/* A section of an object file, as it is stored. */
struct dwarf_found {
    struct dwarf_section section; /* its data is NULL: there is none */
    uint64_t address; /* at which it is loaded */
    bool is_compressed;
};
