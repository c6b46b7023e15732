/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_labels.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>
#include "http/http.h"
#include "proto/upload.h"

const char *upload_labels_read(struct evhttp_request *req,
                               struct build_labels *labels)
{
    const char *value = request_header(req, SYMCACHE_HEADER_LABELS);
    const char *wrong = NULL, *one;
    const struct evkeyval *pair;
    struct evkeyvalq pairs;

    if (value == NULL || value[0] == '\0') {
        return build_labels_check(labels);
    }
    if (strstr(value, "%00") != NULL ||
        evhttp_parse_query_str(value, &pairs) != 0) {
        return SYMCACHE_HEADER_LABELS " is not written as a query is";
    }
    TAILQ_FOREACH(pair, &pairs, next)
    {
        if (pair->value[0] != '\0' &&
            !build_labels_set(labels, pair->key, pair->value, &one)) {
            one = SYMCACHE_HEADER_LABELS
                " has something else than product, branch and build";
        } else if (pair->value[0] == '\0') {
            one = NULL;
        }
        wrong = wrong != NULL ? wrong : one;
    }
    evhttp_clear_headers(&pairs);
    return wrong != NULL ? wrong : build_labels_check(labels);
}
