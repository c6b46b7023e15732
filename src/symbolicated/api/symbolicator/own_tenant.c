/*
 * Copyright (C) the ngx_symcache authors
 */
#include "own_sources.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "own_source.h"

static void write_member(struct json_writer *w, const char *name,
                         const struct json *json, uint32_t value)
{
    json_write_key(w, name);
    json_write_string(w, json_text(json, value), json->values[value].size);
}

static void write_url(struct json_writer *w, const char *name,
                      const struct json *json, uint32_t value,
                      const struct own_source *own)
{
    const char *text = json_text(json, value);
    size_t scheme = (size_t)(strstr(text, "://") + 3 - text);
    char *url = NULL;

    if (asprintf(&url, "%.*s%.*s", (int)scheme, text, (int)own->host_size,
                 own->host) < 0) {
        w->has_failed = true;
        return;
    }
    json_write_key(w, name);
    json_write_text(w, url);
    free(url);
}

/* Decodes text in place; returns its size then. */
static size_t decode(char *text, size_t size)
{
    char *from, *to = text, *end = text + size;
    int high, low;

    for (from = text; from < end; from++) {
        high = *from == '%' && end - from > 2 ? shape_digit(from[1]) : -1;
        low = high != -1 ? shape_digit(from[2]) : -1;
        if (low != -1) {
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    return (size_t)(to - text);
}

/* A user name and a password in a URL are sent as HTTP clients do. */
static void write_login(struct json_writer *w, const struct own_source *own)
{
    char *login = strndup(own->login, own->login_size);
    unsigned char *base64 = malloc(own->login_size * 2 + 8);
    size_t size;
    char *line = NULL;

    if (login != NULL && base64 != NULL) {
        size = decode(login, own->login_size);
        if (memchr(login, ':', size) == NULL) {
            login[size++] = ':'; /* where the NUL was */
        }
        EVP_EncodeBlock(base64, (unsigned char *)login, (int)size);
    }
    if (login == NULL || base64 == NULL ||
        asprintf(&line, "Basic %s", base64) < 0) {
        w->has_failed = true;
    } else {
        json_write_key(w, "authorization");
        json_write_text(w, line);
    }
    free(line);
    free(base64);
    free(login);
}

static void write_headers(struct json_writer *w, const struct json *json,
                          const struct own_source *own)
{
    uint32_t headers = own->found[OWN_HEADERS], i;
    bool has_own = false;

    json_write_key(w, "headers");
    json_write_open(w, '{');
    for (i = headers + 1; headers != 0 && i < json->values[headers].end;
         i = json->values[i + 1].end) {
        has_own = has_own ||
                  (json->values[i].size == 13 &&
                   strncasecmp(json_text(json, i), "authorization", 13) == 0);
        if (json->values[i + 1].size > 0) {
            json_write_name(w, json_text(json, i), json->values[i].size);
            json_write_string(w, json_text(json, i + 1),
                              json->values[i + 1].size);
        }
    }
    if (own->login != NULL && !has_own) {
        write_login(w, own);
    }
    json_write_close(w, '}');
}

/* Writes a key in one line, "\n" in place of line ends. */
static void write_key(struct json_writer *w, const struct json *json,
                      uint32_t value)
{
    const char *text = json_text(json, value);
    size_t i, n = 0, size = json->values[value].size;
    char *line = malloc(2 * size + 1);

    if (line == NULL) {
        w->has_failed = true;
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
    json_write_key(w, "private_key");
    json_write_string(w, line, n);
    explicit_bzero(line, n);
    free(line);
}

static void write_place(struct json_writer *w, const struct json *json,
                        const struct own_source *own)
{
    static const struct {
        enum own_member member;
        const char *name;
    } texts[] = {
        {OWN_BUCKET, "bucket"},         {OWN_PREFIX, "prefix"},
        {OWN_ACCESS_KEY, "access_key"}, {OWN_SECRET_KEY, "secret_key"},
        {OWN_CLIENT_EMAIL, "client_email"}, {OWN_BEARER_TOKEN, "token"},
    };
    size_t i;

    if (json_is(json, own->found[OWN_TYPE], "http")) {
        write_url(w, "url", json, own->found[OWN_URL], own);
        write_headers(w, json, own);
        return;
    }
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (own_source_has(json, own, texts[i].member)) {
            write_member(w, texts[i].name, json, own->found[texts[i].member]);
        }
    }
    if (own->region != 0) {
        write_member(w, "region", json, own->region);
    }
    if (own->endpoint != 0) {
        write_url(w, "endpoint", json, own->endpoint, own);
    }
    if (own_source_has(json, own, OWN_PRIVATE_KEY)) {
        write_key(w, json, own->found[OWN_PRIVATE_KEY]);
    }
}

static void write_own(struct json_writer *w, const struct json *json,
                      const struct own_source *own, size_t index)
{
    char name[32];

    snprintf(name, sizeof(name), "s%zu", index);
    json_write_open(w, '{');
    json_write_key(w, "name");
    json_write_text(w, name);
    write_member(w, "type", json, own->found[OWN_TYPE]);
    json_write_key(w, "layout");
    json_write_text(w, own->layout);
    json_write_key(w, "casing");
    json_write_text(w, own->casing);
    json_write_key(w, "modules");
    json_write_text(w, !own->has_others ? "pdb"
                       : own->has_pdbs  ? "all"
                                        : "other");
    write_place(w, json, own);
    json_write_close(w, '}');
}

void own_sources_write(struct json_writer *w,
                       const struct symbolicator_request *request)
{
    const struct json *json = &request->json;
    char error[64];
    struct shape_walk walk = {
        .json = json, .error = error, .error_size = sizeof(error)};
    struct own_source own;
    uint32_t i;
    size_t n = 0, written = 0;

    json_write_open(w, '{');
    json_write_key(w, "scope");
    json_write_text(w, request->scope);
    json_write_key(w, "sources");
    json_write_open(w, '[');
    for (i = request->sources + 1; i < json->values[request->sources].end;
         i = json->values[i].end, n++) {
        if (own_source_read(&walk, i, &own) && own.layout != NULL) {
            write_own(w, json, &own, n);
            written++;
        }
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
    if (written == 0) {
        json_write_reset(w);
    }
}

/* candidates --------------------------------------------------------------- */

uint32_t own_source_find(const struct symbolicator_request *request,
                         const char *name)
{
    const struct json *json = &request->json;
    unsigned long index, n = 0;
    uint32_t i;

    if (name[0] != 's') {
        return 0;
    }
    index = strtoul(name + 1, NULL, 10);
    for (i = request->sources + 1; i < json->values[request->sources].end;
         i = json->values[i].end, n++) {
        if (n == index) {
            return i;
        }
    }
    return 0;
}

bool own_source_has_places(const struct symbolicator_request *request,
                           uint32_t source)
{
    char error[64];
    struct shape_walk walk = {.json = &request->json,
                              .error = error,
                              .error_size = sizeof(error)};
    struct own_source own;

    return own_source_read(&walk, source, &own) && own.layout != NULL;
}

char *own_source_location(const struct symbolicator_request *request,
                          uint32_t source, const char *place)
{
    const struct json *json = &request->json;
    uint32_t type = json_member(json, source, "type");
    uint32_t bucket = json_member(json, source, "bucket");
    const char *host = strstr(place, "://"), *key, *text;
    char *location = NULL;
    size_t size;

    if (type == 0 || bucket == 0 || json_is(json, type, "http") ||
        host == NULL || (key = strchr(host + 3, '/')) == NULL) {
        return strdup(place);
    }
    text = json_text(json, bucket);
    size = json->values[bucket].size;
    /* the bucket is a folder, or a part of the host's name */
    if (strncmp(key + 1, text, size) == 0 && key[1 + size] == '/' &&
        strncmp(host + 3, text, size) != 0) {
        key += 1 + size;
    }
    if (asprintf(&location, "%s://%.*s%s",
                 json_is(json, type, "s3") ? "s3" : "gs", (int)size, text,
                 key) < 0) {
        return NULL;
    }
    location[decode(location, strlen(location))] = '\0';
    return location;
}
