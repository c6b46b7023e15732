/*
 * Copyright (C) the ngx_symcache authors
 *
 * Clients of Sentry say of which chunks files are made:
 *
 *   {SHA-1: {"name", "debug_id", "chunks"}, ...}          files
 *   {"checksum", "chunks", "version", "dist"}             a bundle of scripts
 *
 * and are told of each whether chunks are missing, it is being assembled, or it
 * is there or refused.  The answer waits for a moment until all have ended.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

struct config;
struct evhttp_request;
struct symstore_path;
struct uploads;

/* The client's view of a stored file.  asked: the debug id as the client spells
 * it, or NULL. */
cJSON *sentry_file(const char *name, const char *asked,
                   const struct symstore_path *place);

void sentry_assembly(struct uploads *uploads, const struct config *config,
                     const char *user, bool only_try, bool is_bundle,
                     struct evhttp_request *req);
