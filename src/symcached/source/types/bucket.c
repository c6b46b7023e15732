/*
 * Copyright (C) the ngx_symcache authors
 *
 * Buckets of S3 and of Google's storage: an HTTP server whose requests are
 * signed by libcurl, or with a service account's key, and whose answers have
 * their reasons in a small XML body.
 */
#include "symcached/source/lookup_steps.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "config/config.h"
#include "gcs_sign.h"

static int check_s3(struct config_reader *reader, const cJSON *item,
                    struct source_config *source)
{
    return config_s3_check(reader, item, source->settings, false, &source->url,
                           &source->transport);
}

static struct curl_slist *sign_gcs(const void *settings, const char *method,
                                   const char *url, struct curl_slist *headers,
                                   char **instead)
{
    const struct bucket_config *bucket = settings;

    if (strstr(url, "X-Goog-Signature=") != NULL) {
        return headers; /* a redirect to what is signed already */
    }
    *instead = gcs_sign(bucket->client_email, bucket->private_key, method, url,
                        headers, time(NULL));
    if (*instead == NULL) {
        curl_slist_free_all(headers);
        return NULL;
    }
    return headers;
}

static int bucket_use_private_key(struct config_reader *reader,
                                  const cJSON *item, const void *settings,
                                  struct transport_config *transport)
{
    const struct bucket_config *bucket = settings;

    if (bucket->private_key == NULL) {
        return 0;
    }
    if (!gcs_sign_is_key(bucket->private_key)) {
        return field_error(reader, item,
                           "\"private_key\" is not an RSA key in PEM "
                           "without a password");
    }
    transport->auth = TRANSPORT_SIGN;
    transport->sign = sign_gcs;
    transport->sign_settings = bucket;
    return 0;
}

static int check_gcs(struct config_reader *reader, const cJSON *item,
                     struct source_config *source)
{
    return bucket_use_private_key(reader, item, source->settings,
                                  &source->transport) == 0
               ? config_gcs_check(reader, item, source->settings, &source->url,
                                  &source->transport)
               : -1;
}

/* Keys that are read again; a reload may have come before they are. */
struct bucket_renewal {
    struct config *config; /* reference */
    struct source_config *source;
    unsigned renewals; /* before */
};

static void on_renewed(void *arg, const char *error)
{
    struct bucket_renewal *renewal = arg;
    struct bucket_config *bucket = renewal->source->settings;

    bucket->renewal = NULL;
    if (error != NULL) {
        log_error(0, "source %s: its keys are read again: %s",
                  renewal->source->name, error);
    } else if (renewal->source->transport.renewals != renewal->renewals) {
        log_info(0, "source %s: its keys are read again, and are others now",
                 renewal->source->name);
        bucket->has_answered = false;
    }
    config_unref(renewal->config);
    free(renewal);
}

/* The store refuses our keys.  This lookup fails and is tried again later, with
 * the keys that the configuration has by then. */
static void bucket_renew_keys(const struct lookup *lookup)
{
    struct config *config = (struct config *)lookup->config;
    struct source_config *source =
        &config->sources[lookup->source - config->sources];
    struct bucket_config *bucket = source->settings;
    struct bucket_renewal *renewal;

    if (bucket->renewal != NULL) {
        return;
    }
    renewal = calloc(1, sizeof(*renewal));
    if (renewal == NULL) {
        return;
    }
    renewal->config = config_ref(config);
    renewal->source = source;
    renewal->renewals = source->transport.renewals;
    if (reload_keys_start(lookup->sources->base, &source->transport,
                          on_renewed, renewal) == NULL) {
        config_unref(config);
        free(renewal);
        return;
    }
    bucket->renewal = renewal;
}

/*
 * One status can have several reasons, which the <Code> in the body tells
 * apart.  For unknown keys, a store may answer as for missing objects: 404 or
 * AccessDenied.  So 404 counts only with the code for objects or without any
 * code, and AccessDenied only once the store has accepted our keys.  A reload
 * reads the keys again, and has new settings.
 */
static enum source_outcome judge_bucket(struct lookup *lookup,
                                        const struct fetch_result *result,
                                        char *detail, size_t size)
{
    struct bucket_config *bucket = lookup->source->settings;
    const struct fetch_response *response = result->response;
    char code[HTTP_CODE];

    snprintf(detail, size, "%s", result->detail);
    if (response->status < 300 ||
        (response->moved && response->status != 404)) {
        bucket->has_answered |= result->outcome == SOURCE_FOUND;
        return result->outcome;
    }

    source_http_code(code, response);
    snprintf(detail, size, "%s%s%s", result->detail,
             code[0] != '\0' ? " " : "", code);
    if (reload_keys_help(&lookup->source->transport, code)) {
        bucket_renew_keys(lookup);
    }

    switch (response->status) {
    case 404:
        if (code[0] == '\0') {
            /* where a redirect led to may be no store */
            return response->moved ? SOURCE_FAILED : result->outcome;
        }
        if (strcmp(code, "NoSuchKey") != 0) {
            return SOURCE_FAILED;
        }
        bucket->has_answered |= !response->moved;
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

static void begin_bucket(struct lookup *lookup)
{
    source_http_walk(lookup, judge_bucket);
}

#define SHARED                                                                \
    (SOURCE_KEYS_LAYOUT | SOURCE_KEYS_MAP | SOURCE_KEYS_HTTP |                \
     SOURCE_KEYS_HEADERS)

const struct source_type source_s3 = {
    .name = "s3",
    .shared = SHARED,
    .keys = config_s3_keys,
    .nkeys = CONFIG_S3_KEYS,
    .settings_size = sizeof(struct bucket_config),
    .place = "endpoint",
    .check = check_s3,
    .begin = begin_bucket,
};

const struct source_type source_gcs = {
    .name = "gcs",
    .shared = SHARED,
    .keys = config_gcs_keys,
    .nkeys = CONFIG_GCS_KEYS,
    .settings_size = sizeof(struct bucket_config),
    .place = "endpoint",
    .check = check_gcs,
    .sign = bucket_use_private_key,
    .begin = begin_bucket,
};
