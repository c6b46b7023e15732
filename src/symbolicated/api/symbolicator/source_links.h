/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files at URLs that debug information links to, and those that servers
 * of debuginfod have for a build id: the last round of a call.  An answer is
 * written once to learn which it needs, and once more when they are there.
 */
#pragma once

#include "proto/url.h"
#include "native_request.h"
#include "symbolicated/api/api.h"

#define SOURCE_LINKS_MAX 20 /* files of one answer; further ones are links */

/* A text that is longer is not looked at. */
#define SOURCE_LINKS_TEXT_MAX (4u << 20)

struct source_link_file {
    char url[SYMCACHE_URL_MAX + 1]; /* in its normal form */
    size_t module;                  /* of the request */
    bool is_of_server;              /* of debuginfod */
    bool is_read;                   /* the text, for this answer */
    struct symc_string text;        /* without data, there is none */
};

/* All zero at first. */
struct source_links {
    /* which are followed; NULL: none */
    const struct symbolicator_config *config;
    bool is_asked; /* no more are taken */
    struct source_link_file *files; /* room for all that are taken; NULL: there
                                       is none yet, as of most answers */
    size_t count;
    struct api_round round; /* of each of these, when it is asked */
};

/* An answer begins: files may be others than before.  links may be NULL. */
void source_links_begin(struct source_links *links);

/* The text at a URL that debug information links to; without data: there is
 * none, or not yet.  links may be NULL. */
struct symc_string source_links_text(struct source_links *links,
                                     const char *url, size_t size,
                                     size_t module);

/* The text that a server of debuginfod has for a path in the debug information
 * of an ELF file with a build id; the same. */
struct symc_string
source_links_of_servers(struct source_links *links,
                        const struct symbolicator_request *request,
                        size_t module, struct symc_string path);

/* Wants the files behind a round.  Returns 1 if there are some, 0 if not, or
 * -1 without memory. */
int source_links_want(struct source_links *links, struct api_round *before);

/* Frees the list; the round is the call's to free. */
void source_links_clear(struct source_links *links);
