/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a request on the helper's socket is about: the segments of its path,
 * and the key that they name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "proto/key.h"

/* Bytes of a request's headers: a path has at most three escaped names, and a
 * query one URL in which every byte may be escaped. */
#define URL_PATH_HEADERS_MAX 40960

#define URL_PATH_SEGMENTS_MAX 8

struct evhttp_request;

struct config;

/* Why a request is refused, in the words of the answer. */
struct url_path_error {
    int status;
    const char *error; /* one word */
    const char *detail;
};

/* A decoded request path: /v1/<page or kind>/<store>/<name>/<id>. */
struct url_path {
    char *segments[URL_PATH_SEGMENTS_MAX];
    size_t lengths[URL_PATH_SEGMENTS_MAX];
    unsigned n;
    const struct store_config *store;
    symcache_key_t key;
};

/*
 * Reads the path of a URL.  Call url_path_clear() even when this returns
 * false.
 */
bool url_path_split(struct url_path *path, const char *text);

void url_path_clear(struct url_path *path);

/*
 * Reads the name and the id, segments 3 and 4 of the path, as the key of a
 * file of this kind; without need_id, the id may be missing.  Returns false
 * with an error.
 */
bool url_path_key(struct url_path *path, symcache_kind_e kind, bool need_id,
                  struct url_path_error *error);

/*
 * Finds the store that segment 2 of the path names.  Returns false with an
 * error if the configuration has none of that name; the log tells of it now
 * and then.
 */
bool url_path_store(struct url_path *path, const struct config *config,
                    struct url_path_error *error);

/* Reads what a lookup is about: both of the above, by the kind in segment 1.
 */
bool url_path_lookup(struct url_path *path, const struct config *config,
                     struct url_path_error *error);

/*
 * Reads a query that is "kind=KIND" or empty, which means a SymCache.  Returns
 * false for any other.
 */
bool url_path_query_kind(const char *query, symcache_kind_e *kind);

/* Answers with an error, and counts the refusal. */
void url_path_reply(struct evhttp_request *req,
                    const struct url_path_error *error);

/* The same, with an error word and a detail. */
void url_path_refuse(struct evhttp_request *req, int status, const char *error,
                     const char *detail);
