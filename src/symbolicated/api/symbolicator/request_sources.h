/*
 * Copyright (C) the ngx_symcache authors
 *
 * "sources" of a request of Symbolicator's protocol.  As the configuration
 * says, they name sources of it, by their id, and what else a request says of
 * them is not read; or they are sources of the client's own, which a tenant
 * asks.
 */
#pragma once

#include "client_sources.h"
#include "config/config.h"
#include "symbolicated/api/api.h"

/* Returns 0, or 422 with a sentence in error. */
int symbolicator_request_sources_check(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, char *error,
    size_t error_size);

/* The list of sources that are to be asked; 0: all that are configured. */
uint32_t
symbolicator_request_sources(const struct symbolication_config *config,
                             const struct symbolicator_request *request);

/* Whether the sources are the client's own, which a tenant asks. */
bool symbolicator_request_has_own_sources(
    const struct symbolication_config *config,
    const struct symbolicator_request *request);

/*
 * Reads the client's own sources, and has the call ask their tenant, whose
 * text tenant is.  *list is NULL if there are none.  Returns 0, or -1 without
 * memory.
 */
int symbolicator_request_sources_take(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, struct api_call *call,
    struct json_writer *tenant, struct client_list **list);

/* Whether files of this source count; a part of a symbol path does if the path
 * is named. */
bool symbolicator_request_sources_has(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, const char *source);
