/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sentry_list.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "config/config.h"

#define KEPT_MS (60 * 60 * 1000)
#define LISTS_MAX 10000

struct sentry_list_entry {
    TAILQ_ENTRY(sentry_list_entry) order;
    uint64_t hash;
    struct sentry_list list;
    char url[];
};

struct sentry_lists {
    TAILQ_HEAD(entries, sentry_list_entry) entries; /* the oldest first */
    struct table table;
    size_t n;
};

/* The file types of Sentry.  Types that are not listed are not used for
 * names. */
static const struct {
    const char *name;
    unsigned formats;
} types[] = {
    {"pe", 1u << FORMAT_PE},
    {"pdb", 1u << FORMAT_PDB},
    {"portablepdb", 1u << FORMAT_PORTABLEPDB},
    {"macho", 1u << FORMAT_MACHO},
    {"elf", 1u << FORMAT_ELF},
    {"wasm", 1u << FORMAT_WASM},
    {"breakpad", 1u << FORMAT_BREAKPAD},
    {"sourcebundle", 1u << FORMAT_SOURCEBUNDLE},
    {"proguard", 1u << FORMAT_PROGUARD},
    {"uuidmap", 1u << FORMAT_UUIDMAP},
    {"bcsymbolmap", 1u << FORMAT_BCSYMBOLMAP},
    {"il2cpp", 1u << FORMAT_IL2CPP},
};

static const struct {
    const char *name;
    unsigned feature;
} features[] = {
    {"debug", SYMCACHE_HAS_DEBUG},
    {"symtab", SYMCACHE_HAS_SYMBOLS},
    {"unwind", SYMCACHE_HAS_UNWIND},
    {"sources", SYMCACHE_HAS_SOURCES},
};

struct sentry_lists *sentry_lists_new(void)
{
    struct sentry_lists *lists = calloc(1, sizeof(*lists));

    if (lists != NULL) {
        TAILQ_INIT(&lists->entries);
    }
    return lists;
}

static void drop_list(struct sentry_lists *lists,
                      struct sentry_list_entry *entry)
{
    TAILQ_REMOVE(&lists->entries, entry, order);
    table_remove(&lists->table, entry->hash, (uintptr_t)entry);
    lists->n--;
    free(entry->list.files);
    free(entry);
}

void sentry_lists_free(struct sentry_lists *lists)
{
    if (lists != NULL) {
        while (!TAILQ_EMPTY(&lists->entries)) {
            drop_list(lists, TAILQ_FIRST(&lists->entries));
        }
        table_free(&lists->table);
        free(lists);
    }
}

static struct sentry_list_entry *find_list(const struct sentry_lists *lists,
                                           const char *url, uint64_t hash)
{
    struct sentry_list_entry *entry;
    size_t at = 0;

    while ((entry = (struct sentry_list_entry *)table_next(&lists->table, hash,
                                                           &at)) != NULL &&
           strcmp(entry->url, url) != 0) {
    }
    return entry;
}

const struct sentry_list *sentry_lists_find(struct sentry_lists *lists,
                                            const char *url)
{
    struct sentry_list_entry *entry =
        find_list(lists, url, table_hash_text(&lists->table, url));

    if (entry != NULL &&
        (entry->list.n == 0 || clock_since(entry->list.fetched) >= KEPT_MS)) {
        drop_list(lists, entry);
        return NULL;
    }
    return entry != NULL ? &entry->list : NULL;
}

static unsigned read_features(const cJSON *item)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(item, "data"), "features");
    const cJSON *child;
    unsigned set = 0;
    size_t i;

    cJSON_ArrayForEach(child, list)
    {
        for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
            if (cJSON_IsString(child) &&
                strcmp(child->valuestring, features[i].name) == 0) {
                set |= features[i].feature;
            }
        }
    }
    return set;
}

/* Reads one; a type that is new to us is passed over.  Returns false if it is
 * not a file. */
static bool sentry_read_file(struct sentry_list *list, const cJSON *item)
{
    const char *id =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "id"));
    const char *type = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(item, "symbolType"));
    struct sentry_file *file = &list->files[list->n];
    size_t i;

    if (id == NULL || type == NULL || id[0] == '\0' ||
        strlen(id) > SENTRY_ID_MAX) {
        return false;
    }
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type, types[i].name) == 0) {
            snprintf(file->id, sizeof(file->id), "%s", id);
            file->formats = types[i].formats;
            file->features = read_features(item);
            list->n++;
        }
    }
    return true;
}

bool sentry_list_read(struct sentry_list *list, const char *text, size_t size,
                      char *error, size_t error_size)
{
    cJSON *json = cJSON_ParseWithLength(text, size);
    const cJSON *item;
    bool good = cJSON_IsArray(json);

    cJSON_ArrayForEach(item, json)
    {
        if (list->n == SENTRY_FILES_MAX) {
            list->is_cut = true;
        } else if (!sentry_read_file(list, item)) {
            good = false;
        }
    }
    cJSON_Delete(json);
    if (!good) {
        snprintf(error, error_size, "the list is not a list of files in JSON");
    }
    return good;
}

void sentry_lists_add(struct sentry_lists *lists, const char *url,
                      const struct sentry_list *list)
{
    uint64_t hash = table_hash_text(&lists->table, url);
    struct sentry_list_entry *former = find_list(lists, url, hash);
    struct sentry_list_entry *entry =
        calloc(1, sizeof(*entry) + strlen(url) + 1);
    size_t size = list->n * sizeof(list->files[0]);

    if (former != NULL) {
        drop_list(lists, former);
    }
    if (entry == NULL || (entry->list.files = malloc(size + 1)) == NULL ||
        table_add(&lists->table, hash, (uintptr_t)entry) != 0) {
        free(entry != NULL ? entry->list.files : NULL);
        free(entry);
        return;
    }
    memcpy(entry->list.files, list->files, size);
    entry->list.n = list->n;
    entry->list.is_cut = list->is_cut;
    entry->list.fetched = list->fetched;
    memcpy(entry->url, url, strlen(url) + 1);
    entry->hash = hash;
    TAILQ_INSERT_TAIL(&lists->entries, entry, order);
    if (++lists->n > LISTS_MAX) {
        drop_list(lists, TAILQ_FIRST(&lists->entries));
    }
}

bool sentry_list_next(const char *link, char cursor[SENTRY_CURSOR_MAX + 1])
{
    const char *at = strstr(link, "cursor=\"");
    size_t len;

    cursor[0] = '\0';
    if (strstr(link, "rel=\"next\"") == NULL ||
        strstr(link, "results=\"false\"") != NULL) {
        return false;
    }
    if (at != NULL) {
        at += strlen("cursor=\"");
        len = strcspn(at, "\"");
        if (at[len] == '"' && len <= SENTRY_CURSOR_MAX) {
            memcpy(cursor, at, len);
            cursor[len] = '\0';
        }
    }
    return true;
}
