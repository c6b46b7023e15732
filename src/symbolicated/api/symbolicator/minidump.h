/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /minidump: a worker reads the form and walks the stacks, and what it
 * comes to is answered as a request of POST /symbolicate is.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H
#define SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H

#include "symbolicated/api/api.h"

/* The call of a request.  NULL: the reply is complete already. */
struct api_call *minidump_begin(const struct api_request *request,
                                const char *scope, struct api_reply *reply);

/* A dump that is somewhere else. */
struct minidump_stored {
    char *url;
    char *token;                /* a secret; or NULL */
    char *rewrite;              /* JSON, of rewrite_first_module */
    struct json_writer members; /* an object: sources, scraping, options */
};

/* Wipes and frees what it has. */
void minidump_stored_free(struct minidump_stored *stored);

/* The same of one, which is taken over in either case. */
struct api_call *
minidump_begin_stored(const struct symbolication_config *config,
                      struct minidump_stored *stored, const char *scope,
                      struct api_reply *reply);

#endif
