/*
 * Copyright (C) the ngx_symcache authors
 */

#include "recall.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "base/clock.h"
#include "base/hash_table.h"
#include "proto/path.h"

/* The oldest goes for the next one: some 14 MB, in a flood of absent keys. */
#define RECALL_MAX 32768

/* For so long, as there are file systems whose times are not to be relied on,
 * and entries that were edited where they lie. */
#define RECALL_MS 60000

/* The times of files are rounded to a tick, or on some file systems to two
 * seconds. */
#define SETTLED_SECONDS 3

struct recalled {
    TAILQ_ENTRY(recalled) age;
    struct recall_place place;
    uint64_t read; /* clock_ms() */
    uint64_t fingerprint;
    time_t since;
    enum negcache_reason reason;
    bool has_fingerprint;
    bool is_alone;
    char texts[]; /* that of the entry, and the name variants */
};

struct recall {
    struct table by_place;
    TAILQ_HEAD(, recalled) by_age; /* oldest first */
};

struct recall *recall_new(void)
{
    struct recall *recall = calloc(1, sizeof(*recall));

    if (recall != NULL) {
        TAILQ_INIT(&recall->by_age);
    }
    return recall;
}

/* By the folder alone, which has one entry, or a few. */
static uint64_t hash_of(const struct recall *recall,
                        const struct recall_place *place)
{
    uint64_t ids[] = {(uint64_t)place->dev, (uint64_t)place->ino};

    return table_hash((uint64_t)(uintptr_t)recall, ids, sizeof(ids));
}

static void drop(struct recall *recall, struct recalled *r)
{
    table_remove(&recall->by_place, hash_of(recall, &r->place), (uintptr_t)r);
    TAILQ_REMOVE(&recall->by_age, r, age);
    free(r);
}

void recall_free(struct recall *recall)
{
    struct recalled *r;

    if (recall == NULL) {
        return;
    }
    while ((r = TAILQ_FIRST(&recall->by_age)) != NULL) {
        drop(recall, r);
    }
    table_free(&recall->by_place);
    free(recall);
}

bool recall_place(struct recall_place *place, const char *root,
                  const symcache_key_t *key, const symcache_version_t *version)
{
    char relative[SYMCACHE_PATH_MAX + 1], path[PATH_MAX];
    struct stat st;

    symcache_path_dir(relative, key);
    snprintf(path, sizeof(path), "%.1024s/%s", root, relative);
    if (stat(path, &st) != 0) {
        return false;
    }
    *place = (struct recall_place){
        .dev = st.st_dev,
        .ino = st.st_ino,
        .changed = st.st_ctim,
        .kind = key->kind,
        .version = *version,
    };
    return true;
}

static bool is_same(const struct recall_place *a, const struct recall_place *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->kind == b->kind &&
           symcache_version_cmp(&a->version, &b->version) == 0;
}

/* The remembered entry of a place, or NULL; an outdated one is dropped. */
static struct recalled *find(struct recall *recall,
                             const struct recall_place *place)
{
    uint64_t hash = hash_of(recall, place);
    struct recalled *r;
    size_t at = 0;

    while ((r = (struct recalled *)table_next(&recall->by_place, hash, &at)) !=
               NULL &&
           !is_same(&r->place, place)) {
    }
    if (r != NULL && (r->place.changed.tv_sec != place->changed.tv_sec ||
                      r->place.changed.tv_nsec != place->changed.tv_nsec ||
                      clock_since(r->read) >= RECALL_MS)) {
        drop(recall, r);
        return NULL;
    }
    return r;
}

bool recall_get(struct recall *recall, const struct recall_place *place,
                bool is_alone, struct written *written)
{
    const struct recalled *r = find(recall, place);

    if (r == NULL || (is_alone && !r->is_alone)) {
        return false;
    }
    if (written != NULL) {
        struct negcache_entry *entry = &written->entry;

        entry->reason = r->reason;
        entry->since = r->since;
        snprintf(entry->text, sizeof(entry->text), "%s", r->texts);
        snprintf(entry->variants.text, sizeof(entry->variants.text), "%s",
                 r->texts + strlen(r->texts) + 1);
        written->has_fingerprint = r->has_fingerprint;
        written->fingerprint = r->fingerprint;
    }
    return true;
}

void recall_put(struct recall *recall, const struct recall_place *place,
                const struct written *written)
{
    const struct negcache_entry *entry = &written->entry;
    size_t text = strlen(entry->text) + 1;
    size_t variants = strlen(entry->variants.text) + 1;
    struct recalled *r = find(recall, place);
    struct timespec now;

    if (r != NULL) {
        drop(recall, r);
    }
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        now.tv_sec - place->changed.tv_sec < SETTLED_SECONDS) {
        return;
    }
    if (recall->by_place.count >= RECALL_MAX) {
        drop(recall, TAILQ_FIRST(&recall->by_age));
    }
    r = malloc(sizeof(*r) + text + variants);
    if (r == NULL) {
        return;
    }
    *r = (struct recalled){
        .place = *place,
        .read = clock_ms(),
        .fingerprint = written->fingerprint,
        .since = entry->since,
        .reason = entry->reason,
        .has_fingerprint = written->has_fingerprint,
    };
    memcpy(r->texts, entry->text, text);
    memcpy(r->texts + text, entry->variants.text, variants);
    if (table_add(&recall->by_place, hash_of(recall, place), (uintptr_t)r) !=
        0) {
        free(r);
        return;
    }
    TAILQ_INSERT_TAIL(&recall->by_age, r, age);
}

void recall_set_alone(struct recall *recall, const struct recall_place *place)
{
    struct recalled *r = find(recall, place);

    if (r != NULL) {
        r->is_alone = true;
    }
}
