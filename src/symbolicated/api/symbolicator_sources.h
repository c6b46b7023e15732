/*
 * Copyright (C) the ngx_symcache authors
 *
 * "sources" of a request of Symbolicator's protocol.  They may name sources of
 * the configuration, by their id; what else a request says of them is not
 * read.
 */
#ifndef SYMBOLICATOR_SOURCES_H
#define SYMBOLICATOR_SOURCES_H

#include "config/config.h"
#include "symbolicator_request.h"

/* Returns 0, or 422 with a sentence in error. */
int symbolicator_sources_check(const struct symbolication_config *config,
                               const struct symbolicator_request *request,
                               char *error, size_t error_size);

/* The list of sources whose files count; 0: all do. */
uint32_t
symbolicator_source_list(const struct symbolication_config *config,
                         const struct symbolicator_request *request);

/* Whether files of this source count; a part of a symbol path does if the path
 * is named. */
bool symbolicator_source_counts(const struct symbolication_config *config,
                                const struct symbolicator_request *request,
                                const char *source);

#endif
