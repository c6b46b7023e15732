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
                              struct memory_entry *noted)
{
    table_remove(&negcache->by_id,
                 table_hash_text(&negcache->by_id, noted->id),
                 (uintptr_t)noted);
    TAILQ_REMOVE(&negcache->by_age, noted, age);
    free(noted->text);
    free(noted->id);
    free(noted);
}

void memory_entries_free(struct negcache *negcache)
{
    struct memory_entry *noted;

    while ((noted = TAILQ_FIRST(&negcache->by_age)) != NULL) {
        memory_entry_free(negcache, noted);
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
    struct memory_entry *noted;
    size_t at = 0;

    while ((noted = (struct memory_entry *)table_next(&negcache->by_id, hash,
                                                      &at)) != NULL &&
           strcmp(noted->id, id) != 0) {
    }
    return noted;
}

static void memory_entry_fill(struct negcache_entry *entry,
                              const struct memory_entry *noted, time_t now)
{
    entry->reason = noted->reason;
    entry->since = noted->since;
    entry->uploads_changed = noted->uploads_changed;
    entry->valid = (unsigned)(noted->until - now);
    entry->variants.text[0] = '\0';
    snprintf(entry->text, sizeof(entry->text), "%s", noted->text);
}

bool negcache_find_noted(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, const char *name,
                         const char *hints, const symcache_version_t *version,
                         struct negcache_entry *entry)
{
    char id[FAILURE_ID_MAX];
    struct memory_entry *noted;
    time_t now = time(NULL);

    memory_entry_print_id(id, store, key, name,
                          negcache_unproved_hints(key, hints), version);
    noted = memory_entry_find(negcache, id);
    if (noted == NULL) {
        return false;
    }
    if (now >= noted->until || now < noted->since) {
        memory_entry_free(negcache, noted);
        return false;
    }

    memory_entry_fill(entry, noted, now);
    return true;
}

bool negcache_find_hinted(const struct negcache *negcache,
                          const struct store_config *store,
                          const symcache_key_t *key,
                          const symcache_version_t *version,
                          struct negcache_entry *entry, char *hints)
{
    char id[FAILURE_ID_MAX], fingerprint[17];
    const struct memory_entry *noted;
    time_t now = time(NULL);
    size_t len;

    memory_entry_print_id(id, store, key, "", NULL, version);
    len = strlen(id);
    snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64,
             store->fingerprint);
    TAILQ_FOREACH_REVERSE(noted, &negcache->by_age, memory_entries, age)
    {
        if (strncmp(noted->id, id, len) == 0 && noted->id[len] == '?' &&
            strcmp(strrchr(noted->id, ' ') + 1, fingerprint) == 0 &&
            now >= noted->since && now < noted->until) {
            memory_entry_fill(entry, noted, now);
            len++;
            snprintf(hints, SYMCACHE_HINTS_MAX + 1, "%.*s",
                     (int)strcspn(noted->id + len, " "), noted->id + len);
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
    struct memory_entry *noted;

    memory_entry_print_id(id, store, key, name,
                          negcache_unproved_hints(key, hints), version);
    noted = memory_entry_find(negcache, id);
    if (noted != NULL) {
        memory_entry_free(negcache, noted);
    }
    while (negcache->by_id.count >= ERRORS_MAX) {
        memory_entry_free(negcache, TAILQ_FIRST(&negcache->by_age));
    }

    noted = calloc(1, sizeof(*noted));
    if (noted == NULL) {
        return;
    }
    noted->id = strdup(id);
    noted->text = strndup(text, NEGCACHE_TEXT_MAX - 1);
    if (noted->id == NULL || noted->text == NULL ||
        table_add(&negcache->by_id, table_hash_text(&negcache->by_id, id),
                  (uintptr_t)noted) != 0) {
        free(noted->id);
        free(noted->text);
        free(noted);
        return;
    }

    noted->reason = reason;
    noted->uploads_changed =
        negcache_rules[reason].by_name ? uploads_changed : NEGCACHE_NO_UPLOADS;
    noted->since = time(NULL);
    noted->until = noted->since + (time_t)seconds;
    TAILQ_INSERT_TAIL(&negcache->by_age, noted, age);
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
    struct memory_entry *noted, *next;

    for (noted = TAILQ_FIRST(&negcache->by_age); noted != NULL; noted = next) {
        next = TAILQ_NEXT(noted, age);
        if (noted->reason == NEGCACHE_ERROR ||
            noted->reason == NEGCACHE_LOOP) {
            memory_entry_free(negcache, noted);
        }
    }
}

void memory_entry_drop(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    char id[FAILURE_ID_MAX];
    struct memory_entry *noted;

    memory_entry_print_id(id, store, key, "", NULL, version);
    noted = memory_entry_find(negcache, id);
    if (noted != NULL) {
        memory_entry_free(negcache, noted);
    }
}

/* Drops what is malformed of the entries in memory that begin with a prefix.
 */
static unsigned memory_entry_drop_malformed(struct negcache *negcache,
                                            const char *prefix, time_t since)
{
    struct memory_entry *noted, *next;
    unsigned n = 0;

    for (noted = TAILQ_FIRST(&negcache->by_age); noted != NULL; noted = next) {
        next = TAILQ_NEXT(noted, age);
        if (noted->reason == NEGCACHE_MALFORMED && noted->since >= since &&
            strncmp(noted->id, prefix, strlen(prefix)) == 0) {
            memory_entry_free(negcache, noted);
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
static bool memory_entry_failed_with(const struct memory_entry *noted,
                                     const char *store,
                                     const symcache_key_t *key)
{
    const char *hints = strchr(noted->id, '?');
    char text[SYMCACHE_HINTS_MAX + 1];

    if (hints == NULL || strncmp(noted->id, store, strlen(store)) != 0) {
        return false;
    }
    hints++;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(hints, " "), hints);
    return negcache_hints_name(text, key);
}

/* Is it of this store, and of a section of a file with the key's build id? Its
 * id is <store>/<section>/<id>/<section>-v1.0.0.section.absent. */
static bool memory_entry_is_section_of(const struct memory_entry *noted,
                                       const char *store,
                                       const symcache_key_t *key)
{
    size_t len = strlen(store);
    const char *section_id = strncmp(noted->id, store, len) == 0
                                 ? strchr(noted->id + len, '/')
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
    struct memory_entry *noted, *next;
    size_t len = strlen(prefix);
    unsigned n = 0;

    snprintf(store, sizeof(store), "%.*s/", (int)strcspn(prefix, "/"), prefix);
    for (noted = TAILQ_FIRST(&negcache->by_age); noted != NULL; noted = next) {
        next = TAILQ_NEXT(noted, age);
        if (strncmp(noted->id, prefix, len) == 0 ||
            (key != NULL && (memory_entry_failed_with(noted, store, key) ||
                             memory_entry_is_section_of(noted, store, key)))) {
            memory_entry_free(negcache, noted);
            n++;
        }
    }
    return n;
}

unsigned negcache_errors(const struct negcache *negcache)
{
    return (unsigned)negcache->by_id.count;
}
