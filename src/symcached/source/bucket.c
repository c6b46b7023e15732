/*
 * Copyright (C) the ngx_symcache authors
 *
 * Buckets of S3 and of Google's storage: an HTTP server whose requests are
 * signed by libcurl, and whose answers have their reasons in a small XML body.
 */
#include "steps.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET_MAX 222 /* a GCS name with dots */
#define REGION_MAX 64
#define HEADERS 2

/* SHA-256 of no bytes: what a GET sends. */
#define EMPTY_SHA256                                                          \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* libcurl 7.87; older ones sign neither our headers nor the host's port. */
#define SIGV4_VERSION 0x075700

/* Both become part of a host name or a path, and of the signature. */
#define REGION_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define BUCKET_LETTERS REGION_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._"

/* The settings; all texts may be NULL but for the name. */
struct bucket {
    char *name;
    char *region;
    char *endpoint; /* URL, no trailing slash */
    char *prefix;   /* encoded, with a slash before it, or empty */
    char *access_key; /* these are moved to the transport in the end */
    char *secret_key;
    char *session_token;
    char *token;
    bool path_style;
    bool denied_is_absent; /* 403 AccessDenied: there is no such object */
    bool has_answered;     /* no setting: it has taken our keys since then */
};

#define KEY(key, read, member, flags)                                         \
    {                                                                         \
        key, read, offsetof(struct bucket, member), 0, 0, flags               \
    }

#define BOTH                                                                  \
    KEY("bucket", config_string, name, CONFIG_REQUIRED),                      \
        KEY("endpoint", config_url, endpoint, 0),                             \
        KEY("prefix", config_url_path, prefix, 0),                            \
        KEY("access_key", config_secret, access_key, CONFIG_SECRET),          \
        KEY("secret_key", config_secret, secret_key, CONFIG_SECRET),          \
        KEY("denied_is_absent", config_bool, denied_is_absent, 0)

static const struct config_field s3_keys[] = {
    BOTH,
    KEY("region", config_string, region, CONFIG_REQUIRED),
    KEY("path_style", config_bool, path_style, 0),
    KEY("session_token", config_secret, session_token, CONFIG_SECRET),
};

static const struct config_field gcs_keys[] = {
    BOTH,
    KEY("region", config_string, region, 0),
    KEY("token", config_secret, token, CONFIG_SECRET),
};

static bool is_of(const char *text, size_t max, const char *letters)
{
    size_t n = strspn(text, letters);

    return n > 0 && n <= max && text[n] == '\0';
}

static int check_keys(struct config_reader *r, const cJSON *item,
                      const struct bucket *bucket)
{
    if (!is_of(bucket->name, BUCKET_MAX, BUCKET_LETTERS) ||
        bucket->name[0] == '.') {
        return config_error(r, item, "\"bucket\" is no name of a bucket");
    }
    if (bucket->region != NULL &&
        !is_of(bucket->region, REGION_MAX, REGION_LETTERS)) {
        return config_error(r, item, "\"region\" is no name of a region");
    }
    if ((bucket->access_key == NULL) != (bucket->secret_key == NULL)) {
        return config_error(r, item,
                            "\"access_key\" and \"secret_key\" go together");
    }
    if (bucket->session_token != NULL && bucket->access_key == NULL) {
        return config_error(r, item,
                            "\"session_token\" is without \"access_key\"");
    }
    if (bucket->token != NULL && bucket->access_key != NULL) {
        return config_error(r, item, "has \"token\" and \"access_key\"");
    }
    if (bucket->access_key != NULL &&
        (strchr(bucket->access_key, ':') != NULL ||
         curl_version_info(CURLVERSION_NOW)->version_num < SIGV4_VERSION)) {
        return config_error(r, item,
                            strchr(bucket->access_key, ':') != NULL
                                ? "\"access_key\" has a colon"
                                : "signing needs libcurl 7.87 or newer");
    }
    return 0;
}

/* The bucket is a folder of the server, or the first label of its name. */
static int make_url(struct config_reader *r, const cJSON *item,
                    struct source_config *source, const char *endpoint,
                    bool path_style)
{
    const struct bucket *bucket = source->settings;
    const char *prefix = bucket->prefix != NULL ? bucket->prefix : "";
    const char *host = strstr(endpoint, "://") + 3;
    int rc;

    rc = path_style ? asprintf(&source->url, "%s/%s%s", endpoint,
                               bucket->name, prefix)
                    : asprintf(&source->url, "%.*s%s.%s%s",
                               (int)(host - endpoint), endpoint, bucket->name,
                               host, prefix);
    if (rc < 0) {
        source->url = NULL;
        return config_error(r, item, "out of memory");
    }
    return 0;
}

static bool add_header(struct transport_config *transport, const char *name,
                       const char *value)
{
    struct header_config *header = &transport->headers[transport->nheaders];

    header->name = strdup(name);
    header->value = strdup(value);
    transport->nheaders++;
    return header->name != NULL && header->value != NULL;
}

/*
 * The signature covers these headers, those of the configuration, the date and
 * the host.  GCS accepts the same signature with its HMAC keys ("simple
 * migration from Amazon S3").  The one of its own is not used, because for that
 * libcurl 8.23 encodes the path twice.
 */
static int sign(struct config_reader *r, const cJSON *item,
                struct source_config *source)
{
    struct transport_config *transport = &source->transport;
    struct bucket *bucket = source->settings;
    bool done;
    struct header_config *headers;

    headers = realloc(transport->headers,
                      (transport->nheaders + HEADERS) * sizeof(*headers));
    if (headers == NULL) {
        return config_error(r, item, "out of memory");
    }
    transport->headers = headers;

    done = add_header(transport, "x-amz-content-sha256", EMPTY_SHA256);
    if (done && bucket->session_token != NULL) {
        done = add_header(transport, "x-amz-security-token",
                          bucket->session_token);
    }
    if (asprintf(&transport->sigv4, "aws:amz:%s:s3",
                 bucket->region != NULL ? bucket->region : "auto") < 0) {
        transport->sigv4 = NULL;
        done = false;
    }
    if (!done) {
        return config_error(r, item, "out of memory");
    }

    transport->auth = TRANSPORT_SIGV4;
    transport->user = bucket->access_key;
    transport->password = bucket->secret_key;
    bucket->access_key = bucket->secret_key = NULL;
    return 0;
}

static int authorize(struct config_reader *r, const cJSON *item,
                     struct source_config *source)
{
    struct bucket *bucket = source->settings;

    if (bucket->token != NULL) {
        source->transport.auth = TRANSPORT_BEARER;
        source->transport.token = bucket->token;
        bucket->token = NULL;
    }
    return bucket->access_key != NULL ? sign(r, item, source) : 0;
}

static int check_s3(struct config_reader *r, const cJSON *item,
                    struct source_config *source)
{
    const struct bucket *bucket = source->settings;
    const char *endpoint = bucket->endpoint;
    char host[REGION_MAX + 64];

    if (check_keys(r, item, bucket) != 0) {
        return -1;
    }
    if (endpoint == NULL) {
        snprintf(host, sizeof(host), "https://s3.%s.amazonaws.com",
                 bucket->region);
        endpoint = host;
    }
    return make_url(r, item, source, endpoint, bucket->path_style) == 0
               ? authorize(r, item, source)
               : -1;
}

static int check_gcs(struct config_reader *r, const cJSON *item,
                     struct source_config *source)
{
    const struct bucket *bucket = source->settings;
    const char *endpoint = bucket->endpoint;

    if (endpoint == NULL) {
        endpoint = "https://storage.googleapis.com";
    }
    return check_keys(r, item, bucket) == 0 &&
                   make_url(r, item, source, endpoint, true) == 0
               ? authorize(r, item, source)
               : -1;
}

/*
 * One status may have several reasons; the <Code> in the body tells which.  A
 * store may say of keys that it does not know what it says of objects, 404 or
 * AccessDenied.  So 404 counts with the code for objects or without any, and
 * AccessDenied once the store has shown that it takes our keys.  A reload reads
 * the keys again, and has new settings.
 */
static enum source_outcome judge(struct lookup *lookup,
                                 const struct fetch_result *result,
                                 char *detail, size_t size)
{
    struct bucket *bucket = lookup->source->settings;
    const struct fetch_answer *answer = result->answer;
    char code[HTTP_CODE];

    snprintf(detail, size, "%s", result->detail);
    if (answer->status < 300 || answer->moved) {
        bucket->has_answered |= result->outcome == SOURCE_FOUND;
        return result->outcome;
    }

    source_http_code(code, answer);
    snprintf(detail, size, "%s%s%s", result->detail,
             code[0] != '\0' ? " " : "", code);

    switch (answer->status) {
    case 404:
        if (code[0] == '\0') {
            return result->outcome;
        }
        if (strcmp(code, "NoSuchKey") != 0) {
            return SOURCE_FAILED;
        }
        bucket->has_answered = true;
        return result->outcome;
    case 403:
        if (strcmp(code, "AccessDenied") != 0 || !bucket->denied_is_absent) {
            return SOURCE_FAILED;
        }
        if (!bucket->has_answered) {
            snprintf(detail, size, "%s %s, and no other answer yet",
                     result->detail, code);
            return SOURCE_FAILED;
        }
        return SOURCE_NOT_FOUND;
    case 400:
        return strcmp(code, "KeyTooLongError") == 0 ? SOURCE_NOT_FOUND
                                                    : SOURCE_FAILED;
    default:
        return result->outcome;
    }
}

static void begin(struct lookup *lookup)
{
    source_http_walk(lookup, judge);
}

#define SHARED                                                                \
    (SOURCE_KEYS_LAYOUT | SOURCE_KEYS_MAP | SOURCE_KEYS_HTTP |                \
     SOURCE_KEYS_HEADERS)

const struct source_type source_s3 = {
    .name = "s3",
    .shared = SHARED,
    .keys = s3_keys,
    .nkeys = sizeof(s3_keys) / sizeof(s3_keys[0]),
    .settings_size = sizeof(struct bucket),
    .place = "endpoint",
    .check = check_s3,
    .begin = begin,
};

const struct source_type source_gcs = {
    .name = "gcs",
    .shared = SHARED,
    .keys = gcs_keys,
    .nkeys = sizeof(gcs_keys) / sizeof(gcs_keys[0]),
    .settings_size = sizeof(struct bucket),
    .place = "endpoint",
    .check = check_gcs,
    .begin = begin,
};
