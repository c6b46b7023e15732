/*
 * Copyright (C) the ngx_symcache authors
 */

#include "url_path.h"

#include <stdlib.h>
#include <string.h>
#include <event2/http.h>
#include "base/log.h"
#include "base/log_pause.h"
#include "config/config.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "proto/header.h"

#define UNKNOWN_RETRY_SECONDS 60

void url_path_clear(struct url_path *t)
{
    while (t->n > 0) {
        free(t->segments[--t->n]);
    }
}

bool url_path_split(struct url_path *t, const char *path)
{
    char part[URL_PATH_HEADERS_MAX];
    size_t len;

    memset(t, 0, sizeof(*t));
    while (*path == '/') {
        path++;
        len = strcspn(path, "/");
        if (*path == '\0' && t->n > 0) {
            return true; /* a trailing slash */
        }
        if (t->n == URL_PATH_SEGMENTS_MAX || len >= sizeof(part)) {
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

void url_path_refuse(struct evhttp_request *req, int status, const char *error,
                     const char *detail)
{
    metrics_add(METRIC_REQUEST_REFUSED, 1);
    reply_error(req, status, error, detail);
}

void url_path_reply(struct evhttp_request *req,
                    const struct url_path_error *error)
{
    if (error->status == 503) {
        reply_header(req, SYMCACHE_HEADER_REASON, error->error);
        reply_number(req, "Retry-After", UNKNOWN_RETRY_SECONDS);
    }
    url_path_refuse(req, error->status, error->error, error->detail);
}

static bool fail_path(struct url_path_error *error, int status,
                      const char *word, const char *detail)
{
    error->status = status;
    error->error = word;
    error->detail = detail;
    return false;
}

bool url_path_key(struct url_path *t, symcache_kind_e kind, bool need_id,
                  struct url_path_error *error)
{
    symcache_status_e status;
    const char *wrong = NULL;

    if (!symcache_kind_supported(kind)) {
        return fail_path(error, 404, "unknown-kind", symcache_kind_text(kind));
    }
    if (t->n != 5 && (need_id || t->n != 4)) {
        return fail_path(error, 404, "not-found",
                         "the path is /v1/.../store/name/id");
    }

    status = symcache_name_parse(t->segments[3], t->lengths[3], &t->key);
    if (status == SYMCACHE_OK && t->n == 5) {
        status = symcache_id_parse(t->segments[4], t->lengths[4], &t->key);
    }
    t->key.kind = (uint8_t)kind;
    if (status != SYMCACHE_OK) {
        wrong = symcache_status_text(status);
    } else if (t->n == 5 && !(need_id ? symcache_key_supported(&t->key)
                                      : symcache_id_supported(
                                            (symcache_id_e)t->key.id_type))) {
        wrong = "nothing of this kind is looked up by an id of this type";
    }
    return wrong == NULL || fail_path(error, 400, "bad-key", wrong);
}

/*
 * An unknown store is a fault of the configuration, here or in nginx, and says
 * nothing about the key.  Clients will ask for it again and again, so only now
 * and then does a line of the log tell of it.
 */
static void log_unknown_store(const struct url_path *t)
{
    static struct log_pause pause;
    unsigned lookups = log_pause_end(&pause);
    char id[SYMCACHE_ID_TEXT_MAX + 1] = "";

    if (lookups == 0) {
        return;
    }
    if (t->n == 5) {
        symcache_id_print(id, &t->key);
    }
    log_warn(0,
             "lookup store=%.*s key=%s/%s: the configuration has no such "
             "store, answered 503 (%u lookups in unknown stores since "
             "this was last said)",
             SYMCACHE_STORE_MAX, t->segments[2], t->key.name, id, lookups);
}

bool url_path_store(struct url_path *t, const struct config *config,
                    struct url_path_error *error)
{
    t->store = config_store(config, t->segments[2], t->lengths[2]);
    if (t->store == NULL) {
        log_unknown_store(t);
        return fail_path(error, 503, SYMCACHE_REASON_STORE, t->segments[2]);
    }
    return true;
}

bool url_path_lookup(struct url_path *t, const struct config *config,
                     struct url_path_error *error)
{
    symcache_kind_e kind;

    if (t->n < 2 || strcmp(t->segments[0], "v1") != 0 ||
        !symcache_kind_parse(t->segments[1], t->lengths[1], &kind)) {
        return fail_path(error, 404, "not-found", "no such page");
    }
    return url_path_key(t, kind, true, error) &&
           url_path_store(t, config, error);
}

bool url_path_query_kind(const char *query, symcache_kind_e *kind)
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
