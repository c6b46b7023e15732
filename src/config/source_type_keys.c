/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_type_keys.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "config.h"
#include "layout.h"
#include "name_pattern.h"
#include "sympath_folders.h"
#include "transport.h"

static int read_map(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at)
{
    struct source_config *source = at;
    struct map_config *map;
    const cJSON *child;

    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object of paths");
    }

    source->map =
        calloc((size_t)cJSON_GetArraySize(item) + 1, sizeof(source->map[0]));
    if (source->map == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (strncmp(child->string, "\\\\", 2) != 0 &&
            !(isalpha((unsigned char)child->string[0]) &&
              child->string[1] == ':')) {
            return field_error(r, child,
                               "the key must be a Windows location such as "
                               "\\\\server\\share or D:\\symbols");
        }

        map = &source->map[source->nmap++];
        map->from = strdup(child->string);
        if (map->from == NULL) {
            return field_error(r, child, "out of memory");
        }
        if (field_path(r, child, field, &map->to) != 0) {
            return -1;
        }
    }
    return 0;
}

#define OF(member) offsetof(struct source_config, member)

#define KEY(key, read, offset, flags)                                         \
    {                                                                         \
        key, read, offset, 0, 0, flags                                        \
    }

static const struct config_field all_keys[] = {
    KEY("type", field_read_apart, 0, CONFIG_REQUIRED),
    KEY("only", config_patterns, OF(only), 0),
    KEY("except", config_patterns, OF(except), 0),
    KEY("internal", config_internal, OF(transport.internal), 0),
};
static const struct config_field path_keys[] = {
    KEY("path", field_path, OF(path), CONFIG_REQUIRED),
    KEY("copy", field_bool, OF(copies), CONFIG_ACCESS),
};
static const struct config_field url_keys[] = {
    KEY("url", field_url, OF(url), CONFIG_REQUIRED),
    KEY("auth", config_auth, OF(transport), CONFIG_SECRET),
};
static const struct config_field layout_keys[] = {
    KEY("layout", config_layout, 0, 0),
    KEY("casing", config_casing, 0, 0),
    KEY("forms", config_forms, 0, 0),
    KEY("paths", config_patterns, OF(paths), 0),
};
static const struct config_field map_keys[] = {
    KEY("map", read_map, 0, 0),
};
static const struct config_field http_keys[] = {
    KEY("tls", config_tls, OF(transport), CONFIG_SECRET),
    KEY("proxy", config_proxy, OF(transport), CONFIG_SECRET),
    KEY("http_version", config_http_version, OF(transport), CONFIG_ACCESS),
    KEY("user_agent", field_string, OF(transport.user_agent), CONFIG_ACCESS),
};
static const struct config_field headers_keys[] = {
    KEY("headers", config_headers, OF(transport), CONFIG_SECRET),
};
static const struct config_field version_keys[] = {
    KEY("version", field_version, OF(version), 0),
    KEY("ppdbcaches", field_bool, OF(ppdbcaches), 0),
};
static const struct config_field value_keys[] = {
    KEY("value", config_sympath_value, 0, CONFIG_REQUIRED),
};

static const struct {
    unsigned group; /* 0: every type has these keys */
    const struct config_field *keys;
    size_t n;
} groups[] = {
    {0, all_keys, COUNT(all_keys)},
    {SOURCE_KEYS_PATH, path_keys, COUNT(path_keys)},
    {SOURCE_KEYS_URL, url_keys, COUNT(url_keys)},
    {SOURCE_KEYS_LAYOUT, layout_keys, COUNT(layout_keys)},
    {SOURCE_KEYS_MAP, map_keys, COUNT(map_keys)},
    {SOURCE_KEYS_HTTP, http_keys, COUNT(http_keys)},
    {SOURCE_KEYS_HEADERS, headers_keys, COUNT(headers_keys)},
    {SOURCE_KEYS_VERSION, version_keys, COUNT(version_keys)},
    {SOURCE_KEYS_VALUE, value_keys, COUNT(value_keys)},
};

const struct source_type source_sympath = {
    .name = "sympath",
    .shared = SOURCE_KEYS_VALUE | SOURCE_KEYS_MAP | SOURCE_KEYS_HTTP,
    .place = "value",
};

/* Writes the keys that a type has, and the structs that they fill.  Returns the
 * number of parts, at most one more than there are groups. */
static size_t type_parts(const struct source_type *type,
                         struct source_config *source,
                         struct config_part *parts)
{
    size_t i, n = 0;

    for (i = 0; i < COUNT(groups); i++) {
        if ((type->shared & groups[i].group) == groups[i].group) {
            parts[n++] =
                (struct config_part){groups[i].keys, groups[i].n, source};
        }
    }
    parts[n++] =
        (struct config_part){type->keys, type->nkeys,
                             source != NULL ? source->settings : NULL};
    return n;
}

const struct source_type *
source_type_find(const struct source_type *const *types, const char *name)
{
    for (; *types != NULL; types++) {
        if (strcmp((*types)->name, name) == 0) {
            return *types;
        }
    }
    return strcmp(source_sympath.name, name) == 0 ? &source_sympath : NULL;
}

const struct config_field *source_type_key(const struct source_type *type,
                                           const char *key)
{
    struct config_part parts[COUNT(groups) + 1];
    const struct config_field *field = NULL;
    size_t i, n = type_parts(type, NULL, parts);

    for (i = 0; i < n && field == NULL; i++) {
        field = field_find(parts[i].fields, parts[i].n, key);
    }
    return field;
}

/* Returns whether any type has that key. */
static bool is_key_of_any_type(const struct source_type *const *types,
                               const char *key)
{
    for (; *types != NULL; types++) {
        if (source_type_key(*types, key) != NULL) {
            return true;
        }
    }
    return source_type_key(&source_sympath, key) != NULL;
}

static void source_type_refuse(struct config_reader *r, const cJSON *item)
{
    const struct source_type *const *type = r->types;
    char names[256] = "";
    size_t len;

    for (; *type != NULL; type++) {
        len = strlen(names);
        snprintf(names + len, sizeof(names) - len, "%s\"%s\"",
                 len > 0 ? ", " : "", (*type)->name);
    }
    field_error(r, item, "must be %s or \"%s\"", names, source_sympath.name);
}

const struct source_type *source_type_read(struct config_reader *r,
                                           const cJSON *item)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "type"), *child;
    const struct source_type *type;

    if (!cJSON_IsObject(item)) {
        field_error(r, item, "must be an object");
        return NULL;
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (!is_key_of_any_type(r->types, child->string)) {
            field_error(r, child, "unknown key");
            return NULL;
        }
    }
    if (name == NULL) {
        field_error(r, item, "\"type\" is missing");
        return NULL;
    }
    if (field_text(r, name, "\"http\"") == NULL) {
        return NULL;
    }

    type = source_type_find(r->types, name->valuestring);
    if (type == NULL) {
        source_type_refuse(r, name);
        return NULL;
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (source_type_key(type, child->string) == NULL) {
            field_error(r, child, "is not for this type of source");
            return NULL;
        }
    }
    return type;
}

int source_type_fill(struct config_reader *r, const cJSON *item,
                     struct source_config *source)
{
    struct config_part parts[COUNT(groups) + 1];
    size_t n = type_parts(source->type, source, parts);

    return field_parts(r, item, parts, n);
}
