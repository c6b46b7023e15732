/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sentry_releases.h"

#include <string.h>
#include <time.h>
#include "base/control.h"
#include "http/http.h"
#include "pages.h"

bool sentry_is_release(const char *text)
{
    return text == NULL ||
           (strlen(text) <= SENTRY_RELEASE_MAX && !control_in(text));
}

static const char *release_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(object, name));
}

static void release_add_now(cJSON *answer, const char *name)
{
    time_t now = time(NULL);
    char text[32];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    cJSON_AddStringToObject(answer, name, text);
}

void sentry_releases_change(const cJSON *asked, const char *version,
                            struct evhttp_request *req)
{
    const char *name =
        version != NULL ? version : release_text(asked, "version");
    const char *released = release_text(asked, "dateReleased");
    cJSON *answer;

    if (name == NULL || !sentry_is_release(name)) {
        sentry_reply_error(req, 400,
                           "the release has no version, a long one, or one "
                           "with a control character");
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "version", name);
    release_add_now(answer, "dateCreated");
    if (released != NULL) {
        cJSON_AddStringToObject(answer, "dateReleased", released);
    }
    cJSON_AddNullToObject(answer, "url");
    reply_object(req, version != NULL ? 200 : 201, answer);
}

void sentry_releases_deploy(const cJSON *asked, struct evhttp_request *req)
{
    const char *environment = release_text(asked, "environment");
    const char *name = release_text(asked, "name");
    cJSON *answer;

    if (environment == NULL) {
        sentry_reply_error(req, 400, "the deploy has no environment");
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "id", "0");
    cJSON_AddStringToObject(answer, "environment", environment);
    if (name != NULL) {
        cJSON_AddStringToObject(answer, "name", name);
    }
    release_add_now(answer, "dateFinished");
    reply_object(req, 201, answer);
}
