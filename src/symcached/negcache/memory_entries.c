/*
 * Copyright (C) the ngx_symcache authors
 *
 * The entries of the negative cache that are in memory.
 */
#include "negcache_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/store_key.h"
#include "proto/hints.h"
#include "proto/path.h"

/* When there are more, the oldest failure is dropped. */
#define ERRORS_MAX 10000

#define FAILURE_ID_MAX                                                        \
    (STORE_KEY_MAX + SYMCACHE_HINTS_MAX + SYMCACHE_NAME_MAX + sizeof("?  ") + \
     16)

struct memory_entry {
    TAILQ_ENTRY(memory_entry) age;
    char *id; /* see memory_entry_print_id() */
    char *text;
    enum negcache_reason reason;
    int64_t uploads_changed;
    time_t since;
    time_t until;
};

static void memory_entry_free(struct negcache *negcache,
                              struct memory_entry *in_memory)
{
    table_remove(&negcache->by_id,
                 table_hash_text(&negcache->by_id, in_memory->id),
                 (uintptr_t)in_memory);
    TAILQ_REMOVE(&negcache->by_age, in_memory, age);
    free(in_memory->text);
    free(in_memory->id);
    free(in_memory);
}

void memory_entries_free(struct negcache *negcache)
{
    struct memory_entry *in_memory;

    while ((in_memory = TAILQ_FIRST(&negcache->by_age)) != NULL) {
        memory_entry_free(negcache, in_memory);
    }
    table_free(&negcache->by_id);
}

const char *negcache_unproved_hints(const symcache_key_t *key,
                                    const char *hints)
{
    if (hints == NULL ||
        (key->kind == SYMCACHE_KIND_SOURCE && key->id_type == SYMCACHE_ID_HASH
             ? symcache_hints_proved(hints)
             : hints[0] == '\0')) {
        return NULL;
    }
    return hints;
}

/*
 * <store>/<pdb>/<GUIDAGE>/<pdb>-v<M.m.p>.absent, and if hints is not NULL also
 * all that they were believed with: ?<hints> <name> <fingerprint>.
 */
static void memory_entry_print_id(char id[FAILURE_ID_MAX],
                                  const struct store_config *store,
                                  const symcache_key_t *key, const char *name,
                                  const char *hints,
                                  const symcache_version_t *version)
{
    char relative[SYMCACHE_PATH_MAX + 1];
    int n;

    symcache_path_file(relative, key, version, SYMCACHE_FILE_ABSENT);
    n = snprintf(id, STORE_KEY_MAX, "%.64s/%s", store->name, relative);
    if (hints != NULL) {
        snprintf(id + n, FAILURE_ID_MAX - (size_t)n, "?%s %s %016" PRIx64,
                 hints, name, store->fingerprint);
    }
}

static struct memory_entry *memory_entry_find(struct negcache *negcache,
                                              const char *id)
{
    uint64_t hash = table_hash_text(&negcache->by_id, id);
    struct memory_entry *in_memory;
    size_t at = 0;

    while ((in_memory = (struct memory_entry *)table_next(
                &negcache->by_id, hash, &at)) != NULL &&
           strcmp(in_memory->id, id) != 0) {
    }
    return in_memory;
}

static void memory_entry_fill(struct negcache_entry *entry,
                              const struct memory_entry *in_memory, time_t now)
{
    entry->reason = in_memory->reason;
    entry->since = in_memory->since;
    entry->uploads_changed = in_memory->uploads_changed;
    entry->valid = (unsigned)(in_memory->until - now);
    entry->variants.text[0] = '\0';
    snprintf(entry->text, sizeof(entry->text), "%s", in_memory->text);
}

bool negcache_find_noted(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, const char *name,
                         const char *hints, const symcache_version_t *version,
                         struct negcache_entry *entry)
{
    char id[FAILURE_ID_MAX];
    struct memory_entry *in_memory;
    time_t now = time(NULL);

    memory_entry_print_id(id, store, key, name,
                          negcache_unproved_hints(key, hints), version);
    in_memory = memory_entry_find(negcache, id);
    if (in_memory == NULL) {
        return false;
    }
    if (now >= in_memory->until || now < in_memory->since) {
        memory_entry_free(negcache, in_memory);
        return false;
    }

    memory_entry_fill(entry, in_memory, now);
    return true;
}

bool negcache_find_hinted(const struct negcache *negcache,
                          const struct store_config *store,
                          const symcache_key_t *key,
                          const symcache_version_t *version,
                          struct negcache_entry *entry, char *hints)
{
    char id[FAILURE_ID_MAX], fingerprint[17];
    const struct memory_entry *in_memory;
    time_t now = time(NULL);
    size_t len;

    memory_entry_print_id(id, store, key, "", NULL, version);
    len = strlen(id);
    snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64,
             store->fingerprint);
    TAILQ_FOREACH_REVERSE(in_memory, &negcache->by_age, memory_entries, age)
    {
        if (strncmp(in_memory->id, id, len) == 0 &&
            in_memory->id[len] == '?' &&
            strcmp(strrchr(in_memory->id, ' ') + 1, fingerprint) == 0 &&
            now >= in_memory->since && now < in_memory->until) {
            memory_entry_fill(entry, in_memory, now);
            len++;
            snprintf(hints, SYMCACHE_HINTS_MAX + 1, "%.*s",
                     (int)strcspn(in_memory->id + len, " "),
                     in_memory->id + len);
            return true;
        }
    }
    return false;
}

void memory_entry_note(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key, const char *name,
                       const char *hints, const symcache_version_t *version,
                       enum negcache_reason reason, const char *text,
                       unsigned seconds, int64_t uploads_changed)
{
    char id[FAILURE_ID_MAX];
    struct memory_entry *in_memory;

    memory_entry_print_id(id, store, key, name,
                          negcache_unproved_hints(key, hints), version);
    in_memory = memory_entry_find(negcache, id);
    if (in_memory != NULL) {
        memory_entry_free(negcache, in_memory);
    }
    while (negcache->by_id.count >= ERRORS_MAX) {
        memory_entry_free(negcache, TAILQ_FIRST(&negcache->by_age));
    }

    in_memory = calloc(1, sizeof(*in_memory));
    if (in_memory == NULL) {
        return;
    }
    in_memory->id = strdup(id);
    in_memory->text = strndup(text, NEGCACHE_TEXT_MAX - 1);
    if (in_memory->id == NULL || in_memory->text == NULL ||
        table_add(&negcache->by_id, table_hash_text(&negcache->by_id, id),
                  (uintptr_t)in_memory) != 0) {
        free(in_memory->id);
        free(in_memory->text);
        free(in_memory);
        return;
    }

    in_memory->reason = reason;
    in_memory->uploads_changed =
        negcache_rules[reason].by_name ? uploads_changed : NEGCACHE_NO_UPLOADS;
    in_memory->since = time(NULL);
    in_memory->until = in_memory->since + (time_t)seconds;
    TAILQ_INSERT_TAIL(&negcache->by_age, in_memory, age);
}

void memory_entry_note_loop(struct negcache *negcache,
                            const struct store_config *store,
                            const symcache_key_t *key, const char *name,
                            const char *hints,
                            const symcache_version_t *version, const char *via,
                            unsigned seconds)
{
    char lists[NEGCACHE_TEXT_MAX];
    struct negcache_entry former;
    size_t n;

    n = (size_t)snprintf(lists, sizeof(lists), "%s", via);
    if (negcache_find_noted(negcache, store, key, name, hints, version,
                            &former) &&
        former.reason == NEGCACHE_LOOP &&
        n + strlen(former.text) + sizeof("; ") <= sizeof(lists)) {
        snprintf(lists + n, sizeof(lists) - n, "; %s", former.text);
        seconds = former.valid;
    }
    memory_entry_note(negcache, store, key, name, hints, version,
                      NEGCACHE_LOOP, lists, seconds, NEGCACHE_NO_UPLOADS);
}

void negcache_drop_errors(struct negcache *negcache)
{
    struct memory_entry *in_memory, *next;

    for (in_memory = TAILQ_FIRST(&negcache->by_age); in_memory != NULL;
         in_memory = next) {
        next = TAILQ_NEXT(in_memory, age);
        if (in_memory->reason == NEGCACHE_ERROR ||
            in_memory->reason == NEGCACHE_LOOP) {
            memory_entry_free(negcache, in_memory);
        }
    }
}

void memory_entry_drop(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    char id[FAILURE_ID_MAX];
    struct memory_entry *in_memory;

    memory_entry_print_id(id, store, key, "", NULL, version);
    in_memory = memory_entry_find(negcache, id);
    if (in_memory != NULL) {
        memory_entry_free(negcache, in_memory);
    }
}

/* Drops what is malformed of the entries in memory that begin with a prefix.
 */
static unsigned memory_entry_drop_malformed(struct negcache *negcache,
                                            const char *prefix, time_t since)
{
    struct memory_entry *in_memory, *next;
    unsigned n = 0;

    for (in_memory = TAILQ_FIRST(&negcache->by_age); in_memory != NULL;
         in_memory = next) {
        next = TAILQ_NEXT(in_memory, age);
        if (in_memory->reason == NEGCACHE_MALFORMED &&
            in_memory->since >= since &&
            strncmp(in_memory->id, prefix, strlen(prefix)) == 0) {
            memory_entry_free(negcache, in_memory);
            n++;
        }
    }
    return n;
}

bool memory_entry_take_back(struct negcache *negcache,
                            const struct store_config *store,
                            const symcache_key_t *key,
                            const symcache_version_t *version)
{
    char id[FAILURE_ID_MAX];

    memory_entry_print_id(id, store, key, "", NULL, version);
    return memory_entry_drop_malformed(negcache, id, 0) > 0;
}

unsigned negcache_forget_malformed(struct negcache *negcache,
                                   const struct store_config *store,
                                   time_t since)
{
    char prefix[STORE_KEY_MAX];

    snprintf(prefix, sizeof(prefix), "%.64s/", store->name);
    return memory_entry_drop_malformed(negcache, prefix, since);
}

bool negcache_hints_name(const char *hints, const symcache_key_t *key)
{
    char value[SYMCACHE_HINT_MAX + 1], text[SYMCACHE_ID_TEXT_MAX + 1];

    if (key->id_type != SYMCACHE_ID_BUILD) {
        return false;
    }
    symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, value);
    symcache_id_print(text, key);
    return strcasecmp(value, text) == 0;
}

/* Is it of this store, and found out with the build id of the key? */
static bool memory_entry_failed_with(const struct memory_entry *in_memory,
                                     const char *store,
                                     const symcache_key_t *key)
{
    const char *hints = strchr(in_memory->id, '?');
    char text[SYMCACHE_HINTS_MAX + 1];

    if (hints == NULL || strncmp(in_memory->id, store, strlen(store)) != 0) {
        return false;
    }
    hints++;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(hints, " "), hints);
    return negcache_hints_name(text, key);
}

/* Is it of this store, and of a section of a file with the key's build id? Its
 * id is <store>/<section>/<id>/<section>-v1.0.0.section.absent. */
static bool memory_entry_is_section_of(const struct memory_entry *in_memory,
                                       const char *store,
                                       const symcache_key_t *key)
{
    size_t len = strlen(store);
    const char *section_id = strncmp(in_memory->id, store, len) == 0
                                 ? strchr(in_memory->id + len, '/')
                                 : NULL;
    char text[SYMCACHE_ID_TEXT_MAX + 1];

    if (key->id_type != SYMCACHE_ID_BUILD || section_id == NULL ||
        strstr(section_id, ".section.absent") == NULL) {
        return false;
    }
    len = symcache_id_print(text, key);
    return strncmp(section_id + 1, text, len) == 0 &&
           section_id[1 + len] == '/';
}

unsigned memory_entries_forget(struct negcache *negcache, const char *prefix,
                               const symcache_key_t *key)
{
    char store[STORE_KEY_MAX + 1];
    struct memory_entry *in_memory, *next;
    size_t len = strlen(prefix);
    unsigned n = 0;

    snprintf(store, sizeof(store), "%.*s/", (int)strcspn(prefix, "/"), prefix);
    for (in_memory = TAILQ_FIRST(&negcache->by_age); in_memory != NULL;
         in_memory = next) {
        next = TAILQ_NEXT(in_memory, age);
        if (strncmp(in_memory->id, prefix, len) == 0 ||
            (key != NULL &&
             (memory_entry_failed_with(in_memory, store, key) ||
              memory_entry_is_section_of(in_memory, store, key)))) {
            memory_entry_free(negcache, in_memory);
            n++;
        }
    }
    return n;
}

unsigned negcache_errors(const struct negcache *negcache)
{
    return (unsigned)negcache->by_id.count;
}
