/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tier.h"
#include "base/array.h"
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "secret_field.h"

#define PARTS 6

#define DAY (24u * 60 * 60)
#define MIB (1024ull * 1024)

/* A key that is easily guessed protects nothing:  RFC 2104 asks for the length
 * of the hash. */
#define MAC_KEY_MIN 32

#define OF(member) offsetof(struct tier_config, member)

#define KEY(key, read, offset, flags)                                         \
    {                                                                         \
        key, read, offset, 0, 0, flags                                        \
    }

static const struct config_field all_keys[] = {
    KEY("type", field_read_apart, 0, CONFIG_REQUIRED),
    KEY("read_only", field_bool, OF(read_only), 0),
    {"max_object", field_size, OF(max_object), 1024, CONFIG_TIER_OBJECT_MAX,
     0},
};
/* of what is written, and by whom */
static const struct config_field object_keys[] = {
    KEY("generation", field_string, OF(generation), 0),
    {"lifetime", field_duration, OF(lifetime), 60 * 60, 3660 * DAY, 0},
    KEY("mac_key", field_secret, OF(mac_key), CONFIG_SECRET),
};
static const struct config_field http_keys[] = {
    KEY("headers", config_headers, OF(transport), CONFIG_SECRET),
    KEY("tls", config_tls, OF(transport), CONFIG_SECRET),
    KEY("proxy", config_proxy, OF(transport), CONFIG_SECRET),
    KEY("http_version", config_http_version, OF(transport), 0),
    KEY("user_agent", field_string, OF(transport.user_agent), 0),
};
static const struct config_field path_keys[] = {
    KEY("path", field_path, OF(path), CONFIG_REQUIRED),
};
static const struct config_field url_keys[] = {
    KEY("url", field_url, OF(url), CONFIG_REQUIRED),
    KEY("auth", config_auth, OF(transport), CONFIG_SECRET),
};

static const struct config_field bucket_keys[] = {
    {"part_size", field_size, OF(part_size), 5 * MIB, CONFIG_TIER_OBJECT_MAX,
     0},
};
static const struct config_field redirect_keys[] = {
    {"redirect", field_duration, OF(redirect), 60, DAY / 2, 0},
    KEY("redirect_endpoint", field_url, OF(redirect_endpoint), 0),
};

static const char *const tier_kind_names[] = {"s3", "gcs", "filesystem",
                                              "symcache"};

const char *config_tier_kind(enum tier_kind kind)
{
    return tier_kind_names[kind];
}

/* Writes the keys that a tier of this kind has.  Returns the number of parts,
 * at most PARTS. */
static size_t tier_parts_of(struct tier_config *tier,
                            struct config_part *parts)
{
    size_t n = 0;

    parts[n++] = (struct config_part){all_keys, COUNT(all_keys), tier};
    if (tier->kind != TIER_SYMCACHE) {
        parts[n++] =
            (struct config_part){object_keys, COUNT(object_keys), tier};
    }
    if (tier->kind != TIER_FILESYSTEM) {
        parts[n++] = (struct config_part){http_keys, COUNT(http_keys), tier};
    }
    if (tier->kind == TIER_S3 || tier->kind == TIER_GCS) {
        parts[n++] =
            (struct config_part){bucket_keys, COUNT(bucket_keys), tier};
    }
    switch (tier->kind) {
    case TIER_S3:
        parts[n++] = (struct config_part){config_s3_keys, CONFIG_S3_KEYS - 1,
                                          &tier->bucket};
        parts[n++] = (struct config_part){redirect_keys,
                                          COUNT(redirect_keys), tier};
        break;
    case TIER_GCS:
        parts[n++] = (struct config_part){config_gcs_keys,
                                          CONFIG_GCS_TIER_KEYS, &tier->bucket};
        break;
    case TIER_FILESYSTEM:
        parts[n++] = (struct config_part){path_keys, COUNT(path_keys), tier};
        break;
    case TIER_SYMCACHE:
        parts[n++] = (struct config_part){url_keys, COUNT(url_keys), tier};
        break;
    }
    return n;
}

/*
 * Clients are sent to objects that the fleet has signed, at an address that is
 * theirs: one that is given is the machines' own, which may be another one.
 */
static int check_tier_redirect(struct config_reader *r, const cJSON *item,
                               struct tier_config *tier)
{
    if (tier->redirect == 0) {
        return tier->redirect_endpoint == NULL
                   ? 0
                   : field_error(r, item,
                                 "\"redirect_endpoint\" is without "
                                 "\"redirect\"");
    }
    if (tier->mac_key == NULL || tier->bucket.access_key == NULL) {
        return field_error(r, item,
                           "\"redirect\" needs \"mac_key\" and "
                           "\"access_key\"");
    }
    if (tier->bucket.endpoint != NULL && tier->redirect_endpoint == NULL) {
        return field_error(r, item,
                           "\"redirect\" needs \"redirect_endpoint\", where "
                           "clients reach what \"endpoint\" is for the "
                           "machines");
    }
    return config_s3_url(r, item, &tier->bucket, tier->redirect_endpoint,
                         &tier->redirect_url);
}

/* Requests are signed as those of the source of the same type. */
static int check_tier_gcs(struct config_reader *r, const cJSON *item,
                          struct tier_config *tier)
{
    const struct source_type *type = source_type_find(r->types, "gcs");

    return config_gcs_check(r, item, &tier->bucket, &tier->url,
                            &tier->transport) == 0
               ? type->sign(r, item, &tier->bucket, &tier->transport)
               : -1;
}

static int check_tier(struct config_reader *r, const cJSON *item,
                      struct tier_config *tier)
{
    if (tier->generation == NULL) {
        tier->generation = strdup("1");
    }
    if (tier->generation == NULL) {
        return field_error(r, item, "out of memory");
    }
    if (field_name(r, item, tier->generation) != 0) {
        return field_error(r, item,
                           "\"generation\" has characters other "
                           "than letters, digits and \"._-\"");
    }
    if (strcmp(tier->generation, UPLOADS_SOURCE) == 0) {
        return field_error(r, item,
                           "\"generation\" cannot be \"" UPLOADS_SOURCE
                           "\": originals are there");
    }
    if (tier->mac_key != NULL && strlen(tier->mac_key) < MAC_KEY_MIN) {
        return field_error(r, item, "\"mac_key\" has less than %d characters",
                           MAC_KEY_MIN);
    }
    /* the operator chose this address */
    tier->transport.internal = TRANSPORT_INTERNAL_ORIGIN;
    if (tier->kind == TIER_SYMCACHE) {
        tier->read_only = true;
    }
    if (tier->kind == TIER_S3 && check_tier_redirect(r, item, tier) != 0) {
        return -1;
    }
    if (tier->kind == TIER_S3 &&
        config_s3_check(r, item, &tier->bucket, true, &tier->url,
                        &tier->transport) != 0) {
        return -1;
    }
    if (tier->kind == TIER_GCS && check_tier_gcs(r, item, tier) != 0) {
        return -1;
    }
    return config_transport_check(r, item, &tier->transport);
}

static int read_tier(struct config_reader *r, const cJSON *item,
                     struct tier_config *tier)
{
    const cJSON *type;
    struct config_part parts[PARTS];
    int kind;

    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object");
    }
    type = cJSON_GetObjectItemCaseSensitive(item, "type");
    if (type == NULL) {
        return field_error(r, item, "\"type\" is missing");
    }
    kind = field_word(r, type, tier_kind_names, COUNT(tier_kind_names));
    if (kind < 0) {
        return -1;
    }
    tier->kind = (enum tier_kind)kind;
    tier->max_object = 512 * MIB;
    tier->part_size = 1024 * MIB;
    tier->name = strdup(item->string);
    tier->written = cJSON_PrintUnformatted(item);
    if (tier->name == NULL || tier->written == NULL) {
        return field_error(r, item, "out of memory");
    }
    return field_parts(r, item, parts, tier_parts_of(tier, parts)) == 0
               ? check_tier(r, item, tier)
               : -1;
}

int config_tiers(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    struct config *config = r->config;
    const cJSON *child;

    if (r->types == NULL) {
        return 0;
    }
    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object of tiers");
    }
    config->tiers = calloc((size_t)cJSON_GetArraySize(item) + 1,
                           sizeof(config->tiers[0]));
    if (config->tiers == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (field_name(r, child, child->string) != 0) {
            return -1;
        }
        if (config_tier(config, child->string) != NULL) {
            return field_error(r, child, "repeated key");
        }
        if (read_tier(r, child, &config->tiers[config->ntiers++]) != 0) {
            return -1;
        }
    }
    return 0;
}

struct tier_config *config_tier(const struct config *config, const char *name)
{
    size_t i;

    for (i = 0; i < config->ntiers; i++) {
        if (strcmp(config->tiers[i].name, name) == 0) {
            return &config->tiers[i];
        }
    }
    return NULL;
}

int config_store_tier(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at)
{
    const char *name = field_text(r, item, "\"fleet\"");
    struct tier_config **tier = at;

    if (name == NULL) {
        return -1;
    }
    if (r->types == NULL) {
        return 0;
    }
    *tier = config_tier(r->config, name);
    return *tier != NULL ? 0 : field_error(r, item, "no tier \"%s\"", name);
}

void config_tier_clear(struct tier_config *tier)
{
    if (tier->kind == TIER_GCS) {
        field_clear(config_gcs_keys, CONFIG_GCS_TIER_KEYS, &tier->bucket);
    } else {
        field_clear(config_s3_keys, CONFIG_S3_KEYS, &tier->bucket);
    }
    config_transport_clear(&tier->transport);
    secret_free(tier->mac_key);
    secret_free(tier->written);
    free(tier->generation);
    free(tier->redirect_endpoint);
    free(tier->redirect_url);
    free(tier->url);
    free(tier->path);
    free(tier->name);
}
