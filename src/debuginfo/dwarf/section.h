/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef DEBUGINFO_DWARF_SECTION_H
#define DEBUGINFO_DWARF_SECTION_H

#include <stddef.h>
#include <stdint.h>

/* A section.  An absent one is empty, and its data may be NULL then. */
struct dwarf_section {
    const uint8_t *data;
    size_t size;
};

#endif
