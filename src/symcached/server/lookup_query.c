/*
 * Copyright (C) the ngx_symcache authors
 */

#include "lookup_query.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include "base/artifact_list.h"
#include "base/url_id.h"
#include "proto/header.h"

static bool parse_seconds(const char *text, unsigned *seconds)
{
    char *end;
    unsigned long n;

    if (text[0] < '0' || text[0] > '9' || strlen(text) > 9) {
        return false;
    }
    n = strtoul(text, &end, 10);
    if (*end != '\0') {
        return false;
    }
    *seconds = n < SYMCACHE_WAIT_MAX ? (unsigned)n : SYMCACHE_WAIT_MAX;
    return true;
}

/* The keys of a query: behind these, the hints. */
enum { QUERY_VERSION, QUERY_EXCEEDS, QUERY_WAIT, QUERY_REDIRECT, QUERY_HINTS };

#define QUERY_KEYS (QUERY_HINTS + SYMCACHE_HINTS)

static const char *key_name(unsigned key)
{
    static const char *const names[QUERY_HINTS] = {"version", "exceeds",
                                                   "wait", "redirect"};

    return key < QUERY_HINTS
               ? names[key]
               : symcache_hint_name((symcache_hint_e)(key - QUERY_HINTS));
}

/* Finds the value of each key, NULL if there is none. */
static const char *find_values(const struct evkeyvalq *pairs,
                               const char *values[QUERY_KEYS])
{
    const struct evkeyval *pair;
    unsigned i;

    memset(values, 0, QUERY_KEYS * sizeof(values[0]));
    TAILQ_FOREACH(pair, pairs, next)
    {
        for (i = 0; i < QUERY_KEYS && strcmp(pair->key, key_name(i)) != 0;
             i++) {
        }
        if (i == QUERY_KEYS) {
            return "unknown query key";
        }
        if (values[i] != NULL) {
            return "repeated query key";
        }
        values[i] = pair->value;
    }
    return NULL;
}

static const char *parse_hints(const char *const values[SYMCACHE_HINTS],
                               char hints[SYMCACHE_HINTS_MAX + 1])
{
    unsigned i;

    hints[0] = '\0';
    for (i = 0; i < SYMCACHE_HINTS; i++) {
        if (values[i] != NULL &&
            !symcache_hint_add(hints, (symcache_hint_e)i, values[i],
                               strlen(values[i]))) {
            return symcache_hint_syntax((symcache_hint_e)i);
        }
    }
    return NULL;
}

/* If there is none, what the caller has set stays. */
static const char *parse_version(const char *const values[QUERY_KEYS],
                                 symcache_ask_t *ask)
{
    const char *version = values[QUERY_VERSION];
    const char *exceeds = values[QUERY_EXCEEDS];

    if (version != NULL) {
        memset(ask, 0, sizeof(*ask));
    }
    if ((version != NULL || ask->version.major == 0) &&
        !symcache_version_parse(version != NULL ? version : "",
                                version != NULL ? strlen(version) : 0,
                                &ask->version)) {
        return "version= must be a version such as 3.1.0";
    }
    if (exceeds != NULL &&
        !symcache_answer_exceeds(exceeds, strlen(exceeds), ask)) {
        return "exceeds= must be a version below the one asked for";
    }
    return NULL;
}

static const char *parse_values(const char *const values[QUERY_KEYS],
                                bool is_batch, struct lookup_query *query)
{
    bool is_later = is_batch && values[QUERY_VERSION] == NULL &&
                    values[QUERY_EXCEEDS] == NULL;
    const char *reason = is_later ? NULL : parse_version(values, &query->ask);

    if (reason != NULL) {
        return reason;
    }
    if (values[QUERY_WAIT] != NULL &&
        !parse_seconds(values[QUERY_WAIT], &query->wait)) {
        return "wait= must be a number of seconds";
    }
    query->redirects = values[QUERY_REDIRECT] != NULL;
    if (query->redirects && strcmp(values[QUERY_REDIRECT], "1") != 0) {
        return "redirect= must be 1";
    }
    return parse_hints(values + QUERY_HINTS, query->hints);
}

const char *lookup_query_parse(const char *query, bool is_batch,
                               struct lookup_query *q)
{
    const char *values[QUERY_KEYS], *reason;
    struct evkeyvalq pairs;

    memset(q, 0, sizeof(*q));
    if (evhttp_parse_query_str(query != NULL ? query : "", &pairs) != 0) {
        return "the query cannot be read";
    }
    reason = find_values(&pairs, values);
    if (reason == NULL) {
        reason = parse_values(values, is_batch, q);
    }
    evhttp_clear_headers(&pairs);
    return reason;
}

bool lookup_query_parse_line(const char *query, struct lookup_query *q)
{
    const char *values[QUERY_KEYS];
    struct evkeyvalq pairs;
    bool ok;

    if (evhttp_parse_query_str(query != NULL ? query : "", &pairs) != 0) {
        return false;
    }
    ok = find_values(&pairs, values) == NULL && values[QUERY_WAIT] == NULL &&
         values[QUERY_REDIRECT] == NULL &&
         parse_version(values, &q->ask) == NULL &&
         parse_hints(values + QUERY_HINTS, q->hints) == NULL;
    evhttp_clear_headers(&pairs);
    return ok;
}

bool lookup_query_is_proved(const struct lookup_query *query,
                            const symcache_key_t *key)
{
    char url[SYMCACHE_URL_MAX + 1], since[SYMCACHE_HINT_MAX + 1];
    char scraped[SYMCACHE_HINT_MAX + 1];
    uint8_t id[URL_ID_SIZE];
    symcache_key_t list;

    symcache_hint_get(query->hints, SYMCACHE_HINT_ARTIFACTS, url);
    if (url[0] != '\0') {
        artifact_list_key(&list, url);
        return symcache_key_equal(&list, key);
    }
    symcache_hint_get_url(query->hints, url);
    symcache_hint_get(query->hints, SYMCACHE_HINT_SINCE, since);
    symcache_hint_get(query->hints, SYMCACHE_HINT_SCRAPED, scraped);
    if (url[0] == '\0') {
        return since[0] == '\0' && scraped[0] == '\0';
    }
    url_id(id, url, since, scraped[0] != '\0');
    return key->id_type == SYMCACHE_ID_HASH && key->build_len == sizeof(id) &&
           memcmp(key->build, id, sizeof(id)) == 0;
}
