/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a request on the helper's socket is about: the segments of its path,
 * and the key that they name.
 */
#ifndef SYMCACHED_SERVER_TARGET_H
#define SYMCACHED_SERVER_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include "proto/key.h"

/* Bytes of a request's headers: a path has at most three escaped names. */
#define TARGET_HEADERS_MAX 16384

#define TARGET_SEGMENTS_MAX 5

struct evhttp_request;

/* A decoded request path: /v1/<page or kind>/<store>/<name>/<id>. */
struct target {
    char *segments[TARGET_SEGMENTS_MAX];
    size_t lengths[TARGET_SEGMENTS_MAX];
    unsigned n;
    const struct store_config *store;
    symcache_key_t key;
};

/*
 * Reads the path of a URL.  Call target_clear() even when this returns false.
 */
bool target_split(struct target *t, const char *path);

void target_clear(struct target *t);

/*
 * Reads the name and the id, segments 3 and 4 of the path, as the key of a file
 * of this kind; without need_id, the id may be missing.  Returns false when it
 * has refused the request.
 */
bool target_key(struct target *t, symcache_kind_e kind, bool need_id,
                struct evhttp_request *req);

/*
 * Reads a query that is "kind=KIND" or empty, which means a SymCache.  Returns
 * false for any other.
 */
bool target_query_kind(const char *query, symcache_kind_e *kind);

/* Answers with an error word and a detail, and counts the refusal. */
void target_refuse(struct evhttp_request *req, int status, const char *error,
                   const char *detail);

#endif
