/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sentry_token.h"

#include <cjson/cJSON.h>
#include "http/http.h"

static cJSON *user_object(const char *user)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "id", user);
    cJSON_AddStringToObject(object, "email", user);
    return object;
}

void sentry_token(const char *user, struct evhttp_request *req)
{
    static const char *const scopes[] = {"org:ci"};
    cJSON *object = cJSON_CreateObject();
    cJSON *auth = cJSON_AddObjectToObject(object, "auth");

    cJSON_AddStringToObject(object, "version", "0");
    cJSON_AddItemToObject(auth, "scopes", cJSON_CreateStringArray(scopes, 1));
    cJSON_AddItemToObject(object, "user", user_object(user));
    reply_object(req, 200, object);
}

void sentry_user(const char *user, struct evhttp_request *req)
{
    reply_object(req, 200, user_object(user));
}
