/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transport.h"
#include "base/array.h"
#include "config.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "secret_field.h"

#define TRANSPORT_FIELD(name, read, flags)                                    \
    {                                                                         \
#name, read, offsetof(struct transport_config, name), 0, 0, flags     \
    }

static int read_transport_header(struct config_reader *r, const cJSON *item,
                                 struct header_config *header)
{
    const char *p;

    for (p = item->string; isalnum((unsigned char)*p) ||
                           (*p != '\0' && strchr("!#$%&'*+-.^_`|~", *p));
         p++) {
    }
    if (*p != '\0' || p == item->string) {
        return field_error(r, item, "is not a header name");
    }

    header->name = strdup(item->string);
    if (header->name == NULL) {
        return field_error(r, item, "out of memory");
    }
    return field_secret(r, item, NULL, &header->value);
}

int config_headers(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    struct transport_config *transport = at;
    const cJSON *child, *other;

    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object of strings");
    }

    transport->headers = calloc((size_t)cJSON_GetArraySize(item) + 1,
                                sizeof(transport->headers[0]));
    if (transport->headers == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        for (other = item->child; other != child; other = other->next) {
            if (strcasecmp(other->string, child->string) == 0) {
                return field_error(r, child, "repeated key");
            }
        }
        if (read_transport_header(
                r, child, &transport->headers[transport->nheaders++]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_transport_auth_type(struct config_reader *r, const cJSON *item,
                                    const struct config_field *field, void *at)
{
    static const char *const words[] = {"basic", "bearer", "negotiate"};
    struct transport_config *transport = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    transport->auth = (enum transport_auth)(TRANSPORT_BASIC + value);
    return 0;
}

int config_auth(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at)
{
    static const struct config_field fields[] = {
        {"type", read_transport_auth_type, 0, 0, 0, CONFIG_REQUIRED},
        TRANSPORT_FIELD(user, field_string, 0),
        TRANSPORT_FIELD(password, field_secret, CONFIG_SECRET),
        TRANSPORT_FIELD(token, field_secret, CONFIG_SECRET),
    };
    struct transport_config *transport = at;
    bool basic, bearer;

    if (field_object(r, item, fields, COUNT(fields), transport) != 0) {
        return -1;
    }

    basic = transport->auth == TRANSPORT_BASIC;
    bearer = transport->auth == TRANSPORT_BEARER;
    if (basic && transport->password == NULL) {
        return field_error(r, item, "\"password\" is missing");
    }
    if (bearer && transport->token == NULL) {
        return field_error(r, item, "\"token\" is missing");
    }
    if (!basic && (transport->user != NULL || transport->password != NULL)) {
        return field_error(r, item,
                           "\"user\" and \"password\" are for \"basic\"");
    }
    if (!bearer && transport->token != NULL) {
        return field_error(r, item, "\"token\" is for \"bearer\"");
    }
    if (basic && transport->user != NULL &&
        strchr(transport->user, ':') != NULL) {
        return field_error(r, item, "\"user\" has a colon");
    }
    return 0;
}

/* Reads the path of a file that libcurl reads for each connection.  It is an
 * error now if it cannot be read. */
static int read_transport_file(struct config_reader *r, const cJSON *item,
                               const struct config_field *field, void *at)
{
    if (field_path(r, item, field, at) != 0) {
        return -1;
    }
    if (access(*(char **)at, R_OK) != 0) {
        return field_error(r, item, "cannot be read: %s", strerror(errno));
    }
    return 0;
}

int config_tls(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at)
{
    static const struct config_field fields[] = {
        TRANSPORT_FIELD(ca, read_transport_file, 0),
        TRANSPORT_FIELD(certificate, read_transport_file, 0),
        TRANSPORT_FIELD(key, read_transport_file, 0),
        TRANSPORT_FIELD(key_password, field_secret, CONFIG_SECRET),
    };
    struct transport_config *transport = at;

    if (field_object(r, item, fields, COUNT(fields), transport) != 0) {
        return -1;
    }
    if (transport->certificate == NULL &&
        (transport->key != NULL || transport->key_password != NULL)) {
        return field_error(r, item, "\"certificate\" is missing");
    }
    return 0;
}

int config_proxy(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    struct transport_config *transport = at;
    CURLU *url;
    bool good;

    if (field_text(r, item, "\"http://proxy.example.com:3128\"") == NULL ||
        field_secret(r, item, field, &transport->proxy) != 0) {
        return -1;
    }

    url = curl_url();
    if (url == NULL) {
        return field_error(r, item, "out of memory");
    }
    good = strncasecmp(transport->proxy, "http://", 7) == 0 &&
           curl_url_set(url, CURLUPART_URL, transport->proxy, 0) == CURLUE_OK;
    curl_url_cleanup(url);

    /* the text may contain a password, so the error does not show it */
    return good ? 0
                : field_error(r, item,
                              "must be http://[user:password@]host:port");
}

int config_internal(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *out)
{
    enum transport_internal *internal = out;

    if (cJSON_IsString(item) && strcmp(item->valuestring, "origin") == 0) {
        *internal = TRANSPORT_INTERNAL_ORIGIN;
    } else if (cJSON_IsBool(item)) {
        *internal =
            cJSON_IsTrue(item) ? TRANSPORT_INTERNAL : TRANSPORT_OUTSIDE;
    } else {
        return field_error(r, item, "must be true or false, or \"origin\"");
    }
    return 0;
}

int config_http_version(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at)
{
    static const char *const words[] = {"1.1", "2"};
    struct transport_config *transport = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    transport->http = (enum transport_http)(TRANSPORT_HTTP_1_1 + value);
    return 0;
}

int config_transport_check(struct config_reader *r, const cJSON *item,
                           struct transport_config *transport)
{
    static atomic_ullong last;
    size_t i;

    transport->id = atomic_fetch_add(&last, 2) + 2;

    for (i = 0; i < transport->nheaders; i++) {
        if (transport->auth != TRANSPORT_NO_AUTH &&
            strcasecmp(transport->headers[i].name, "Authorization") == 0) {
            return field_error(r, item,
                               "has \"auth\" and an \"Authorization\" header");
        }
    }
    return 0;
}

bool config_transport_add_header(struct transport_config *transport,
                                 const char *name, const char *value)
{
    struct header_config *header = &transport->headers[transport->nheaders];

    header->name = strdup(name);
    header->value = strdup(value);
    transport->nheaders++;
    return header->name != NULL && header->value != NULL;
}

void config_transport_clear(struct transport_config *transport)
{
    size_t i;

    for (i = 0; i < transport->nheaders; i++) {
        free(transport->headers[i].name);
        secret_free(transport->headers[i].value);
    }
    for (i = 0; i < TRANSPORT_WRITTEN; i++) {
        secret_free(transport->written[i]);
    }
    free(transport->headers);
    secret_free(transport->user);
    free(transport->sigv4);
    free(transport->ca);
    free(transport->certificate);
    free(transport->key);
    free(transport->user_agent);
    secret_free(transport->password);
    secret_free(transport->token);
    secret_free(transport->key_password);
    secret_free(transport->proxy);
}

/* The place of what was read from transport->written[i], or NULL. */
static char **read_transport_from(struct transport_config *transport, size_t i)
{
    size_t n;

    if (i < 2) {
        return i == 0 ? &transport->user : &transport->password;
    }
    for (n = 0; n < transport->nheaders; n++) {
        if (strcmp(transport->headers[n].name, BUCKET_TOKEN_HEADER) == 0) {
            return &transport->headers[n].value;
        }
    }
    return NULL;
}

int config_keys_read(const struct bucket_keys *written,
                     struct bucket_keys *keys, char *error, size_t size)
{
    char buf[SECRET_MAX + 1];
    int rc = 0;
    size_t i;

    for (i = 0; i < TRANSPORT_WRITTEN && rc == 0; i++) {
        if (written->text[i] == NULL) {
            continue;
        }
        rc = secret_expand(written->text[i], buf, sizeof(buf), error, size);
        keys->text[i] = rc == 0 ? strdup(buf) : NULL;
        explicit_bzero(buf, sizeof(buf));
    }
    return rc;
}

void config_keys_use(struct transport_config *transport,
                     struct bucket_keys *keys)
{
    bool changed = false;
    char **at;
    size_t i;

    for (i = 0; i < TRANSPORT_WRITTEN; i++) {
        at = read_transport_from(transport, i);
        if (at != NULL && *at != NULL && keys->text[i] != NULL &&
            strcmp(*at, keys->text[i]) != 0) {
            secret_free(*at);
            *at = keys->text[i];
            keys->text[i] = NULL;
            changed = true;
        }
    }
    transport->renewals += changed;
}

void config_keys_clear(struct bucket_keys *keys)
{
    size_t i;

    for (i = 0; i < TRANSPORT_WRITTEN; i++) {
        secret_free(keys->text[i]);
        keys->text[i] = NULL;
    }
}
