/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/hash_table.h"
#include "proto/path.h"

/* Clients choose these keys; when there are so many, all are forgotten. */
#define EMPTY_MAX 10000

/* Bytes of attempts in all; when there are more, all are forgotten. */
#define ATTEMPTS_TOTAL_MAX (1024 * 1024)

struct module_cache_folder {
    int store;
    struct folder_state folder; /* inode 0: there is none */
    struct module *module;      /* or NULL: nothing for us in the folder */
    uint64_t asked;             /* when its call began; milliseconds */
    uint64_t absent_until;      /* the same; 0: nothing was said */
    unsigned reason;
    char *name;       /* that it is absent by, as it was spelled; or NULL */
    char *hints;      /* that it is absent with; or NULL */
    uint64_t absence; /* its number: no two of a cache have the same */
    char *attempts;   /* of that absence, attempts_size bytes; or NULL */
    size_t attempts_size;
    symcache_key_t key; /* last: allocated as far as its name goes */
};

/* A folder as a call has just seen it. */
struct module_cache_glance {
    struct module_asker asker;
    int store;
    int error; /* errno; 0: st is set */
    struct stat st;
    char path[SYMCACHE_PATH_MAX + 1];
};

/* What symcached forgot in a store: an upload, for one, makes it forget that a
 * key is absent, and no folder need change then. */
struct module_cache_forgotten {
    SLIST_ENTRY(module_cache_forgotten) next;
    struct module_asker asker; /* that looked last */
    int store;
    struct stat st;   /* all zero: there is none */
    uint64_t noticed; /* that it had changed; milliseconds, 0: never */
};

#define GLANCES 32    /* by the folder's key */
#define GLANCE_MS 100 /* that a call believes one */

struct module_cache {
    struct module_cache_glance glances[GLANCES];
    struct mapped_modules *mapped;
    unsigned generation;  /* of mapped, when it was last trimmed */
    size_t empty;         /* entries without a module */
    uint64_t absences;    /* so far */
    size_t attempts_size; /* of all entries */
    struct table entries;
    SLIST_HEAD(, module_cache_forgotten) forgotten; /* a few stores */
};

struct module_cache *module_cache_new(struct mapped_modules *mapped)
{
    struct module_cache *cache = calloc(1, sizeof(*cache));

    if (cache != NULL) {
        cache->mapped = mapped;
    }
    return cache;
}

static uint64_t cache_hash_of(const struct module_cache *cache,
                              const symcache_key_t *key)
{
    uint64_t hash = table_hash((uintptr_t)cache, key->guid, 20);

    return table_hash(hash, key->name, key->name_len);
}

static void forget_attempts(struct module_cache *cache,
                            struct module_cache_folder *entry)
{
    cache->attempts_size -= entry->attempts_size;
    free(entry->attempts);
    entry->attempts = NULL;
    entry->attempts_size = 0;
}

static void drop_folder(struct module_cache *cache, uint64_t hash,
                        struct module_cache_folder *entry)
{
    table_remove(&cache->entries, hash, (uintptr_t)entry);
    cache->empty -= entry->module == NULL;
    module_unref(entry->module);
    forget_attempts(cache, entry);
    free(entry->name);
    free(entry->hints);
    free(entry);
}

/* Drops entries without a module, with one that was evicted, or all. */
static void drop_some(struct module_cache *cache, bool empty, bool all)
{
    struct table_slot *slot;
    struct module_cache_folder *entry;
    size_t i = 0;

    while (i < cache->entries.num_slots) {
        slot = &cache->entries.slots[i];
        entry = (struct module_cache_folder *)slot->value;
        if (entry != NULL &&
            (all ||
             (entry->module == NULL ? empty
                                    : atomic_load(&entry->module->evicted)))) {
            drop_folder(cache, slot->hash, entry); /* others move up */
        } else {
            i++;
        }
    }
}

void module_cache_free(struct module_cache *cache)
{
    struct module_cache_forgotten *forgotten;

    if (cache != NULL) {
        drop_some(cache, true, true);
        table_free(&cache->entries);
        while ((forgotten = SLIST_FIRST(&cache->forgotten)) != NULL) {
            SLIST_REMOVE_HEAD(&cache->forgotten, next);
            free(forgotten);
        }
    }
    free(cache);
}

static struct module_cache_folder *
find_folder(const struct module_cache *cache, uint64_t hash, int store,
            const symcache_key_t *key)
{
    struct module_cache_folder *entry;
    size_t at = 0;

    while ((entry = (struct module_cache_folder *)table_next(
                &cache->entries, hash, &at)) != NULL) {
        if (entry->store == store && symcache_key_equal(&entry->key, key)) {
            break;
        }
    }
    return entry;
}

/* NULL without memory: it is looked for again next time. */
static struct module_cache_folder *cache_add_folder(struct module_cache *cache,
                                                    uint64_t hash, int store,
                                                    const symcache_key_t *key,
                                                    struct module *module)
{
    struct module_cache_folder *entry;

    if (module == NULL && cache->empty >= EMPTY_MAX) {
        drop_some(cache, true, false);
    }
    entry = calloc(1, offsetof(struct module_cache_folder, key.name) +
                          key->name_len + 1);
    if (entry == NULL) {
        return NULL;
    }
    if (table_add(&cache->entries, hash, (uintptr_t)entry) != 0) {
        free(entry);
        return NULL;
    }
    entry->store = store;
    entry->module = module != NULL ? module_ref(module) : NULL;
    cache->empty += module == NULL;
    symcache_key_copy(&entry->key, key);
    return entry;
}

static bool is_same_folder(const struct folder_state *folder,
                           const struct stat *st)
{
    return folder->settled && folder->inode == st->st_ino &&
           folder->device == st->st_dev &&
           folder->changed.tv_sec == st->st_ctim.tv_sec &&
           folder->changed.tv_nsec == st->st_ctim.tv_nsec;
}

/* By another spelling, or with other hints, there may be a file. */
static bool cache_is_same(const char *name, const char *hints,
                          const struct module_question *question)
{
    return name != NULL && strlen(name) == question->name_size &&
           memcmp(name, question->name, question->name_size) == 0 &&
           (hints == NULL || question->hints == NULL
                ? hints == question->hints
                : strcmp(hints, question->hints) == 0);
}

static struct module_cache_forgotten *forgotten_of(struct module_cache *cache,
                                                   int store)
{
    struct module_cache_forgotten *forgotten;

    SLIST_FOREACH(forgotten, &cache->forgotten, next)
    {
        if (forgotten->store == store) {
            return forgotten;
        }
    }
    return NULL;
}

/* Until when nothing of what was said of the store's keys is to be believed;
 * once in a call. */
static uint64_t forgotten_at(struct module_cache *cache, int store, int root,
                             const struct module_asker *asker)
{
    struct module_cache_forgotten *seen = forgotten_of(cache, store);
    bool is_new = seen == NULL;
    struct stat st;

    if (is_new) {
        seen = calloc(1, sizeof(*seen));
        if (seen == NULL) {
            return UINT64_MAX;
        }
        seen->store = store;
        SLIST_INSERT_HEAD(&cache->forgotten, seen, next);
    } else if (seen->asker.call == asker->call &&
               asker->now - seen->asker.now <= GLANCE_MS) {
        return seen->noticed;
    }
    seen->asker = *asker;
    if (fstatat(root, SYMCACHE_FORGOTTEN_FILE, &st, AT_SYMLINK_NOFOLLOW) !=
        0) {
        memset(&st, 0, sizeof(st));
    }
    if (!is_new &&
        (st.st_dev != seen->st.st_dev || st.st_ino != seen->st.st_ino ||
         st.st_size != seen->st.st_size ||
         st.st_mtim.tv_sec != seen->st.st_mtim.tv_sec ||
         st.st_mtim.tv_nsec != seen->st.st_mtim.tv_nsec)) {
        seen->noticed = clock_ms();
    }
    seen->st = st;
    return seen->noticed;
}

static enum module_find find_empty(const struct module_cache_folder *entry,
                                   const struct module_question *question,
                                   uint64_t now, uint64_t forgotten,
                                   unsigned *reason)
{
    if (entry == NULL || now >= entry->absent_until ||
        entry->asked <= forgotten ||
        !cache_is_same(entry->name, entry->hints, question)) {
        return MODULE_FIND_NONE;
    }
    *reason = entry->reason;
    return MODULE_FIND_ABSENT;
}

/* The folder is there, and as it was. */
static enum module_find find_here(struct module_cache *cache, uint64_t hash,
                                  struct module_cache_folder *entry,
                                  uint64_t now, struct module **module)
{
    if (atomic_load_explicit(&entry->module->broken, memory_order_relaxed)) {
        mapped_modules_remove(cache->mapped, entry->module);
        drop_folder(cache, hash, entry);
        return MODULE_FIND_LOOK;
    }
    if (atomic_load_explicit(&entry->module->used, memory_order_relaxed) !=
        now) {
        atomic_store_explicit(&entry->module->used, now, memory_order_relaxed);
    }
    *module = module_ref(entry->module);
    return MODULE_FIND_HERE;
}

/*
 * The folder of a key.  A call asks for several kinds of files in one folder,
 * and again in its next round; half of what a small dump asks the kernel for
 * were these questions.
 */
static const struct module_cache_glance *
look_at_folder(struct module_cache *cache, uint64_t hash, int store, int root,
               const symcache_key_t *key, const struct module_asker *asker)
{
    struct module_cache_glance *seen = &cache->glances[hash % GLANCES];
    char path[SYMCACHE_PATH_MAX + 1];
    size_t size = symcache_path_dir(path, key) + 1;

    if (seen->asker.call != asker->call ||
        asker->now - seen->asker.now > GLANCE_MS || seen->store != store ||
        strcmp(seen->path, path) != 0) {
        seen->asker = *asker;
        seen->store = store;
        memcpy(seen->path, path, size);
        seen->error = fstatat(root, path, &seen->st, 0) != 0 ? errno : 0;
    }
    return seen;
}

enum module_find module_cache_find(struct module_cache *cache, int store,
                                   int root,
                                   const struct module_question *question,
                                   const struct module_asker *asker,
                                   struct module **module, unsigned *reason)
{
    const symcache_key_t *key = question->key;
    uint64_t hash = cache_hash_of(cache, key);
    struct module_cache_folder *entry = find_folder(cache, hash, store, key);
    const struct module_cache_glance *seen =
        look_at_folder(cache, hash, store, root, key, asker);
    /* also before the first question: what is forgotten later is seen */
    uint64_t forgotten = store >= 0 && (entry == NULL || entry->module == NULL)
                             ? forgotten_at(cache, store, root, asker)
                             : 0;

    if (seen->error != 0) {
        if (seen->error != ENOENT && seen->error != ENOTDIR) {
            return MODULE_FIND_LOOK;
        }
        if (entry != NULL && entry->folder.inode != 0) {
            drop_folder(cache, hash, entry);
            entry = NULL;
        }
        return find_empty(entry, question, asker->now, forgotten, reason);
    }
    if (entry == NULL || !is_same_folder(&entry->folder, &seen->st)) {
        return MODULE_FIND_LOOK;
    }
    return entry->module != NULL
               ? find_here(cache, hash, entry, asker->now, module)
               : find_empty(entry, question, asker->now, forgotten, reason);
}

void module_cache_add(struct module_cache *cache, int store,
                      const symcache_key_t *key,
                      const struct module_sight *sight)
{
    uint64_t hash = cache_hash_of(cache, key);
    struct module_cache_folder *entry = find_folder(cache, hash, store, key);

    cache->glances[hash % GLANCES].asker.call = 0;
    if (entry != NULL) {
        drop_folder(cache, hash, entry);
    }
    if (sight->error == 0 && sight->folder.inode != 0) {
        entry = cache_add_folder(cache, hash, store, key, sight->module);
        if (entry != NULL) {
            entry->folder = sight->folder;
        }
    }
}

void module_cache_absent(struct module_cache *cache, int store,
                         const struct module_question *question,
                         const struct module_asker *asker, uint64_t until,
                         unsigned reason)
{
    const symcache_key_t *key = question->key;
    uint64_t hash = cache_hash_of(cache, key);
    struct module_cache_folder *entry = find_folder(cache, hash, store, key);
    char *name = strndup(question->name, question->name_size);
    char *hints = question->hints != NULL ? strdup(question->hints) : NULL;

    if (entry == NULL) {
        entry = cache_add_folder(cache, hash, store, key, NULL);
    }
    if (entry == NULL || !cache_is_same(name, hints, question)) {
        free(name);
        free(hints);
        return;
    }
    free(entry->name);
    free(entry->hints);
    entry->name = name;
    entry->hints = hints;
    entry->asked = asker->now;
    entry->absent_until = until;
    entry->reason = reason;
    entry->absence = ++cache->absences;
    forget_attempts(cache, entry);
}

bool module_cache_find_absence(struct module_cache *cache, int store, int root,
                               const struct module_question *question,
                               const struct module_asker *asker,
                               struct module_absence *absence)
{
    const symcache_key_t *key = question->key;
    const struct module_cache_folder *entry;
    struct module *module = NULL;
    unsigned reason;
    enum module_find found = module_cache_find(cache, store, root, question,
                                               asker, &module, &reason);

    module_unref(module);
    if (found != MODULE_FIND_ABSENT) {
        return false;
    }
    entry = find_folder(cache, cache_hash_of(cache, key), store, key);
    absence->number = entry->absence;
    absence->attempts = entry->attempts;
    absence->size = entry->attempts_size;
    return true;
}

void module_cache_add_attempts(struct module_cache *cache, int store,
                               const symcache_key_t *key, uint64_t number,
                               const char *text, size_t size)
{
    struct module_cache_folder *entry =
        find_folder(cache, cache_hash_of(cache, key), store, key);
    size_t i;

    if (entry == NULL || entry->absence != number || size == 0 ||
        size > MODULE_ATTEMPTS_MAX) {
        return;
    }
    if (cache->attempts_size + size > ATTEMPTS_TOTAL_MAX) {
        for (i = 0; i < cache->entries.num_slots; i++) {
            if (cache->entries.slots[i].value != 0) {
                forget_attempts(
                    cache,
                    (struct module_cache_folder *)cache->entries.slots[i]
                        .value);
            }
        }
    }
    forget_attempts(cache, entry);
    entry->attempts = malloc(size);
    if (entry->attempts != NULL) {
        memcpy(entry->attempts, text, size);
        entry->attempts_size = size;
        cache->attempts_size += size;
    }
}

void module_cache_trim(struct module_cache *cache)
{
    unsigned generation = mapped_modules_generation(cache->mapped);

    if (generation != cache->generation) {
        cache->generation = generation;
        drop_some(cache, false, false);
    }
}
