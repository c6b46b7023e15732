/*
 * Copyright (C) the ngx_symcache authors
 */

#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <event2/http.h>
#include "http/http.h"
#include "metrics/metrics.h"

void target_clear(struct target *t)
{
    while (t->n > 0) {
        free(t->segments[--t->n]);
    }
}

bool target_split(struct target *t, const char *path)
{
    char part[TARGET_HEADERS_MAX];
    size_t len;

    memset(t, 0, sizeof(*t));
    while (*path == '/') {
        path++;
        len = strcspn(path, "/");
        if (*path == '\0' && t->n > 0) {
            return true; /* a trailing slash */
        }
        if (t->n == TARGET_SEGMENTS_MAX || len >= sizeof(part)) {
            return false;
        }
        memcpy(part, path, len);
        part[len] = '\0';
        t->segments[t->n] = evhttp_uridecode(part, 0, &t->lengths[t->n]);
        if (t->segments[t->n] == NULL) {
            return false;
        }
        t->n++;
        path += len;
    }
    return *path == '\0';
}

void target_refuse(struct evhttp_request *req, int status, const char *error,
                   const char *detail)
{
    metrics_add(METRIC_REQUEST_REFUSED, 1);
    reply_error(req, status, error, detail);
}

bool target_key(struct target *t, symcache_kind_e kind, bool need_id,
                struct evhttp_request *req)
{
    symcache_status_e status;
    const char *wrong = NULL;

    if (!symcache_kind_supported(kind)) {
        target_refuse(req, 404, "unknown-kind", symcache_kind_text(kind));
        return false;
    }
    if (t->n != 5 && (need_id || t->n != 4)) {
        target_refuse(req, 404, "not-found",
                      "the path is /v1/.../store/name/id");
        return false;
    }

    status = symcache_name_parse(t->segments[3], t->lengths[3], &t->key);
    if (status == SYMCACHE_OK && t->n == 5) {
        status = symcache_id_parse(t->segments[4], t->lengths[4], &t->key);
    }
    t->key.kind = (uint8_t)kind;
    if (status != SYMCACHE_OK) {
        wrong = symcache_status_text(status);
    } else if (t->n == 5 && !symcache_key_supported(&t->key)) {
        wrong = "nothing of this kind is looked up by an id of this type";
    }
    if (wrong != NULL) {
        target_refuse(req, 400, "bad-key", wrong);
        return false;
    }
    return true;
}

bool target_query_kind(const char *query, symcache_kind_e *kind)
{
    const char *text;

    *kind = SYMCACHE_KIND_SYMCACHE;
    if (query == NULL || query[0] == '\0') {
        return true;
    }
    text = query + strlen("kind=");
    return strncmp(query, "kind=", strlen("kind=")) == 0 &&
           symcache_kind_parse(text, strlen(text), kind);
}
