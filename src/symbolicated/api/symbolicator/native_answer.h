/*
 * Copyright (C) the ngx_symcache authors
 *
 * The answer of Symbolicator's protocol, "status": "completed".
 */
#pragma once

#include "symbolicated/api/api.h"
#include "native_request.h"

/* What has become of a module; the first ones are statuses of the protocol. */
enum symbolicator_status {
    SYMBOLICATOR_UNUSED,
    SYMBOLICATOR_FOUND,
    SYMBOLICATOR_MISSING,
    SYMBOLICATOR_UNSUPPORTED, /* a Windows PDB for a module of .NET */
    SYMBOLICATOR_MALFORMED,
    SYMBOLICATOR_FETCHING_FAILED,
    SYMBOLICATOR_TIMEOUT,
    SYMBOLICATOR_OTHER
};

struct symbolicator_result {
    enum symbolicator_status status;
    const struct symc_reader *reader;       /* of a module that was found, */
    const struct ppdbcache_reader *ppdb;    /* or of one of .NET; else NULL */
    const struct api_attempts *attempts[2]; /* of its file, of its image; or
                                               NULL */
    const struct api_module *cfi[2]; /* by which stacks were walked: that of
                                        its file, of its image; or NULL */
    const struct sourcecache_reader *sources;   /* of its code; or NULL */
    const struct api_attempts *source_attempts; /* the same; or NULL */
    unsigned features; /* of its original, SYMCACHE_HAS_...; 0: not known */
    bool is_image;     /* it was found as an image, by its code id */
    uint32_t client_asked; /* which of the client's own sources were asked */
};

struct source_links;

/*
 * Writes the answer; there is a result for each module of the request.
 * Returns false when it has more bytes than the configuration allows.  Without
 * memory, w->has_failed is set.  Links get the files that it would show, too.
 */
bool symbolicator_answer(const struct symbolication_config *config,
                         const struct symbolicator_request *request,
                         const struct symbolicator_result *results,
                         struct source_links *links, struct json_writer *w);

/* Writes what a crash report tells besides its threads and modules, at the head
 * of the answer; nothing, if the request is no crash report. */
void report_head_write(struct json_writer *w,
                       const struct symbolicator_request *request,
                       const struct symbolicator_result *results);
