/*
 * Copyright (C) the ngx_symcache authors
 */
#include "client_sources.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "client_filter.h"
#include "proto/hints.h"

/* The limit for the path_patterns of a request, over all its modules: some
 * tens of milliseconds, during which the thread answers no other request. */
#define PATTERN_STEPS ((size_t)1 << 24)

static void tenant_write_member(struct json_writer *tenant, const char *name,
                                const struct json *json, uint32_t value)
{
    json_put_string(tenant, name, json_text(json, value),
                    json->values[value].size);
}

static void tenant_write_url(struct json_writer *tenant, const char *name,
                             const struct json *json, uint32_t value,
                             const struct client_source *own)
{
    const char *text = json_text(json, value);
    size_t scheme = (size_t)(strstr(text, "://") + 3 - text);
    char *url = NULL;

    if (asprintf(&url, "%.*s%.*s", (int)scheme, text, (int)own->host_size,
                 own->host) < 0) {
        tenant->has_failed = true;
        return;
    }
    json_put_text(tenant, name, url);
    free(url);
}

/* A user name and a password in a URL are sent as HTTP clients do. */
static void tenant_write_login(struct json_writer *tenant,
                               const struct client_source *own)
{
    char *login = strndup(own->login, own->login_size);
    char *base64 = malloc(BASE64_ENCODE_RAW_LENGTH(own->login_size + 1) + 1);
    size_t size;
    char *line = NULL;

    if (login != NULL && base64 != NULL) {
        size = percent_decode(login, login, own->login_size);
        if (memchr(login, ':', size) == NULL) {
            login[size++] = ':'; /* where the NUL was */
        }
        base64_encode_raw(base64, size, (uint8_t *)login);
        base64[BASE64_ENCODE_RAW_LENGTH(size)] = '\0';
    }
    if (login == NULL || base64 == NULL ||
        asprintf(&line, "Basic %s", base64) < 0) {
        tenant->has_failed = true;
    } else {
        json_put_text(tenant, "authorization", line);
    }
    free(line);
    free(base64);
    free(login);
}

static void tenant_write_headers(struct json_writer *tenant,
                                 const struct json *json,
                                 const struct client_source *own)
{
    uint32_t headers = own->found[CLIENT_HEADERS], i;
    bool has_own = false;

    json_put_open(tenant, "headers", '{');
    for (i = headers + 1; headers != 0 && i < json->values[headers].end;
         i = json->values[i + 1].end) {
        has_own = has_own ||
                  (json->values[i].size == 13 &&
                   strncasecmp(json_text(json, i), "authorization", 13) == 0);
        if (json->values[i + 1].size > 0) {
            json_write_name(tenant, json_text(json, i), json->values[i].size);
            json_write_string(tenant, json_text(json, i + 1),
                              json->values[i + 1].size);
        }
    }
    if (own->login != NULL && !has_own) {
        tenant_write_login(tenant, own);
    }
    json_write_close(tenant, '}');
}

/* Writes a key in one line, "\n" in place of line ends. */
static void tenant_write_key(struct json_writer *tenant,
                             const struct json *json, uint32_t value)
{
    const char *text = json_text(json, value);
    size_t i, n = 0, size = json->values[value].size;
    char *line = malloc(2 * size + 1);

    if (line == NULL) {
        tenant->has_failed = true;
        return;
    }
    for (i = 0; i < size; i++) {
        if (text[i] == '\n') {
            line[n++] = '\\';
            line[n++] = 'n';
        } else if (text[i] != '\r') {
            line[n++] = text[i];
        }
    }
    json_put_string(tenant, "private_key", line, n);
    explicit_bzero(line, n);
    free(line);
}

static void tenant_write_place(struct json_writer *tenant,
                               const struct json *json,
                               const struct client_source *own)
{
    static const struct {
        enum client_member member;
        const char *name;
    } texts[] = {
        {CLIENT_BUCKET, "bucket"},
        {CLIENT_PREFIX, "prefix"},
        {CLIENT_ACCESS_KEY, "access_key"},
        {CLIENT_SECRET_KEY, "secret_key"},
        {CLIENT_CLIENT_EMAIL, "client_email"},
        {CLIENT_BEARER_TOKEN, "token"},
    };
    size_t i;

    if (own->is_sentry) {
        enum client_member member =
            own->found[CLIENT_TOKEN] != 0 ? CLIENT_TOKEN : CLIENT_COOKIES;

        tenant_write_member(tenant, "url", json, own->found[CLIENT_URL]);
        tenant_write_member(tenant,
                            member == CLIENT_TOKEN ? "token" : "cookies", json,
                            own->found[member]);
        return;
    }
    if (json_is(json, own->found[CLIENT_TYPE], "http")) {
        tenant_write_url(tenant, "url", json, own->found[CLIENT_URL], own);
        tenant_write_headers(tenant, json, own);
        return;
    }
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (client_source_has(json, own, texts[i].member)) {
            tenant_write_member(tenant, texts[i].name, json,
                                own->found[texts[i].member]);
        }
    }
    if (own->region != 0) {
        tenant_write_member(tenant, "region", json, own->region);
    }
    if (own->endpoint != 0) {
        tenant_write_url(tenant, "endpoint", json, own->endpoint, own);
    }
    if (client_source_has(json, own, CLIENT_PRIVATE_KEY)) {
        tenant_write_key(tenant, json, own->found[CLIENT_PRIVATE_KEY]);
    }
}

/* The name of a part of a source in its store. */
static void tenant_print_name(char *name, size_t size,
                              const struct client_source *own,
                              enum client_part part)
{
    snprintf(name, size, "%s%s", own->name,
             part == CLIENT_PART_TEXT ? "-sym" : "");
}

static void tenant_add_to_digest(struct sha256_ctx *digest, const char *text,
                                 size_t size)
{
    sha256_update(digest, size, (const uint8_t *)text);
    sha256_update(digest, 1, (const uint8_t *)"");
}

/* The beginning of a digest of the place of a source, without its secrets. */
static uint32_t tenant_place_digest(const struct json *json,
                                    const struct client_source *own)
{
    const uint32_t members[] = {
        own->found[CLIENT_TYPE], own->found[CLIENT_BUCKET],
        own->found[CLIENT_PREFIX], own->region, own->endpoint};
    struct sha256_ctx digest;
    uint8_t sum[4];
    uint32_t value;
    size_t i;

    sha256_init(&digest);
    for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        value = members[i];
        tenant_add_to_digest(&digest, value != 0 ? json_text(json, value) : "",
                             value != 0 ? json->values[value].size : 0);
    }
    tenant_add_to_digest(&digest, own->host != NULL ? own->host : "",
                         own->host_size);
    tenant_add_to_digest(&digest, own->layout, strlen(own->layout));
    tenant_add_to_digest(&digest, own->casing, strlen(own->casing));
    sha256_digest(&digest, sizeof(sum), sum);
    memcpy(&value, sum, sizeof(value));
    return value;
}

/* Names the last source of a list.  A public source has a store of its own, so
 * its name must be the same in every client's list, whatever its place there;
 * "x" and a number tell sources with the same location apart. */
static void tenant_name_last(const struct json *json, struct client_list *list)
{
    struct client_source *own = &list->sources[list->count - 1];
    size_t i, n = 0;
    char name[CLIENT_NAME_SIZE];

    if (!own->is_public) {
        snprintf(own->name, sizeof(own->name), "s%u",
                 (unsigned)(list->count - 1));
        return;
    }
    snprintf(name, sizeof(name), "p%08x", tenant_place_digest(json, own));
    for (i = 0; i + 1 < list->count; i++) {
        n += list->sources[i].is_public &&
             strncmp(list->sources[i].name, name, strlen(name)) == 0;
    }
    snprintf(own->name, sizeof(own->name), n > 0 ? "%.9sx%zu" : "%.9s", name,
             n);
}

static bool tenant_has_part(const struct client_source *own,
                            enum client_part part)
{
    unsigned text = own->filter.types & 1u << CLIENT_BREAKPAD;

    if (own->is_sentry) {
        return part == CLIENT_PART_FILES;
    }
    return part == CLIENT_PART_TEXT ? text != 0 : own->filter.types != text;
}

static void tenant_write_part(struct json_writer *tenant,
                              const struct json *json,
                              const struct client_source *own,
                              enum client_part part)
{
    char name[32];

    tenant_print_name(name, sizeof(name), own, part);
    json_write_open(tenant, '{');
    json_put_text(tenant, "name", name);
    if (own->is_public) {
        json_put_bool(tenant, "public", true);
    }
    tenant_write_member(tenant, "type", json, own->found[CLIENT_TYPE]);
    if (!own->is_sentry) {
        json_put_text(tenant, "layout",
                      part == CLIENT_PART_TEXT ? "breakpad" : own->layout);
        json_put_text(tenant, "casing", own->casing);
    }
    tenant_write_place(tenant, json, own);
    json_write_close(tenant, '}');
}

struct client_list *
client_list_read(const struct symbolicator_request *request)
{
    const struct json *json = &request->json;
    char error[64];
    struct schema_walk walk = {
        .json = json, .error = error, .error_size = sizeof(error)};
    struct client_list *list = calloc(1, sizeof(*list));
    struct client_source *own;
    uint32_t i;

    if (list == NULL) {
        return NULL;
    }
    list->steps = PATTERN_STEPS;
    for (i = request->sources + 1;
         i < json->values[request->sources].end && list->count < CLIENT_MAX;
         i = json->values[i].end) {
        if (client_source_read(&walk, i, &list->sources[list->count])) {
            own = &list->sources[list->count++];
            own->value = i;
            own->is_public = client_source_is_public(json, own);
            tenant_name_last(json, list);
        }
    }
    return list;
}

void client_list_write(struct json_writer *tenant,
                       const struct client_list *list,
                       const struct symbolicator_request *request)
{
    size_t i, written = 0;
    enum client_part part;

    json_write_open(tenant, '{');
    json_put_text(tenant, "scope", request->scope);
    json_put_open(tenant, "sources", '[');
    for (i = 0; i < list->count; i++) {
        for (part = 0; part < CLIENT_PARTS; part++) {
            if (tenant_has_part(&list->sources[i], part)) {
                tenant_write_part(tenant, &request->json, &list->sources[i],
                                  part);
                written++;
            }
        }
    }
    json_write_close(tenant, ']');
    json_write_close(tenant, '}');
    if (written == 0) {
        json_write_reset(tenant);
    }
}

uint32_t client_list_asks(struct client_list *list,
                          const struct symbolicator_request *request,
                          const struct symbolicator_module *module,
                          const symcache_key_t *key,
                          char names[CLIENT_NAMES_SIZE])
{
    char name[32];
    bool are_all = true;
    size_t i, n = 0;
    unsigned wish;
    uint32_t asked = 0;
    enum client_part part;

    names[0] = '\0';
    for (i = 0; i < list->count; i++) {
        for (part = 0; part < CLIENT_PARTS; part++) {
            if (!tenant_has_part(&list->sources[i], part)) {
                continue;
            }
            wish = client_filter_asks(request, module, key, &list->sources[i],
                                      part, &list->steps);
            are_all = are_all && (wish & CLIENT_ALL) != 0;
            if (wish == 0) {
                continue;
            }
            tenant_print_name(name, sizeof(name), &list->sources[i], part);
            n += (size_t)snprintf(
                names + n, CLIENT_NAMES_SIZE - n, "%s%s%s%s%s%s%s",
                n > 0 ? "," : "", name, wish & CLIENT_ALL ? "" : ":",
                (wish & (CLIENT_ALL | CLIENT_DEBUG_FILES)) ==
                        CLIENT_DEBUG_FILES
                    ? "d"
                    : "",
                (wish & (CLIENT_ALL | CLIENT_KEY)) == CLIENT_KEY ? "k" : "",
                (wish & (CLIENT_ALL | CLIENT_BUNDLES)) == CLIENT_BUNDLES ? "s"
                                                                         : "",
                (wish & (CLIENT_ALL | CLIENT_PROGRAMS)) == CLIENT_PROGRAMS
                    ? "p"
                    : "");
            asked |= (uint32_t)1 << i;
        }
    }
    if (are_all || n > SYMCACHE_HINT_MAX) {
        names[0] = '\0';
    }
    return asked;
}
