/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files at URLs that debug information links to: the last round of a
 * call.  An answer is written once to learn which it needs, and once more when
 * they are there.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_SOURCE_LINKS_H
#define SYMBOLICATED_API_SYMBOLICATOR_SOURCE_LINKS_H

#include "proto/url.h"
#include "symbolicated/api/api.h"

#define SOURCE_LINKS_MAX 20 /* files of one answer; further ones are links */

/* A text that is longer is not looked at. */
#define SOURCE_LINKS_TEXT_MAX (4u << 20)

struct source_link_file {
    char url[SYMCACHE_URL_MAX + 1]; /* in its normal form */
    size_t module;                  /* of the request */
};

/* All zero at first. */
struct source_links {
    bool is_enabled;
    bool is_asked; /* no more are taken */
    struct source_link_file files[SOURCE_LINKS_MAX];
    size_t count;
    struct api_round round; /* of each of these, when it is asked */
};

/* The text at a URL; without data: there is none, or not yet. */
struct symc_string source_links_text(struct source_links *links,
                                     const char *url, size_t size,
                                     size_t module);

/* Wants the files behind a round.  Returns 1 if there are some, 0 if not, or
 * -1 without memory. */
int source_links_want(struct source_links *links, struct api_round *before);

#endif
