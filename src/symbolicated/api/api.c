/*
 * Copyright (C) the ngx_symcache authors
 */
#include "api.h"

#include <string.h>
#include <strings.h>
#include "protocols.h"

const char *api_protocol_name(enum api_protocol protocol)
{
    static const char *const names[API_PROTOCOLS] = {
        [API_SERVICE] = "service",
        [API_MOZILLA_V4] = "mozilla-v4",
        [API_MOZILLA_V5] = "mozilla-v5",
        [API_SYMBOLICATOR] = "symbolicator",
        [API_MINIDUMP] = "minidump",
        [API_SYMBOLIZE] = "symbolize",
        [API_PROFILE] = "profile",
        [API_APPLE] = "apple",
        [API_JVM] = "jvm",
        [API_JS] = "js",
        [API_SOURCE] = "source",
        [API_ASM] = "asm",
    };

    return names[protocol];
}

const char *const api_script_names[API_SCRIPTS] = {
    [API_SCRIPT_MAPPED] = "mapped",
    [API_SCRIPT_NO_PLACE] = "no_place",
    [API_SCRIPT_NO_SCRIPT] = "missing_source",
    [API_SCRIPT_NO_MAP] = "missing_sourcemap",
    [API_SCRIPT_MALFORMED] = "malformed_sourcemap",
    [API_SCRIPT_PLAIN] = "no_sourcemap",
};

const char *const api_trust_names[API_TRUSTS] = {
    [API_TRUST_OTHER] = "other", [API_TRUST_CONTEXT] = "context",
    [API_TRUST_CFI] = "cfi",     [API_TRUST_FP] = "fp",
    [API_TRUST_SCAN] = "scan",
};

void api_reply_header(struct api_reply *reply, const char *name,
                      const char *value)
{
    if (reply->nheaders < API_HEADERS_MAX) {
        reply->headers[reply->nheaders].name = name;
        reply->headers[reply->nheaders++].value = value;
    }
}

bool api_query_has(const struct api_request *request, const char *name,
                   const char *value)
{
    const char *p = request->query != NULL ? request->query : "";
    size_t n, size = strlen(name);

    for (; *p != '\0'; p += n + (p[n] == '&')) {
        n = strcspn(p, "&");
        if (n == size + 1 + strlen(value) && strncmp(p, name, size) == 0 &&
            p[size] == '=' &&
            strncmp(p + size + 1, value, n - size - 1) == 0) {
            return true;
        }
    }
    return false;
}

bool api_is_encoded(const struct api_request *request)
{
    const char *coding = request->header(request, "Content-Encoding");

    return coding != NULL && strcasecmp(coding, "identity") != 0;
}

struct api_call *api_begin(const struct api_request *request,
                           struct api_reply *reply)
{
    static const struct {
        const char *path;
        enum api_protocol protocol;
    } paths[] = {
        {"/symbolicate/v4", API_MOZILLA_V4},
        {"/symbolicate/v5", API_MOZILLA_V5},
    };
    size_t i;

    reply->protocol = API_SERVICE;
    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (strcmp(request->path, paths[i].path) == 0 &&
            request->config->mozilla.enabled) {
            reply->protocol = paths[i].protocol;
            return mozilla_begin(request, reply);
        }
    }
    if (request->config->mozilla.enabled &&
        request->config->mozilla.source &&
        strcmp(request->path, "/source/v1") == 0) {
        reply->protocol = API_SOURCE;
        return mozilla_source_begin(request, reply);
    }
    if (request->config->mozilla.enabled && request->config->mozilla.code &&
        strcmp(request->path, "/asm/v1") == 0) {
        reply->protocol = API_ASM;
        return mozilla_asm_begin(request, reply);
    }
    if (request->config->symbolicator.enabled &&
        symbolicator_owns(request->config, request->path)) {
        reply->protocol = API_SYMBOLICATOR;
        return symbolicator_begin(request, reply);
    }
    if (request->config->symbolize.enabled &&
        strcmp(request->path, "/symbolize/v1") == 0) {
        reply->protocol = API_SYMBOLIZE;
        return symbolize_begin(request, reply);
    }
    if (profile_owns(request->config, request->path)) {
        reply->protocol = API_PROFILE;
        return profile_begin(request, reply);
    }
    if (request->config->mozilla.enabled) {
        mozilla_page(request, reply);
    } else {
        reply->status = 404;
    }
    return NULL;
}
