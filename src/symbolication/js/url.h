/*
 * Copyright (C) the ngx_symcache authors
 *
 * URLs and paths of scripts, maps and sources.
 */
#pragma once

#include <string.h>

#include "derived/symcache/symcache.h"

/* What follows the first n bytes of a text. */
static inline struct symc_string js_rest(struct symc_string text, size_t n)
{
    text.data += n;
    text.size -= n;
    return text;
}

static inline bool js_begins(struct symc_string text, const char *with)
{
    size_t n = strlen(with);

    return text.size >= n && memcmp(text.data, with, n) == 0;
}

/*
 * Writes where a reference leads to that stands in a file at base.  Writes at
 * most room bytes, without a NUL, and returns how many there are;
 * base.size + reference.size + 8 always suffice.
 */
size_t js_join(struct symc_string base, struct symc_string reference, char *to,
               size_t room);

/* The path of a URL, after its host or "~"; a text that is not a URL is one.
 */
struct symc_string js_path(struct symc_string url);

/*
 * Under which names the file at a URL may be kept, the best first: the URL
 * without its fragment, without its query, too, and "~" with the path, with
 * and without the query.  Only the last two are written, into to, which has
 * room for 2 * url.size + 2 bytes.  Returns how many there are, 2 or 4.
 */
unsigned js_candidates(struct symc_string url, char *to,
                       struct symc_string names[4]);

/* Writes the part that the names of a script, of its map and of its original
 * have in common: the path without endings such as ".min.js.map".  Returns its
 * size, which is at most that of the URL. */
size_t js_stem(struct symc_string url, char *to, size_t room);
