/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-any: a crash report that is somewhere else.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash_report_call.h"
#include "native_request.h"
#include "short_answer.h"
#include "request_sources.h"

#define VALUES_MAX ((size_t)1 << 18)

/* Bytes of "rewrite_first_module", which is a line of an order. */
#define REWRITE_MAX 49152

enum body_member {
    BODY_SYMBOLICATE,
    BODY_SOURCES,
    BODY_SCRAPING,
    BODY_OPTIONS,
    BODY_MEMBERS
};

static const struct schema_member remote_body_members[BODY_MEMBERS] = {
    [BODY_SYMBOLICATE] = {"symbolicate", SCHEMA_OBJECT, SCHEMA_REQUIRED, NULL},
    [BODY_SOURCES] = {"sources", SCHEMA_ANY, SCHEMA_NULLABLE, NULL},
    [BODY_SCRAPING] = {"scraping", SCHEMA_ANY, SCHEMA_OPTIONAL, NULL},
    [BODY_OPTIONS] = {"options", SCHEMA_ANY, SCHEMA_OPTIONAL, NULL},
};

enum any_member { ANY_TYPE, ANY_URL, ANY_TOKEN, ANY_REWRITE, ANY_MEMBERS };

static const struct schema_member remote_any_members[ANY_MEMBERS] = {
    [ANY_TYPE] = {"type", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [ANY_URL] = {"storage_url", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [ANY_TOKEN] = {"storage_token", SCHEMA_STRING, SCHEMA_NULLABLE, NULL},
    [ANY_REWRITE] = {"rewrite_first_module", SCHEMA_LIST, SCHEMA_OPTIONAL,
                     NULL},
};

static bool remote_read_type(struct schema_walk *walk, uint32_t type,
                             enum crash_kind *kind)
{
    char reason[160];

    if (json_is(walk->json, type, "minidump")) {
        *kind = CRASH_MINIDUMP;
        return true;
    }
    if (json_is(walk->json, type, "applecrashreport")) {
        *kind = CRASH_APPLE;
        return true;
    }
    snprintf(reason, sizeof(reason),
             "unknown variant `%.*s`, expected `minidump` or "
             "`applecrashreport`",
             (int)(walk->json->values[type].size < 64
                       ? walk->json->values[type].size
                       : 64),
             json_text(walk->json, type));
    return schema_fail_member(walk, "type", reason);
}

static bool remote_read_any(struct schema_walk *walk, uint32_t value,
                            enum crash_kind *kind, uint32_t found[ANY_MEMBERS])
{
    schema_enter(walk, "symbolicate", 0);
    if (!schema_object(walk, value, remote_any_members, ANY_MEMBERS, found) ||
        !remote_read_type(walk, found[ANY_TYPE], kind)) {
        return false;
    }
    if (found[ANY_URL] == 0) {
        return schema_fail(walk, "missing field `storage_url`");
    }
    if (found[ANY_REWRITE] == 0 && *kind == CRASH_MINIDUMP) {
        return schema_fail(walk, "missing field `rewrite_first_module`");
    }
    schema_leave(walk);
    return true;
}

/* A text of its own; NULL without memory. */
static char *remote_copy_value(const struct json *json, uint32_t value)
{
    return value != 0
               ? strndup(json_text(json, value), json->values[value].size)
               : NULL;
}

static char *remote_print_value(const struct json *json, uint32_t value)
{
    struct json_writer w = {0};
    char *text;

    json_write_value(&w, json, value);
    text = w.has_failed ? NULL : strndup(w.data, w.size);
    free(w.data);
    return text;
}

/* The parts of the request besides the report.  Without sources, no source is
 * asked. */
static void remote_write_members(struct json_writer *w,
                                 const struct json *json,
                                 const uint32_t found[BODY_MEMBERS])
{
    unsigned i;

    json_write_open(w, '{');
    for (i = BODY_SOURCES; i < BODY_MEMBERS; i++) {
        json_put_value(w, remote_body_members[i].name, json, found[i]);
    }
    if (found[BODY_SOURCES] == 0) {
        json_put_open(w, "sources", '[');
        json_write_close(w, ']');
    }
    json_write_close(w, '}');
}

/* Checks these as those of POST /symbolicate.  Returns 0 or a status. */
static int remote_check_members(const struct symbolication_config *config,
                                const struct json_writer *members, char *error,
                                size_t size)
{
    const struct symbolicator_limits limits = {0};
    struct symbolicator_request request;
    char *text = strndup(members->data, members->size);
    int status;

    if (text == NULL) {
        return 500;
    }
    status = symbolicator_parse(&request, text, members->size, &limits, error,
                                size);
    if (status == 0) {
        status =
            symbolicator_request_sources_check(config, &request, error, size);
    }
    symbolicator_free(&request);
    free(text);
    return status;
}

/* Returns 0 or a status, with the reason. */
static int remote_read_stored(const struct symbolication_config *config,
                              struct schema_walk *walk,
                              struct crash_stored *stored)
{
    const struct json *json = walk->json;
    uint32_t found[BODY_MEMBERS], any[ANY_MEMBERS];
    int status;

    if (!schema_object(walk, 0, remote_body_members, BODY_MEMBERS, found) ||
        !remote_read_any(walk, found[BODY_SYMBOLICATE], &stored->kind, any)) {
        return 422;
    }
    if (!crash_config(config, stored->kind)->enabled) {
        schema_fail(walk, "symbolicate.type: not enabled here");
        return 422;
    }
    if (config->symbolicator.sources != SYMBOLICATOR_SOURCES_ALLOW) {
        schema_fail(walk, "symbolicate.storage_url: not allowed here");
        return 422;
    }
    remote_write_members(&stored->members, json, found);
    if (stored->members.has_failed) {
        return 500;
    }
    status = remote_check_members(config, &stored->members, walk->error,
                                  walk->error_size);
    if (status != 0) {
        return status;
    }
    stored->url = remote_copy_value(json, any[ANY_URL]);
    stored->token = remote_copy_value(json, any[ANY_TOKEN]);
    if (stored->kind == CRASH_MINIDUMP) {
        stored->rewrite = remote_print_value(json, any[ANY_REWRITE]);
    }
    if (stored->url == NULL ||
        (any[ANY_TOKEN] != 0 && stored->token == NULL) ||
        (stored->kind == CRASH_MINIDUMP && stored->rewrite == NULL)) {
        return 500;
    }
    if (stored->rewrite != NULL && strlen(stored->rewrite) > REWRITE_MAX) {
        schema_fail(walk, "symbolicate.rewrite_first_module: too long");
        return 422;
    }
    return 0;
}

struct api_call *remote_report_begin(const struct api_request *request,
                                     const char *scope,
                                     struct api_reply *reply)
{
    struct crash_stored stored = {0};
    char error[256] = "";
    struct schema_walk walk = {.error = error, .error_size = sizeof(error)};
    int status;

    status = schema_read(&walk, request->json, request->body, request->size,
                         VALUES_MAX, true);
    if (status == 0) {
        status = remote_read_stored(request->config, &walk, &stored);
    }
    if (status == 0) {
        reply->protocol =
            stored.kind == CRASH_APPLE ? API_APPLE : API_MINIDUMP;
        return crash_begin_stored(request->config, &stored, scope, reply);
    }
    crash_stored_free(&stored);
    answer_unreadable(reply, status, error);
    return NULL;
}
