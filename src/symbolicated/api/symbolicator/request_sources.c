/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request_sources.h"

#include <stdio.h>
#include <string.h>

/* Each is a cost for each place where each module was looked for. */
#define SOURCES_MAX 256

/* Whether a string is the name of a source of some store. */
static bool is_configured_source(const struct symbolication_config *config,
                                 const struct json *json, uint32_t id)
{
    size_t i, k;
    const struct store_config *store;

    for (i = 0; i < config->nstores; i++) {
        store = config->stores[i];
        for (k = 0; k < store->nsource_names; k++) {
            if (json_is(json, id, store->source_names[k])) {
                return true;
            }
        }
    }
    return false;
}

/* The id of a source of the request; 0: it has none that is text. */
static uint32_t named_source_id(const struct json *json, uint32_t source)
{
    uint32_t id;

    id = json_member(json, source, "id");
    return id != 0 && json->values[id].type == JSON_STRING ? id : 0;
}

uint32_t
symbolicator_request_sources(const struct symbolication_config *config,
                             const struct symbolicator_request *request)
{
    return config->symbolicator.sources == SYMBOLICATOR_SOURCES_CONFIGURED ||
                   config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW
               ? request->sources
               : 0;
}

bool symbolicator_request_has_own_sources(
    const struct symbolication_config *config,
    const struct symbolicator_request *request)
{
    return config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW &&
           request->sources != 0;
}

int symbolicator_request_sources_check(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, char *error, size_t error_size)
{
    size_t n;
    uint32_t i, id, list;
    const struct json *json;

    if (request->sources != 0 &&
        config->symbolicator.sources == SYMBOLICATOR_SOURCES_REFUSE) {
        snprintf(error, error_size, "sources: not allowed here");
        return 422;
    }
    if (symbolicator_request_has_own_sources(config, request)) {
        return client_sources_check(request, error, error_size);
    }
    json = &request->json;
    list = symbolicator_request_sources(config, request);
    if (list == 0) {
        return 0;
    }
    if (json->values[list].size > SOURCES_MAX) {
        snprintf(error, error_size, "sources: more than %d", SOURCES_MAX);
        return 422;
    }
    for (i = list + 1, n = 0; i < json->values[list].end;
         i = json->values[i].end, n++) {
        id = named_source_id(json, i);
        if (id == 0) {
            snprintf(error, error_size, "sources[%zu]: missing field `id`", n);
            return 422;
        }
        if (!is_configured_source(config, json, id)) {
            snprintf(error, error_size,
                     "sources[%zu].id: no source of this name is configured",
                     n);
            return 422;
        }
    }
    return 0;
}

int symbolicator_request_sources_take(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, struct api_call *call,
    struct json_writer *tenant, struct client_list **list)
{
    if (!symbolicator_request_has_own_sources(config, request)) {
        return 0;
    }
    *list = client_list_read(request);
    if (*list == NULL) {
        return -1;
    }
    client_list_write(tenant, *list, request);
    if (tenant->has_failed) {
        return -1;
    }
    if (tenant->size > 0) {
        call->tenant = tenant->data;
        call->tenant_size = tenant->size;
    }
    return 0;
}

bool symbolicator_request_sources_has(
    const struct symbolication_config *config,
    const struct symbolicator_request *request, const char *source)
{
    size_t size;
    uint32_t i, id, list;
    const struct json *json;

    json = &request->json;
    list = symbolicator_request_sources(config, request);
    if (list == 0 || symbolicator_request_has_own_sources(config, request)) {
        return true;
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        id = named_source_id(json, i);
        size = json->values[id].size;
        if (strncmp(source, json_text(json, id), size) == 0 &&
            (source[size] == '\0' || source[size] == '.')) {
            return true;
        }
    }
    return false;
}
