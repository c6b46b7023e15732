/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /v1/metadata?key=KEY&value=VALUE, as clients ask debuginfod, below whose
 * address nginx has it: what is known of files with build ids, as JSON.
 */
#include "pages.h"

#include <ctype.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "proto/header.h"
#include "proto/key.h"
#include "symcached/metadata/metadata.h"
#include "url_path.h"

static void metadata_on_answer(void *arg, cJSON *answer)
{
    struct evhttp_request *req = arg;

    if (answer == NULL) {
        reply_number(req, "Retry-After", 1);
        reply_error(req, 503, SYMCACHE_REASON_STOPPING, "the helper stops");
        return;
    }
    metrics_add(cJSON_IsTrue(cJSON_GetObjectItem(answer, "complete"))
                    ? METRIC_METADATA_COMPLETE
                    : METRIC_METADATA_INCOMPLETE,
                1);
    reply_json(req, answer);
}

/* Returns NULL, or what is wrong.  A build id becomes one in lower case. */
static const char *metadata_read_query(const struct evkeyvalq *pairs,
                                       enum metadata_key *key,
                                       char value[METADATA_VALUE_MAX + 1])
{
    const char *name = evhttp_find_header(pairs, "key");
    const char *text = evhttp_find_header(pairs, "value");
    size_t i, n;

    for (i = 0; name != NULL && i < METADATA_KEYS &&
                strcmp(name, metadata_keys[i]) != 0;
         i++) {
    }
    if (name == NULL || i == METADATA_KEYS) {
        return "key= is buildid, file or glob";
    }
    n = text != NULL ? strlen(text) : 0;
    if (n == 0 || n > METADATA_VALUE_MAX) {
        return "value= is missing, or too long";
    }
    *key = (enum metadata_key)i;
    memcpy(value, text, n + 1);
    if (*key == METADATA_GLOB && !glob_is_valid(value, n)) {
        return "value= is no pattern";
    }
    if (*key == METADATA_BUILDID) {
        for (i = 0; i < n; i++) {
            value[i] = (char)tolower((unsigned char)value[i]);
        }
        if (n % 2 != 0 || n > 2 * SYMCACHE_BUILD_ID_MAX ||
            strspn(value, "0123456789abcdef") != n) {
            return "value= is no build id";
        }
    }
    return NULL;
}

void metadata_page(struct metadata *metadata, const struct config *config,
                   const char *query, struct evhttp_request *req)
{
    char value[METADATA_VALUE_MAX + 1];
    const char *wrong = "key= and value= are missing";
    enum metadata_key key;
    struct evkeyvalq pairs;

    if (query != NULL && evhttp_parse_query_str(query, &pairs) == 0) {
        wrong = metadata_read_query(&pairs, &key, value);
        evhttp_clear_headers(&pairs);
    }
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
    } else if (!metadata_ask(metadata, config, key, value, metadata_on_answer,
                             req)) {
        metrics_add(METRIC_METADATA_BUSY, 1);
        reply_number(req, "Retry-After", 1);
        reply_error(req, 503, "busy", "too many inquiries run");
    }
}
