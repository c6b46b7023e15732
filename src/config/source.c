/*
 * Copyright (C) the ngx_symcache authors
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bucket.h"
#include "layout.h"
#include "pattern.h"
#include "source_fingerprint.h"
#include "secret.h"
#include "source.h"
#include "sympath_folders.h"
#include "transport.h"
#include "base/origin.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *name;
    enum source_type type;
} types[] = {
    {"filesystem", SOURCE_FILESYSTEM},
    {"http", SOURCE_HTTP},
    {"s3", SOURCE_S3},
    {"gcs", SOURCE_GCS},
    {"symcache", SOURCE_SYMCACHE},
    {"sympath", SOURCE_SYMPATH},
};

static int read_type(struct config_reader *r, const cJSON *item,
                     const struct config_field *field, void *at)
{
    enum source_type *type = at;
    const char *text = config_text(r, item, "\"http\"");
    size_t i;

    if (text == NULL) {
        return -1;
    }
    for (i = 0; i < COUNT(types); i++) {
        if (strcmp(text, types[i].name) == 0) {
            *type = types[i].type;
            return 0;
        }
    }
    return config_error(r, item,
                        "must be \"filesystem\", \"http\", \"s3\", "
                        "\"gcs\", \"symcache\" or \"sympath\"");
}

static int read_url(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at)
{
    const char *text = config_text(r, item, "\"https://h.example.com/s\""),
               *host;
    char *url;
    size_t len;

    if (text == NULL) {
        return -1;
    }

    if (strncmp(text, "http://", 7) == 0) {
        host = text + 7;
    } else if (strncmp(text, "https://", 8) == 0) {
        host = text + 8;
    } else {
        return config_error(r, item, "must begin with http:// or https://");
    }

    if (strcspn(host, "/:?#") == 0 && host[0] != '[') {
        return config_error(r, item, "has no host");
    }
    if (memchr(host, '@', strcspn(host, "/")) != NULL) {
        return config_error(r, item,
                            "has a user name: give credentials in \"auth\"");
    }
    if (strpbrk(text, "?# \\") != NULL) {
        return config_error(r, item,
                            "has a query, a fragment, a blank or a \\");
    }
    if (config_string(r, item, field, at) != 0) {
        return -1;
    }

    url = *(char **)at;
    for (len = strlen(url); url[len - 1] == '/'; len--) {
        url[len - 1] = '\0';
    }
    return 0;
}

static int read_map(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at)
{
    struct source_config *source = at;
    struct map_config *map;
    const cJSON *child;

    if (!cJSON_IsObject(item)) {
        return config_error(r, item, "must be an object of paths");
    }

    source->map =
        calloc((size_t)cJSON_GetArraySize(item) + 1, sizeof(source->map[0]));
    if (source->map == NULL) {
        return config_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (strncmp(child->string, "\\\\", 2) != 0 &&
            !(isalpha((unsigned char)child->string[0]) &&
              child->string[1] == ':')) {
            return config_error(r, child,
                                "the key must be a Windows location such as "
                                "\\\\server\\share or D:\\symbols");
        }

        map = &source->map[source->nmap++];
        map->from = strdup(child->string);
        if (map->from == NULL) {
            return config_error(r, child, "out of memory");
        }
        if (config_path(r, child, field, &map->to) != 0) {
            return -1;
        }
    }
    return 0;
}

#define TRANSPORT(key, read)                                                  \
    {                                                                         \
        key, read, offsetof(struct source_config, transport), 0, 0, false     \
    }

#define BUCKET(key, read, member)                                             \
    {                                                                         \
        key, read, offsetof(struct source_config, bucket.member), 0, 0, false \
    }

static const struct config_field source_fields[] = {
    {"type", read_type, offsetof(struct source_config, type), 0, 0, true},
    {"layout", config_layout, 0, 0, 0, false},
    {"casing", config_casing, 0, 0, 0, false},
    {"forms", config_forms, 0, 0, 0, false},
    {"path", config_path, offsetof(struct source_config, path), 0, 0, false},
    {"url", read_url, offsetof(struct source_config, url), 0, 0, false},
    {"value", config_sympath_value, 0, 0, 0, false},
    {"version", config_version, offsetof(struct source_config, version), 0, 0,
     false},
    {"only", config_patterns, offsetof(struct source_config, only), 0, 0,
     false},
    {"except", config_patterns, offsetof(struct source_config, except), 0, 0,
     false},
    {"map", read_map, 0, 0, 0, false},
    TRANSPORT("headers", config_headers),
    TRANSPORT("auth", config_auth),
    TRANSPORT("tls", config_tls),
    TRANSPORT("proxy", config_proxy),
    TRANSPORT("http_version", config_http_version),
    BUCKET("bucket", config_string, name),
    BUCKET("region", config_string, region),
    BUCKET("endpoint", read_url, endpoint),
    BUCKET("path_style", config_bool, path_style),
    BUCKET("prefix", config_string, prefix),
    BUCKET("access_key", config_secret, access_key),
    BUCKET("secret_key", config_secret, secret_key),
    BUCKET("session_token", config_secret, session_token),
    BUCKET("token", config_secret, token),
    BUCKET("denied_is_absent", config_bool, denied_is_absent),
    {"user_agent", config_string,
     offsetof(struct source_config, transport.user_agent), 0, 0, false},
    {"internal", config_bool,
     offsetof(struct source_config, transport.internal), 0, 0, false},
};

/* Keys that not every type has. */
#define FILESYSTEM (1u << SOURCE_FILESYSTEM)
#define HTTP (1u << SOURCE_HTTP)
#define S3 (1u << SOURCE_S3)
#define GCS (1u << SOURCE_GCS)
#define SYMCACHE (1u << SOURCE_SYMCACHE)
#define SYMPATH (1u << SOURCE_SYMPATH)
#define BUCKETS (S3 | GCS)
#define REMOTE (HTTP | BUCKETS | SYMCACHE)

static const struct {
    const char *key;
    unsigned types;
    bool required;
} type_keys[] = {
    {"path", FILESYSTEM, true},
    {"layout", FILESYSTEM | HTTP | BUCKETS, false},
    {"casing", FILESYSTEM | HTTP | BUCKETS, false},
    {"forms", FILESYSTEM | HTTP | BUCKETS, false},
    {"map", FILESYSTEM | HTTP | BUCKETS | SYMPATH, false},
    {"value", SYMPATH, true},
    {"url", HTTP | SYMCACHE, true},
    {"version", SYMCACHE, false},
    {"auth", HTTP | SYMCACHE, false},
    {"headers", REMOTE, false},
    {"tls", REMOTE | SYMPATH, false},
    {"proxy", REMOTE | SYMPATH, false},
    {"http_version", REMOTE | SYMPATH, false},
    {"user_agent", REMOTE | SYMPATH, false},
    {"bucket", BUCKETS, true},
    {"region", BUCKETS, false},
    {"endpoint", BUCKETS, false},
    {"path_style", S3, false},
    {"prefix", BUCKETS, false},
    {"access_key", BUCKETS, false},
    {"secret_key", BUCKETS, false},
    {"session_token", S3, false},
    {"token", GCS, false},
    {"denied_is_absent", BUCKETS, false},
};

static int check_type(struct config_reader *r, const cJSON *item,
                      struct source_config *source)
{
    static const symcache_version_t current = {3, 1, 0}, oldest = {3, 0, 1};
    const cJSON *child;
    size_t i;

    for (i = 0; i < COUNT(type_keys); i++) {
        bool its = (type_keys[i].types & 1u << source->type) != 0;

        child = cJSON_GetObjectItemCaseSensitive(item, type_keys[i].key);
        if (child == NULL && type_keys[i].required && its) {
            return config_error(r, item, "\"%s\" is missing",
                                type_keys[i].key);
        }
        if (child != NULL && !its) {
            return config_error(r, child, "is not for this type of source");
        }
    }

    if ((BUCKETS & 1u << source->type) != 0) {
        return config_bucket(r, item, source);
    }

    child = cJSON_GetObjectItemCaseSensitive(item, "version");
    if (child == NULL) {
        source->version = current;
    } else if (symcache_version_cmp(&source->version, &oldest) < 0) {
        return config_error(r, child, "is below 3.0.1");
    }
    return 0;
}

static int set_origin(struct config_reader *r, const cJSON *item,
                      struct source_config *source)
{
    char origin[ORIGIN_MAX];

    if (source->path != NULL) {
        source->origin = origin_directory(source->path);
    } else if (source->url == NULL) {
        return 0; /* a symbol path: its places have some */
    } else if (origin_print(origin, sizeof(origin), source->url) != 0) {
        return config_error(r, item, "\"url\" is no URL");
    } else {
        source->origin = strdup(origin);
    }
    return source->origin != NULL ? 0 : config_error(r, item, "out of memory");
}

/* A new source of that name, filled from item; NULL with error set. */
static struct source_config *add_source(struct config_reader *r,
                                        const cJSON *item, const char *name)
{
    struct config *config = r->config;
    struct source_config *source;
    size_t i;

    for (i = 0; i < config->nsources; i++) {
        if (strcmp(config->sources[i].name, name) == 0) {
            config_error(r, item, "repeated key");
            return NULL;
        }
    }

    source = realloc(config->sources,
                     (config->nsources + 1) * sizeof(config->sources[0]));
    if (source == NULL) {
        config_error(r, item, "out of memory");
        return NULL;
    }
    config->sources = source;
    source += config->nsources++;
    memset(source, 0, sizeof(*source));

    source->name = strdup(name);
    if (source->name == NULL) {
        config_error(r, item, "out of memory");
        return NULL;
    }
    if (config_object(r, item, source_fields, COUNT(source_fields), source) !=
            0 ||
        check_type(r, item, source) != 0 ||
        config_layout_check(r, item, source) != 0 ||
        config_transport_check(r, item, &source->transport) != 0 ||
        set_origin(r, item, source) != 0) {
        return NULL;
    }
    source->places = source_fingerprint_source(item);
    return source;
}

/* The n-th of the sources that a symbol path stands for. */
static struct source_config *add_part(struct config_reader *r,
                                      const cJSON *item, unsigned n)
{
    char name[CONFIG_NAME_MAX + 16];
    struct source_config *source;

    snprintf(name, sizeof(name), "%s.%u", item->string, n);
    source = add_source(r, item, name);
    if (source == NULL) {
        return NULL;
    }
    source->group = strdup(item->string);
    if (source->group == NULL) {
        config_error(r, item, "out of memory");
        return NULL;
    }
    return source;
}

static int add_folders(struct config_reader *r, const cJSON *item,
                       const struct config_sympath *sympath, unsigned *n,
                       struct source_config *source)
{
    size_t i;

    for (i = 0; i < sympath->n; i++) {
        source = i == 0 ? source : add_part(r, item, ++*n);
        if (source == NULL) {
            return -1;
        }
        source->type = SOURCE_FILESYSTEM;
        source->layout = sympath->layouts[i];
        source->path = strdup(sympath->folders[i]);
        if (source->path == NULL) {
            return config_error(r, item, "out of memory");
        }
        if (set_origin(r, item, source) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_parts(struct config_reader *r, const cJSON *item,
                     struct config_sympath *sympath)
{
    const struct sympath_place *place = sympath->path.places;
    const struct sympath_place *end = place + sympath->path.n;
    struct source_config *source;
    unsigned n = 0;

    for (; place < end; place++) {
        source = add_part(r, item, ++n);
        if (source == NULL) {
            return -1;
        }
        if (place->kind == SYMPATH_URL) {
            source->type = SOURCE_HTTP;
            source->url = strdup(place->text);
            if (source->url == NULL) {
                return config_error(r, item, "out of memory");
            }
            if (set_origin(r, item, source) != 0) {
                return -1;
            }
            continue;
        }
        if (config_sympath_folders(r, item, source, place, sympath) != 0) {
            return -1;
        }
        if (sympath->n == 0) {
            config_source_clear(source);
            r->config->nsources--;
            n--;
        } else if (add_folders(r, item, sympath, &n, source) != 0) {
            return -1;
        }
    }
    return n > 0 ? 0 : config_error(r, item, "no place of it is here");
}

static int add_sympath(struct config_reader *r, const cJSON *item)
{
    struct config_sympath *sympath = malloc(sizeof(*sympath));
    int rc;

    if (sympath == NULL) {
        return config_error(r, item, "out of memory");
    }
    if (strlen(item->string) > CONFIG_NAME_MAX - 4) {
        rc = config_error(r, item, "the name is too long for a symbol path");
    } else {
        rc = config_sympath_read(r, item, sympath) == 0
                 ? add_parts(r, item, sympath)
                 : -1;
    }
    free(sympath);
    return rc;
}

int config_sources(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    const cJSON *child, *type;
    int rc;

    if (!cJSON_IsObject(item)) {
        return config_error(r, item, "must be an object of sources");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (config_name(r, child, child->string) != 0) {
            return -1;
        }
        type = cJSON_GetObjectItemCaseSensitive(child, "type");
        if (cJSON_IsString(type) &&
            strcmp(type->valuestring, "sympath") == 0) {
            rc = add_sympath(r, child);
        } else {
            rc = add_source(r, child, child->string) != NULL ? 0 : -1;
        }
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

void config_source_clear(struct source_config *source)
{
    size_t i;

    for (i = 0; i < source->nmap; i++) {
        free(source->map[i].from);
        free(source->map[i].to);
    }
    config_transport_clear(&source->transport);
    config_bucket_clear(&source->bucket);
    config_patterns_clear(&source->only);
    config_patterns_clear(&source->except);
    free(source->map);
    free(source->path);
    free(source->url);
    free(source->origin);
    free(source->group);
    free(source->name);
}

bool config_source_serves(const struct source_config *source,
                          const symcache_key_t *key)
{
    /* In doubt ask: a source that was left out makes a miss final. */
    return (source->only.n == 0 ||
            config_patterns_match(&source->only, key, true)) &&
           !config_patterns_match(&source->except, key, false);
}
