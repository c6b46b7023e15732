/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lines of texts that many frames are in.  Where lines of a long text begin is
 * noted as it is read, so that no part of it is read for each frame.
 */
#pragma once

#include "base/hash_table.h"
#include "derived/sourcecache/sourcecache.h"

/* A text of at most so many bytes is read anew each time. */
#define TEXT_LINES_SHORT 2048

/* All zero at first. */
struct text_lines {
    struct table texts; /* by their addresses */
};

/* Finds lines of a text, from first on, which is from 1; at most count.
 * Returns how many there are.  Texts must not change until the next function
 * is called. */
unsigned text_lines_find(struct text_lines *known, struct symc_string text,
                         uint32_t first, unsigned count,
                         struct symc_string *lines);
void text_lines_free(struct text_lines *known);
