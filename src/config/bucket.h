/*
 * Copyright (C) the ngx_symcache authors
 *
 * The settings of a bucket of S3 or of Google's storage, for sources and for
 * tiers: its keys in the configuration, its URL, and how requests are signed.
 */
#pragma once

#include <stdbool.h>
#include "field.h"

struct transport_config;

/* The settings; all texts may be NULL but for the name. */
struct bucket_config {
    char *name;
    char *region;
    char *endpoint; /* URL, no trailing slash */
    char *prefix;   /* encoded, with a slash before it, or empty */
    char *access_key; /* these are moved to the transport in the end */
    char *secret_key;
    char *session_token;
    char *token;
    char *client_email; /* gcs: of a service account, */
    char *private_key;  /* and its key */
    bool path_style;
    bool denied_is_absent; /* 403 AccessDenied: there is no such object */
    bool has_answered;     /* no setting: it has taken our keys since then */
    void *renewal;         /* neither: what reads its keys again; or NULL */
};

/* The hash of the body in a signed request; for a request without a body,
 * this. */
#define BUCKET_BODY_HEADER "x-amz-content-sha256"
#define BUCKET_TOKEN_HEADER "x-amz-security-token"
#define BUCKET_BODY_EMPTY                                                     \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* The keys; the last one is for sources only, and tiers in Google's storage
 * have the first ones. */
#define CONFIG_S3_KEYS 9
#define CONFIG_GCS_KEYS 10
#define CONFIG_GCS_TIER_KEYS 5
extern const struct config_field config_s3_keys[CONFIG_S3_KEYS];
extern const struct config_field config_gcs_keys[CONFIG_GCS_KEYS];

/*
 * Checks the settings that were read from item, and makes *url, which has no
 * slash at its end, and what signs requests of them.  bodies: requests may have
 * bodies, and each comes with a BUCKET_BODY_HEADER of its own.  Returns 0, or
 * -1 with error set.
 */
int config_s3_check(struct config_reader *r, const cJSON *item,
                    struct bucket_config *bucket, bool bodies, char **url,
                    struct transport_config *transport);
/* Makes the URL of a bucket at an endpoint; NULL: Amazon's. */
int config_s3_url(struct config_reader *r, const cJSON *item,
                  const struct bucket_config *bucket, const char *endpoint,
                  char **url);

int config_gcs_check(struct config_reader *r, const cJSON *item,
                     struct bucket_config *bucket, char **url,
                     struct transport_config *transport);
