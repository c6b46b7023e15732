/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bucket.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "secret.h"
#include "base/percent.h"

#define BUCKET_MAX 222 /* a GCS name with dots */
#define REGION_MAX 64
#define PREFIX_MAX 1024
#define HEADERS 2

/* SHA-256 of no bytes: what a GET sends. */
#define EMPTY_SHA256                                                          \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Before it, libcurl signs neither own headers nor the port of the host. */
#define SIGV4_VERSION 0x075700

/* Both become a part of a host name or a path, and of the signature. */
#define REGION_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define BUCKET_LETTERS REGION_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._"

static bool is_of(const char *text, size_t max, const char *letters)
{
    size_t n = strspn(text, letters);

    return n > 0 && n <= max && text[n] == '\0';
}

static int check(struct config_reader *r, const cJSON *item,
                 const struct source_config *source)
{
    const struct bucket_config *bucket = &source->bucket;
    bool s3 = source->type == SOURCE_S3;

    if (!is_of(bucket->name, BUCKET_MAX, BUCKET_LETTERS) ||
        bucket->name[0] == '.') {
        return config_error(r, item, "\"bucket\" is no name of a bucket");
    }
    if (bucket->region != NULL &&
        !is_of(bucket->region, REGION_MAX, REGION_LETTERS)) {
        return config_error(r, item, "\"region\" is no name of a region");
    }
    if (s3 && bucket->region == NULL) {
        return config_error(r, item, "\"region\" is missing");
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

/* Copies the prefix without slashes at its ends, percent-encoded. */
static char *escape_prefix(const char *prefix)
{
    char *text, *escaped;
    size_t len;

    prefix += strspn(prefix, "/");
    len = strlen(prefix);
    while (len > 0 && prefix[len - 1] == '/') {
        len--;
    }

    text = strndup(prefix, len);
    escaped = malloc(3 * len + 1);
    if (text != NULL && escaped != NULL) {
        percent_encode_path(escaped, text);
    } else {
        free(escaped);
        escaped = NULL;
    }
    free(text);
    return escaped;
}

static int make_url(struct config_reader *r, const cJSON *item,
                    struct source_config *source)
{
    const struct bucket_config *bucket = &source->bucket;
    char *endpoint = NULL, *prefix, *host;
    bool path_style = bucket->path_style || source->type == SOURCE_GCS;
    int rc;

    prefix = escape_prefix(bucket->prefix != NULL ? bucket->prefix : "");
    if (bucket->endpoint != NULL) {
        endpoint = strdup(bucket->endpoint);
    } else if (source->type == SOURCE_GCS) {
        endpoint = strdup("https://storage.googleapis.com");
    } else if (asprintf(&endpoint, "https://s3.%s.amazonaws.com",
                        bucket->region) < 0) {
        endpoint = NULL;
    }
    if (prefix == NULL || endpoint == NULL) {
        free(prefix);
        free(endpoint);
        return config_error(r, item, "out of memory");
    }

    host = strstr(endpoint, "://") + 3;
    rc = path_style
             ? asprintf(&source->url, "%s/%s%s%s", endpoint, bucket->name,
                        prefix[0] != '\0' ? "/" : "", prefix)
             : asprintf(&source->url, "%.*s%s.%s%s%s", (int)(host - endpoint),
                        endpoint, bucket->name, host,
                        prefix[0] != '\0' ? "/" : "", prefix);
    free(prefix);
    free(endpoint);
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
 * Signed are these headers, those of the configuration, date and host.  GCS
 * takes the same signature with its HMAC keys ("simple migration from Amazon
 * S3"); for its own one libcurl 8.23 encodes the path twice.
 */
static int sign(struct config_reader *r, const cJSON *item,
                struct source_config *source)
{
    struct transport_config *transport = &source->transport;
    struct bucket_config *bucket = &source->bucket;
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

int config_bucket(struct config_reader *r, const cJSON *item,
                  struct source_config *source)
{
    struct bucket_config *bucket = &source->bucket;

    if (check(r, item, source) != 0 || make_url(r, item, source) != 0) {
        return -1;
    }
    if (bucket->token != NULL) {
        source->transport.auth = TRANSPORT_BEARER;
        source->transport.token = bucket->token;
        bucket->token = NULL;
    }
    return bucket->access_key != NULL ? sign(r, item, source) : 0;
}

void config_bucket_clear(struct bucket_config *bucket)
{
    config_secret_free(bucket->access_key);
    config_secret_free(bucket->secret_key);
    config_secret_free(bucket->session_token);
    config_secret_free(bucket->token);
    free(bucket->name);
    free(bucket->region);
    free(bucket->endpoint);
    free(bucket->prefix);
}
