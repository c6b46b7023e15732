/*
 * Copyright (C) the ngx_symcache authors
 *
 * One page of the list of a bucket (ListObjectsV2).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"
#include "list.h"

#define TIER_PAGE_TEXT 4096 /* of an element: a key has at most 1024 bytes */

struct tier_page {
    bool is_truncated; /* others follow */
    bool is_empty;
    char next[TIER_PAGE_TEXT]; /* the token of the page that follows, or "" */
};

/*
 * Writes the keys' common beginning, "" or with a slash at its end, into buf.
 */
void tier_bucket_prefix(char *buf, size_t size,
                        const struct tier_config *tier);

/*
 * The URL of a page of the objects whose keys begin with prefix; next is the
 * token of the page before, or "".  Returns a text to be freed, or NULL when
 * out of memory.
 */
char *tier_page_url(const struct tier_config *tier, const char *prefix,
                    const char *next);

/*
 * Reads the answer, which fd has, and calls fn for each object, with the part
 * of its key after prefix.  If the answer is cut short, no object is
 * delivered.  Returns 0, or -1 with a sentence in error.
 */
int tier_page_read(struct tier_page *page, int fd, const char *prefix,
                   tier_listed_fn fn, void *arg, char *error, size_t size);
