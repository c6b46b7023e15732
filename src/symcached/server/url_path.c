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

void url_path_clear(struct url_path *path)
{
    while (path->n > 0) {
        free(path->segments[--path->n]);
    }
}

bool url_path_split(struct url_path *path, const char *text)
{
    char part[URL_PATH_HEADERS_MAX];
    size_t len;

    memset(path, 0, sizeof(*path));
    while (*text == '/') {
        text++;
        len = strcspn(text, "/");
        if (*text == '\0' && path->n > 0) {
            return true; /* a trailing slash */
        }
        if (path->n == URL_PATH_SEGMENTS_MAX || len >= sizeof(part)) {
            return false;
        }
        memcpy(part, text, len);
        part[len] = '\0';
        path->segments[path->n] =
            evhttp_uridecode(part, 0, &path->lengths[path->n]);
        if (path->segments[path->n] == NULL) {
            return false;
        }
        path->n++;
        text += len;
    }
    return *text == '\0';
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

static bool url_fail(struct url_path_error *error, int status,
                     const char *word, const char *detail)
{
    error->status = status;
    error->error = word;
    error->detail = detail;
    return false;
}

bool url_path_key(struct url_path *path, symcache_kind_e kind, bool need_id,
                  struct url_path_error *error)
{
    symcache_status_e status;
    const char *wrong = NULL;

    if (!symcache_kind_supported(kind)) {
        return url_fail(error, 404, "unknown-kind", symcache_kind_text(kind));
    }
    if (path->n != 5 && (need_id || path->n != 4)) {
        return url_fail(error, 404, "not-found",
                        "the path is /v1/.../store/name/id");
    }

    status =
        symcache_name_parse(path->segments[3], path->lengths[3], &path->key);
    if (status == SYMCACHE_OK && path->n == 5) {
        status =
            symcache_id_parse(path->segments[4], path->lengths[4], &path->key);
    }
    path->key.kind = (uint8_t)kind;
    if (status != SYMCACHE_OK) {
        wrong = symcache_status_text(status);
    } else if (path->n == 5 &&
               !(need_id ? symcache_key_supported(&path->key)
                         : symcache_id_supported(
                               (symcache_id_e)path->key.id_type))) {
        wrong = "nothing of this kind is looked up by an id of this type";
    }
    return wrong == NULL || url_fail(error, 400, "bad-key", wrong);
}

/*
 * An unknown store is a fault of the configuration, here or in nginx, and says
 * nothing about the key.  Clients will ask for it again and again, so only now
 * and then does a line of the log tell of it.
 */
static void log_unknown_store(const struct url_path *path)
{
    static struct log_pause pause;
    unsigned lookups = log_pause_end(&pause);
    char id[SYMCACHE_ID_TEXT_MAX + 1] = "";

    if (lookups == 0) {
        return;
    }
    if (path->n == 5) {
        symcache_id_print(id, &path->key);
    }
    log_warn(0,
             "lookup store=%.*s key=%s/%s: the configuration has no such "
             "store, answered 503 (%u lookups in unknown stores since "
             "this was last said)",
             SYMCACHE_STORE_MAX, path->segments[2], path->key.name, id,
             lookups);
}

bool url_path_store(struct url_path *path, const struct config *config,
                    struct url_path_error *error)
{
    path->store = config_store(config, path->segments[2], path->lengths[2]);
    if (path->store == NULL) {
        log_unknown_store(path);
        return url_fail(error, 503, SYMCACHE_REASON_STORE, path->segments[2]);
    }
    return true;
}

bool url_path_lookup(struct url_path *path, const struct config *config,
                     struct url_path_error *error)
{
    symcache_kind_e kind;

    if (path->n < 2 || strcmp(path->segments[0], "v1") != 0 ||
        !symcache_kind_parse(path->segments[1], path->lengths[1], &kind)) {
        return url_fail(error, 404, "not-found", "no such page");
    }
    return url_path_key(path, kind, true, error) &&
           url_path_store(path, config, error);
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
