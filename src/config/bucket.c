/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bucket.h"

#include <curl/curl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "secret_field.h"

#define BUCKET_MAX 222 /* a GCS name with dots */
#define REGION_MAX 64
#define HEADERS 2

/* libcurl 7.87; older ones sign neither our headers nor the host's port. */
#define SIGV4_VERSION 0x075700

/* Both become part of a host name or a path, and of the signature. */
#define REGION_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define BUCKET_LETTERS REGION_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._"

#define KEY(key, read, member, flags)                                         \
    {                                                                         \
        key, read, offsetof(struct bucket_config, member), 0, 0, flags        \
    }

#define PLACE                                                                 \
    KEY("bucket", field_string, name, CONFIG_REQUIRED),                       \
        KEY("endpoint", field_url, endpoint, 0),                              \
        KEY("prefix", field_url_path, prefix, 0)

#define SIGNING                                                               \
    KEY("access_key", field_secret, access_key, CONFIG_SECRET),               \
        KEY("secret_key", field_secret, secret_key, CONFIG_SECRET)

const struct config_field config_s3_keys[CONFIG_S3_KEYS] = {
    PLACE,
    SIGNING,
    KEY("region", field_string, region, CONFIG_REQUIRED),
    KEY("path_style", field_bool, path_style, 0),
    KEY("session_token", field_secret, session_token, CONFIG_SECRET),
    KEY("denied_is_absent", field_bool, denied_is_absent, 0),
};

const struct config_field config_gcs_keys[CONFIG_GCS_KEYS] = {
    PLACE,
    KEY("client_email", field_string, client_email, 0),
    KEY("private_key", field_private_key, private_key, CONFIG_SECRET),
    SIGNING,
    KEY("region", field_string, region, 0),
    KEY("token", field_secret, token, CONFIG_SECRET),
    KEY("denied_is_absent", field_bool, denied_is_absent, 0),
};

static bool bucket_is_of(const char *text, size_t max, const char *letters)
{
    size_t n = strspn(text, letters);

    return n > 0 && n <= max && text[n] == '\0';
}

/* The file of a service account says whose key it has.  Google refuses all
 * that is signed in the name of another one. */
static int check_bucket_account(struct config_reader *r, const cJSON *item,
                                const struct bucket_config *bucket)
{
    const cJSON *key = cJSON_GetObjectItemCaseSensitive(item, "private_key");
    char *account =
        bucket->private_key != NULL ? field_private_key_account(key) : NULL;
    int rc = 0;

    if (account != NULL && strcmp(account, bucket->client_email) != 0) {
        rc = field_error(
            r, cJSON_GetObjectItemCaseSensitive(item, "client_email"),
            "is not the account of \"private_key\", which is \"%.200s\"",
            account);
    }
    free(account);
    return rc;
}

static int check_bucket_keys(struct config_reader *r, const cJSON *item,
                             const struct bucket_config *bucket)
{
    if (!bucket_is_of(bucket->name, BUCKET_MAX, BUCKET_LETTERS) ||
        bucket->name[0] == '.') {
        return field_error(r, item, "\"bucket\" is not the name of a bucket");
    }
    if (bucket->region != NULL &&
        !bucket_is_of(bucket->region, REGION_MAX, REGION_LETTERS)) {
        return field_error(r, item, "\"region\" is not the name of a region");
    }
    if ((bucket->access_key == NULL) != (bucket->secret_key == NULL)) {
        return field_error(r, item,
                           "\"access_key\" and \"secret_key\" go together");
    }
    if (bucket->session_token != NULL && bucket->access_key == NULL) {
        return field_error(r, item,
                           "\"session_token\" is without \"access_key\"");
    }
    if ((bucket->client_email == NULL) != (bucket->private_key == NULL)) {
        return field_error(r, item,
                           "\"client_email\" and \"private_key\" go together");
    }
    if (check_bucket_account(r, item, bucket) != 0) {
        return -1;
    }
    if ((bucket->token != NULL) + (bucket->access_key != NULL) +
            (bucket->private_key != NULL) > 1) {
        return field_error(r, item,
                           "has more than one of \"token\", "
                           "\"access_key\" and \"private_key\"");
    }
    if (bucket->access_key != NULL &&
        (strchr(bucket->access_key, ':') != NULL ||
         curl_version_info(CURLVERSION_NOW)->version_num < SIGV4_VERSION)) {
        return field_error(r, item,
                           strchr(bucket->access_key, ':') != NULL
                               ? "\"access_key\" has a colon"
                               : "signing needs libcurl 7.87 or newer");
    }
    return 0;
}

/* The bucket is a folder of the server, or the first label of its name. */
static int make_bucket_url(struct config_reader *r, const cJSON *item,
                           const struct bucket_config *bucket,
                           const char *endpoint, bool path_style, char **url)
{
    const char *prefix = bucket->prefix != NULL ? bucket->prefix : "";
    const char *host = strstr(endpoint, "://") + 3;
    int rc;

    rc = path_style ? asprintf(url, "%s/%s%s", endpoint, bucket->name, prefix)
                    : asprintf(url, "%.*s%s.%s%s", (int)(host - endpoint),
                               endpoint, bucket->name, host, prefix);
    if (rc < 0) {
        *url = NULL;
        return field_error(r, item, "out of memory");
    }
    return 0;
}

/* Keeps how the keys are written, so that they can be read again. */
static bool keep_bucket_written(const cJSON *item,
                                struct transport_config *transport)
{
    static const char *const keys[TRANSPORT_WRITTEN] = {
        "access_key", "secret_key", "session_token"};
    const char *text;
    size_t i;

    for (i = 0; i < TRANSPORT_WRITTEN; i++) {
        text = cJSON_GetStringValue(
            cJSON_GetObjectItemCaseSensitive(item, keys[i]));
        if (text != NULL) {
            transport->written[i] = strdup(text);
            if (transport->written[i] == NULL) {
                return false;
            }
        }
    }
    return true;
}

/*
 * The signature covers these headers, those of the configuration, the date and
 * the host.  GCS accepts the same signature with its HMAC keys ("simple
 * migration from Amazon S3").  The one of its own is not used, because for that
 * libcurl 8.23 encodes the path twice.
 */
static int sign_bucket(struct config_reader *r, const cJSON *item,
                       struct bucket_config *bucket, bool bodies,
                       struct transport_config *transport)
{
    struct header_config *headers;
    bool done;

    headers = realloc(transport->headers,
                      (transport->nheaders + HEADERS) * sizeof(*headers));
    if (headers == NULL) {
        return field_error(r, item, "out of memory");
    }
    transport->headers = headers;

    done = bodies || config_transport_add_header(transport, BUCKET_BODY_HEADER,
                                                 BUCKET_BODY_EMPTY);
    if (done && bucket->session_token != NULL) {
        done = config_transport_add_header(transport, BUCKET_TOKEN_HEADER,
                                           bucket->session_token);
    }
    if (asprintf(&transport->sigv4, "aws:amz:%s:s3",
                 bucket->region != NULL ? bucket->region : "auto") < 0) {
        transport->sigv4 = NULL;
        done = false;
    }
    if (!done || !keep_bucket_written(item, transport)) {
        return field_error(r, item, "out of memory");
    }

    transport->auth = TRANSPORT_SIGV4;
    transport->user = bucket->access_key;
    transport->password = bucket->secret_key;
    bucket->access_key = bucket->secret_key = NULL;
    return 0;
}

static int authorize_bucket(struct config_reader *r, const cJSON *item,
                            struct bucket_config *bucket, bool bodies,
                            struct transport_config *transport)
{
    if (bucket->token != NULL) {
        transport->auth = TRANSPORT_BEARER;
        transport->token = bucket->token;
        bucket->token = NULL;
    }
    return bucket->access_key != NULL
               ? sign_bucket(r, item, bucket, bodies, transport)
               : 0;
}

int config_s3_url(struct config_reader *r, const cJSON *item,
                  const struct bucket_config *bucket, const char *endpoint,
                  char **url)
{
    char host[REGION_MAX + 64];

    if (endpoint == NULL) {
        snprintf(host, sizeof(host), "https://s3.%.64s.amazonaws.com",
                 bucket->region);
        endpoint = host;
    }
    return make_bucket_url(r, item, bucket, endpoint, bucket->path_style, url);
}

int config_s3_check(struct config_reader *r, const cJSON *item,
                    struct bucket_config *bucket, bool bodies, char **url,
                    struct transport_config *transport)
{
    return check_bucket_keys(r, item, bucket) == 0 &&
                   config_s3_url(r, item, bucket, bucket->endpoint, url) == 0
               ? authorize_bucket(r, item, bucket, bodies, transport)
               : -1;
}

int config_gcs_check(struct config_reader *r, const cJSON *item,
                     struct bucket_config *bucket, char **url,
                     struct transport_config *transport)
{
    const char *endpoint = bucket->endpoint;

    if (endpoint == NULL) {
        endpoint = "https://storage.googleapis.com";
    }
    return check_bucket_keys(r, item, bucket) == 0 &&
                   make_bucket_url(r, item, bucket, endpoint, true, url) == 0
               ? authorize_bucket(r, item, bucket, false, transport)
               : -1;
}
