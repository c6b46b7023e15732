/*
 * Copyright (C) the ngx_symcache authors
 *
 * The query of a lookup on the socket: which versions may answer it, how long
 * the client waits, and its hints.
 */
#pragma once

#include <stdbool.h>
#include "proto/answer.h"
#include "proto/hints.h"
#include "proto/key.h"

struct lookup_query {
    symcache_ask_t ask;
    unsigned wait;  /* seconds, 0 = does not wait */
    bool redirects; /* the client may get the file elsewhere */
    char hints[SYMCACHE_HINTS_MAX + 1]; /* see proto/hints.h */
};

/*
 * Reads version=, exceeds=, wait=, redirect=1 and hints.  is_batch: of many
 * lookups, each of which may name its version itself.  Returns NULL, or what
 * is wrong with them.
 */
const char *lookup_query_parse(const char *query, bool is_batch,
                               struct lookup_query *q);

/*
 * Reads the query of one of many lookups, which may have version=, exceeds=
 * and hints, into what was read of all of them.  NULL counts as an empty
 * query. Returns false for any other, or if no version is named.
 */
bool lookup_query_parse_line(const char *query, struct lookup_query *q);

/* Is the id of the key the hash of the URL among the hints, if there is one?
 */
bool lookup_query_is_proved(const struct lookup_query *q,
                            const symcache_key_t *key);
