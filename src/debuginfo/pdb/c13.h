/*
 * Copyright (C) the ngx_symcache authors
 *
 * The C13 part of a module stream, which is a sequence of subsections.
 */
#pragma once

#include <stdint.h>

#define C13_LINES 0xF2
#define C13_CHECKSUMS 0xF4
#define C13_INLINEES 0xF6
#define C13_IMPORTS 0xF7
#define C13_EXPORTS 0xF8

struct c13_subsection {
    uint32_t kind;
    const uint8_t *data;
    uint32_t size;
};

/*
 * Reads the subsection at data[*at..size) and moves *at past it.  Returns 1,
 * 0 at the end, or -1 if it is damaged or of an unknown kind.
 */
int c13_next(const uint8_t *data, uint32_t size, uint32_t *at,
             struct c13_subsection *subsection);
