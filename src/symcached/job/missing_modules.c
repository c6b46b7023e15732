/*
 * Copyright (C) the ngx_symcache authors
 */
#include "missing_modules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/hash_table.h"
#include "proto/profiler_id.h"
#include "proto/hints.h"

#define MISSING_KEPT 4096

struct missing_modules_entry {
    TAILQ_ENTRY(missing_modules_entry) order;
    uint64_t hash;
    uint64_t count;
    time_t first, last;
    char *name; /* NULL: not known */
    symcache_key_t key;
};

struct missing_modules {
    TAILQ_HEAD(entries, missing_modules_entry) entries; /* the latest first */
    struct table table;
    unsigned n;
};

struct missing_modules *missing_modules_new(void)
{
    struct missing_modules *missing = calloc(1, sizeof(*missing));

    if (missing != NULL) {
        TAILQ_INIT(&missing->entries);
    }
    return missing;
}

static void remove_entry(struct missing_modules *missing,
                         struct missing_modules_entry *entry)
{
    TAILQ_REMOVE(&missing->entries, entry, order);
    table_remove(&missing->table, entry->hash, (uintptr_t)entry);
    missing->n--;
    free(entry->name);
    free(entry);
}

void missing_modules_free(struct missing_modules *missing)
{
    if (missing != NULL) {
        while (!TAILQ_EMPTY(&missing->entries)) {
            remove_entry(missing, TAILQ_FIRST(&missing->entries));
        }
        table_free(&missing->table);
        free(missing);
    }
}

static bool is_listed(const symcache_key_t *key)
{
    return key->id_type == SYMCACHE_ID_BUILD ||
           (key->id_type == SYMCACHE_ID_HASH &&
            key->build_len == SYMCACHE_PROFILER_ID_SIZE);
}

/* Sets the id by which the module is listed.  Returns false if it has none. */
static bool missing_find_id(symcache_key_t *id, const symcache_key_t *key,
                            const char *hints)
{
    char text[SYMCACHE_HINT_MAX + 1];

    if (key->kind != SYMCACHE_KIND_SYMCACHE &&
        key->kind != SYMCACHE_KIND_DEBUGINFO &&
        key->kind != SYMCACHE_KIND_SYMBFILE) {
        return false;
    }
    symcache_key_copy(id, key);
    if (key->id_type == SYMCACHE_ID_DEBUG) {
        symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, text);
        if (symcache_id_parse(text, strlen(text), id) != SYMCACHE_OK) {
            return false;
        }
    }
    return is_listed(id);
}

static struct missing_modules_entry *
find_module(const struct missing_modules *missing, const symcache_key_t *id,
            uint64_t *hash)
{
    struct missing_modules_entry *entry;
    size_t at = 0;

    *hash =
        table_hash((uintptr_t)missing + id->id_type, id->build, id->build_len);
    while ((entry = (struct missing_modules_entry *)table_next(
                &missing->table, *hash, &at)) != NULL) {
        if (entry->key.id_type == id->id_type &&
            entry->key.build_len == id->build_len &&
            memcmp(entry->key.build, id->build, id->build_len) == 0) {
            return entry;
        }
    }
    return NULL;
}

static struct missing_modules_entry *
add_module(struct missing_modules *missing, const symcache_key_t *id,
           uint64_t hash)
{
    struct missing_modules_entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL) {
        return NULL;
    }
    symcache_key_copy(&entry->key, id);
    entry->hash = hash;
    entry->first = time(NULL);
    if (table_add(&missing->table, hash, (uintptr_t)entry) != 0) {
        free(entry);
        return NULL;
    }
    if (++missing->n > MISSING_KEPT) {
        remove_entry(missing, TAILQ_LAST(&missing->entries, entries));
    }
    return entry;
}

/* Some clients ask without a name. */
static void name_entry(struct missing_modules_entry *entry, const char *name)
{
    if (entry->name == NULL && strcmp(name, SYMCACHE_NAME_NONE) != 0) {
        entry->name = strdup(name);
    }
}

void missing_modules_note(struct missing_modules *missing,
                          const symcache_key_t *key, const char *name,
                          const char *hints)
{
    symcache_key_t id;
    struct missing_modules_entry *entry;
    uint64_t hash;

    if (!missing_find_id(&id, key, hints)) {
        return;
    }
    entry = find_module(missing, &id, &hash);
    if (entry != NULL) {
        TAILQ_REMOVE(&missing->entries, entry, order);
    } else if ((entry = add_module(missing, &id, hash)) == NULL) {
        return;
    }
    TAILQ_INSERT_HEAD(&missing->entries, entry, order);
    name_entry(entry, name);
    entry->count++;
    entry->last = time(NULL);
}

void missing_modules_drop(struct missing_modules *missing,
                          const symcache_key_t *key)
{
    struct missing_modules_entry *entry;
    uint64_t hash;

    if (is_listed(key) && (entry = find_module(missing, key, &hash)) != NULL) {
        remove_entry(missing, entry);
    }
}

static cJSON *entry_json(const struct missing_modules_entry *entry)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    cJSON *object = cJSON_CreateObject();

    if (entry->key.id_type == SYMCACHE_ID_HASH) {
        symcache_profiler_id_print(id, &entry->key);
        cJSON_AddStringToObject(object, "file_id", id);
    } else {
        symcache_id_print(id, &entry->key);
        cJSON_AddStringToObject(object, "build_id", id + strlen("buildid-"));
    }
    cJSON_AddStringToObject(object, "name",
                            entry->name != NULL ? entry->name : "");
    cJSON_AddNumberToObject(object, "count", (double)entry->count);
    cJSON_AddNumberToObject(object, "first", (double)entry->first);
    cJSON_AddNumberToObject(object, "last", (double)entry->last);
    return object;
}

cJSON *missing_modules_json(const struct missing_modules *missing,
                            time_t since)
{
    cJSON *array = cJSON_CreateArray();
    const struct missing_modules_entry *entry;

    TAILQ_FOREACH(entry, &missing->entries, order)
    {
        if (entry->last < since) {
            break;
        }
        cJSON_AddItemToArray(array, entry_json(entry));
    }
    return array;
}

unsigned missing_modules_count(const struct missing_modules *missing)
{
    return missing->n;
}
