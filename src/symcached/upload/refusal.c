/*
 * Copyright (C) the ngx_symcache authors
 */
#include "refusal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include "base/log.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/space/space.h"
#include "upload_state.h"

void refusal_count(int status)
{
    metrics_add(status == 403   ? METRIC_UPLOADS_REFUSED_TOKEN
                : status == 409 ? METRIC_UPLOADS_REFUSED_CONFLICT
                : status == 503 ? METRIC_UPLOADS_REFUSED_BUSY
                : status == 507 ? METRIC_UPLOADS_REFUSED_SPACE
                : status < 500  ? METRIC_UPLOADS_REFUSED_CONTENT
                                : METRIC_UPLOADS_REFUSED_FAILED,
                1);
}

void upload_path_print(char *text, size_t size, const struct upload *u)
{
    const struct upload_request *request = &u->request;

    text[0] = '\0';
    if (request->name != NULL && request->id[0] == '\0') {
        snprintf(text, size, " file=%s", request->name);
    } else if (request->name != NULL) {
        snprintf(text, size, " file=%s/%s/%s", request->name, request->id,
                 request->file);
    }
}

void refusal_log_space(const struct upload *u)
{
    struct disk_space space = {0};
    char path[PATH_MAX];

    upload_path_print(path, sizeof(path), u);
    (void)disk_space_look(u->config->uploads.root, &u->config->cache, &space);
    log_error(0,
              "upload%s: no room in \"%s\": %" PRIu64
              " bytes are free now, cache.min_free keeps %" PRIu64,
              path, u->config->uploads.root, space.free, space.kept);
}
