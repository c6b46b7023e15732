/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/disk_full.h"
#include "base/log.h"
#include "base/log_pause.h"
#include "base/task.h"
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

uint64_t refusals_counted(void)
{
    return metrics_counted(METRIC_UPLOADS_REFUSED_TOKEN) +
           metrics_counted(METRIC_UPLOADS_REFUSED_CONFLICT) +
           metrics_counted(METRIC_UPLOADS_REFUSED_SPACE) +
           metrics_counted(METRIC_UPLOADS_REFUSED_CONTENT) +
           metrics_counted(METRIC_UPLOADS_REFUSED_FAILED);
}

void upload_path_print(char *text, size_t size, const struct upload *upload)
{
    const struct upload_request *request = &upload->request;

    text[0] = '\0';
    if (request->name != NULL && request->id[0] == '\0') {
        snprintf(text, size, " file=%s", request->name);
    } else if (request->name != NULL) {
        snprintf(text, size, " file=%s/%s/%s", request->name, request->id,
                 request->file);
    }
}

void upload_refuse(struct upload *upload, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(upload->text, sizeof(upload->text), format, args);
    va_end(args);
    upload_finish(upload, status);
}

void refusal_print_size(char *text, size_t size, const struct config *config,
                        const char *what)
{
    snprintf(text, size,
             "%s: more than \"uploads.max_size\" allows, which is %" PRIu64
             " bytes",
             what, config->uploads.max_size);
}

void upload_refuse_size(struct upload *upload, const char *what)
{
    refusal_print_size(upload->text, sizeof(upload->text), upload->config,
                       what);
    upload_finish(upload, 413);
}

void upload_refuse_errno(struct upload *upload, int errnum, const char *what)
{
    char path[PATH_MAX];

    upload_path_print(path, sizeof(path), upload);
    log_error(errnum, "upload%s: %s", path, what);
    upload_refuse(upload,
                  disk_is_full(errnum)   ? 507
                  : errnum == ETIMEDOUT ? 503
                                        : 500,
                  "%s: %s", what, strerror(errnum));
}

/* The thread's own. */
struct refusal_look {
    struct config *config;
    struct disk_space space;
    unsigned refused; /* since the last line */
    char path[];      /* of upload_path_print() */
};

static void run_refusal_look(void *arg)
{
    struct refusal_look *look = arg;

    (void)disk_space_look(look->config->uploads.root, &look->config->cache,
                          &look->space);
}

static void on_refusal_looked(void *arg, bool late)
{
    const struct refusal_look *look = arg;

    log_error(0,
              "upload%s: no room in \"%s\": %" PRIu64
              " bytes are free now, cache.min_free keeps %" PRIu64
              " (%u such uploads since this was last said)",
              look->path, look->config->uploads.root, look->space.free,
              look->space.kept, look->refused);
}

static void drop_refusal_look(void *arg)
{
    struct refusal_look *look = arg;

    config_unref(look->config);
    free(look);
}

void refusal_log_space(const struct upload *upload)
{
    static const struct task_calls calls = {
        run_refusal_look, on_refusal_looked, drop_refusal_look};
    static struct log_pause pause;
    unsigned refused = log_pause_end(&pause);
    struct refusal_look *look =
        refused > 0 ? calloc(1, sizeof(*look) + PATH_MAX) : NULL;

    if (look != NULL) {
        look->config = config_ref(upload->config);
        look->refused = refused;
        upload_path_print(look->path, PATH_MAX, upload);
        (void)task_start(upload->uploads->base, 0, &calls, look);
    }
}
