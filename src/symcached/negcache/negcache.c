/*
 * Copyright (C) the ngx_symcache authors
 */

#include "negcache_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/store_key.h"
#include "absences.h"
#include "entry_file.h"
#include "symcached/store/store.h"
#include "proto/header.h"
#include "proto/path.h"

const struct negcache_rule negcache_rules[NEGCACHE_REASONS] = {
    [NEGCACHE_NOTFOUND] =
        {
            .name = "notfound",
            .on_disk = true,
            .by_name = true,
            .is_final = true,
            .life = offsetof(struct cache_config, retry_misses_after),
            .metric = METRIC_NEGCACHE_NOTFOUND,
        },
    [NEGCACHE_WRONG_FORMAT] =
        {
            .name = "wrong-format",
            .on_disk = true,
            .by_name = true,
            .is_final = true,
            .life = offsetof(struct cache_config, retry_misses_after),
            .metric = METRIC_NEGCACHE_WRONG_FORMAT,
        },
    [NEGCACHE_MALFORMED] =
        {
            .name = "malformed",
            .on_disk = true,
            .by_run = true,
            .is_final = true,
            .life = offsetof(struct cache_config, retry_malformed_after),
            .metric = METRIC_NEGCACHE_MALFORMED,
        },
    [NEGCACHE_ERROR] =
        {
            .name = "error",
            .life = offsetof(struct cache_config, retry_errors_after),
            .metric = METRIC_NEGCACHE_ERROR,
        },
    [NEGCACHE_LOOP] =
        {
            .name = SYMCACHE_REASON_LOOP,
            .life = offsetof(struct cache_config, retry_errors_after),
            .metric = METRIC_NEGCACHE_LOOP,
        },
    [NEGCACHE_UNCHANGED] =
        {
            .name = "unchanged",
            .needs_file = true,
            .life = offsetof(struct cache_config, retry_misses_after),
            .metric = METRIC_NEGCACHE_UNCHANGED,
        },
};

unsigned negcache_life(enum negcache_reason reason,
                       const struct cache_config *cache)
{
    return *(const unsigned *)((const char *)cache +
                               negcache_rules[reason].life);
}

struct negcache *negcache_new(time_t started)
{
    struct negcache *negcache = calloc(1, sizeof(*negcache));

    if (negcache == NULL) {
        return NULL;
    }
    negcache->started = started;
    TAILQ_INIT(&negcache->by_age);
    negcache->absences = absences_new();
    if (negcache->absences == NULL) {
        negcache_free(negcache);
        return NULL;
    }
    return negcache;
}

void negcache_free(struct negcache *negcache)
{
    if (negcache == NULL) {
        return;
    }
    memory_entries_free(negcache);
    absences_free(negcache->absences);
    free(negcache);
}

static void negcache_entry_path(char buf[PATH_MAX],
                                const struct store_config *store,
                                const symcache_key_t *key,
                                const symcache_version_t *version)
{
    char relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_file(relative, key, version, SYMCACHE_FILE_ABSENT);
    snprintf(buf, PATH_MAX, "%.1024s/%s", store->root, relative);
}

bool negcache_read(int dir, const char *name, struct negcache_entry *entry)
{
    struct written found;

    if (!entry_read(dir, name, &found)) {
        return false;
    }
    *entry = found.entry;
    return true;
}

/* Is the entry still believed?  If not, *why is the metric to count. */
static bool negcache_in_force(struct negcache *negcache,
                              const struct store_config *store,
                              const struct cache_config *cache,
                              struct written *written, enum metric *why)
{
    struct negcache_entry *entry = &written->entry;
    time_t now = time(NULL), life = negcache_life(entry->reason, cache);

    /* The clock was set back: entries of this run are older than its start. */
    if (now < negcache->started) {
        negcache->started = now;
    }
    if (negcache_rules[entry->reason].by_run &&
        entry->since < negcache->started) {
        *why = METRIC_OUTDATED_RESTART;
        return false;
    }
    /* A source that was added since may have the file, or an intact one. */
    if (written->has_fingerprint &&
        written->fingerprint != store->fingerprint) {
        *why = METRIC_OUTDATED_SOURCES;
        return false;
    }
    /* An entry from the future was written while the clock was wrong. */
    if (entry->since > now || now - entry->since >= life) {
        *why = METRIC_OUTDATED_TIME;
        return false;
    }
    entry->valid = (unsigned)(entry->since + life - now);
    return true;
}

/* An entry that is on disk: of an absent key in the journal, or, as all were
 * in former releases, in a file of its own. */
static bool negcache_find_on_disk(struct negcache *negcache,
                                  const struct store_config *store,
                                  const symcache_key_t *key,
                                  const symcache_version_t *version,
                                  struct written *found)
{
    char path[PATH_MAX];

    if (absences_find(negcache->absences, store->root, key, version, found)) {
        return true;
    }
    negcache_entry_path(path, store, key, version);
    return entry_read(AT_FDCWD, path, found);
}

bool negcache_is_alone(struct negcache *negcache,
                       const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    return absences_is_alone(negcache->absences, store->root, key, version);
}

void negcache_set_alone(struct negcache *negcache,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    absences_set_alone(negcache->absences, store->root, key, version);
}

static bool negcache_find_written(struct negcache *negcache,
                                  const struct store_config *store,
                                  const struct cache_config *cache,
                                  const symcache_key_t *key,
                                  const symcache_version_t *version,
                                  struct negcache_entry *entry,
                                  enum metric *why)
{
    struct written found;

    if (!negcache_find_on_disk(negcache, store, key, version, &found) ||
        !negcache_in_force(negcache, store, cache, &found, why)) {
        return false;
    }
    *entry = found.entry;
    return true;
}

bool negcache_was_absent(struct negcache *negcache,
                         const struct store_config *store,
                         const struct cache_config *cache,
                         const symcache_key_t *key,
                         const symcache_version_t *version)
{
    struct written found;
    enum metric why;

    return negcache_find_on_disk(negcache, store, key, version, &found) &&
           negcache_rules[found.entry.reason].is_final &&
           !negcache_in_force(negcache, store, cache, &found, &why) &&
           why == METRIC_OUTDATED_TIME;
}

/* Does the entry also hold for this name? */
static bool negcache_looked_for(const struct store_config *store,
                                const struct negcache_entry *entry,
                                const char *name)
{
    return !negcache_rules[entry->reason].by_name || name == NULL ||
           !name_variants_counts(store, name) ||
           name_variants_listed(&entry->variants, name);
}

bool negcache_find(struct negcache *negcache, const struct store_config *store,
                   const struct cache_config *cache, const symcache_key_t *key,
                   const char *name, const char *hints,
                   const symcache_version_t *version,
                   struct negcache_entry *entry)
{
    enum metric why = METRICS_N;

    if (negcache_unproved_hints(key, hints) == NULL &&
        negcache_find_written(negcache, store, cache, key, version, entry,
                              &why)) {
        if (negcache_looked_for(store, entry, name)) {
            return true;
        }
        if (name_variants_full(&entry->variants)) {
            entry->reason = NEGCACHE_ERROR;
            snprintf(entry->text, sizeof(entry->text),
                     "not looked for in this spelling, but in %d others",
                     NAME_VARIANTS_MAX);
            return true;
        }
        why = METRIC_OUTDATED_SPELLING;
    }
    if (why != METRICS_N) {
        metrics_add(why, 1);
    }
    return negcache_find_noted(negcache, store, key, name, hints, version,
                               entry);
}

/* Writes an entry into a file of its own.  Without fsync(), because the event
 * loop would wait for it: entry_read() ignores what a crash has cut off. */
static int negcache_write_file(const struct written *written, const char *path,
                               const char *tmp)
{
    FILE *f = fopen(tmp, "we");
    bool ok;

    if (f == NULL) {
        return -1;
    }
    ok = entry_print(f, written->fingerprint, &written->entry);
    ok = fclose(f) == 0 && ok;
    if (!ok || store_rename(tmp, path) != 0) {
        int saved = errno;

        unlink(tmp);
        errno = saved;
        return -1;
    }
    return 0;
}

static int negcache_write_entry(struct negcache *negcache,
                                const struct store_config *store,
                                const struct cache_config *cache,
                                const symcache_key_t *key, const char *name,
                                const symcache_version_t *version,
                                enum negcache_reason reason, const char *text,
                                int64_t uploads_changed, const char *tmp)
{
    struct written written = {.fingerprint = store->fingerprint};
    struct negcache_entry *entry = &written.entry;
    bool by_name = negcache_rules[reason].by_name;
    enum metric why;
    char path[PATH_MAX];

    /* A miss under one more name keeps the time of the earlier misses.  One
     * under a name that missed before was looked for again, because something
     * had come since: it would be, at each request, if the time stayed. */
    if (!negcache_find_written(negcache, store, cache, key, version, entry,
                               &why) ||
        entry->reason != reason || !by_name ||
        !name_variants_counts(store, name) ||
        name_variants_listed(&entry->variants, name)) {
        memset(entry, 0, sizeof(*entry));
        entry->reason = reason;
        entry->since = time(NULL);
        entry->uploads_changed = uploads_changed;
    }
    snprintf(entry->text, sizeof(entry->text), "%s", text);
    if (by_name && name_variants_counts(store, name)) {
        name_variants_add(&entry->variants, name);
    }

    /* Absent keys are many, and anybody may ask for them: they share a file.
     * What is malformed has one each, for who walks the store. */
    negcache_entry_path(path, store, key, version);
    if (by_name) {
        if (absences_add(negcache->absences, store->root, key, version,
                         &written) != 0) {
            return -1;
        }
        (void)unlink(path);
        return 0;
    }
    absences_remove(negcache->absences, store->root, key, version);
    return negcache_write_file(&written, path, tmp);
}

bool negcache_is_written(enum negcache_reason reason,
                         const symcache_key_t *key, const char *hints)
{
    /* sections are found by their build id when a file with it comes: on disk,
     * each would lie in a folder of its own name */
    return negcache_rules[reason].on_disk &&
           negcache_unproved_hints(key, hints) == NULL &&
           key->kind != SYMCACHE_KIND_SECTION;
}

int negcache_add(struct negcache *negcache, const struct store_config *store,
                 const struct cache_config *cache, const symcache_key_t *key,
                 const char *name, const char *hints,
                 const symcache_version_t *version,
                 enum negcache_reason reason, const char *text,
                 unsigned seconds, int64_t uploads_changed, const char *tmp)
{
    int saved;

    if (reason == NEGCACHE_LOOP) {
        memory_entry_note_loop(negcache, store, key, name, hints, version,
                               text, negcache_life(reason, cache));
        return 0;
    }
    if (!negcache_is_written(reason, key, hints)) {
        memory_entry_note(negcache, store, key, name, hints, version, reason,
                          text,
                          seconds > 0 ? seconds : negcache_life(reason, cache),
                          uploads_changed);
        return 0;
    }
    errno = ENOENT;
    if (tmp != NULL &&
        negcache_write_entry(negcache, store, cache, key, name, version,
                             reason, text, uploads_changed, tmp) == 0) {
        return 0;
    }
    saved = errno;
    memory_entry_note(
        negcache, store, key, name, hints, version, NEGCACHE_ERROR, text,
        negcache_life(NEGCACHE_ERROR, cache), NEGCACHE_NO_UPLOADS);
    errno = saved;
    return -1;
}

void negcache_drop(struct negcache *negcache, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version)
{
    char path[PATH_MAX];

    negcache_entry_path(path, store, key, version);
    unlink(path);
    absences_remove(negcache->absences, store->root, key, version);
    memory_entry_drop(negcache, store, key, version);
}

bool negcache_take_back(struct negcache *negcache,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    char path[PATH_MAX];
    struct written found;
    bool was_there = memory_entry_take_back(negcache, store, key, version);

    negcache_entry_path(path, store, key, version);
    return (entry_read(AT_FDCWD, path, &found) &&
            found.entry.reason == NEGCACHE_MALFORMED && unlink(path) == 0) ||
           was_there;
}

/* A folder that may have entries; or NULL: there is none, or it is not read. */
static DIR *negcache_open_entries(const char *path, int *errnum)
{
    DIR *dir = opendir(path);

    if (dir == NULL && errno != ENOENT && errno != ENOTDIR) {
        *errnum = errno;
    }
    return dir;
}

/* Drops the entries of every kind in the folder of a key. */
static unsigned negcache_forget_files(const struct store_config *store,
                                      symcache_key_t *key, int *errnum)
{
    char path[PATH_MAX], relative[SYMCACHE_PATH_MAX + 1];
    symcache_version_t version;
    symcache_file_e file;
    struct dirent *entry;
    unsigned n = 0;
    DIR *dir;

    symcache_path_dir(relative, key);
    snprintf(path, sizeof(path), "%.1024s/%s", store->root, relative);
    dir = negcache_open_entries(path, errnum);
    if (dir == NULL) {
        return 0;
    }

    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (!symcache_path_entry_parse(entry->d_name, strlen(entry->d_name),
                                       key, &version, &file) ||
            !symcache_key_supported(key) || file != SYMCACHE_FILE_ABSENT) {
            continue;
        }
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0) {
            n++;
        } else if (errno != ENOENT) {
            *errnum = errno;
        }
    }
    *errnum = errno != 0 ? errno : *errnum;
    closedir(dir);
    return n;
}

unsigned negcache_forget(struct negcache *negcache,
                         const struct store_config *store,
                         const symcache_key_t *key, bool has_id, int *errnum)
{
    char path[PATH_MAX], folder[SYMCACHE_PATH_MAX + 1];
    char prefix[STORE_KEY_MAX + 1];
    symcache_key_t each = *key;
    struct dirent *entry;
    unsigned n;
    DIR *dir;

    *errnum = 0;
    if (has_id) {
        symcache_path_dir(folder, key);
        snprintf(prefix, sizeof(prefix), "%.64s/%s/", store->name, folder);
        return memory_entries_forget(negcache, prefix, key) +
               absences_forget(negcache->absences, store->root, key, true) +
               negcache_forget_files(store, &each, errnum);
    }

    snprintf(prefix, sizeof(prefix), "%.64s/%s/", store->name, key->name);
    n = memory_entries_forget(negcache, prefix, NULL) +
        absences_forget(negcache->absences, store->root, key, false);

    snprintf(path, sizeof(path), "%.1024s/%s", store->root, key->name);
    dir = negcache_open_entries(path, errnum);
    if (dir == NULL) {
        return n;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (symcache_path_id_parse(entry->d_name, strlen(entry->d_name),
                                   &each)) {
            n += negcache_forget_files(store, &each, errnum);
        }
    }
    *errnum = errno != 0 ? errno : *errnum;
    closedir(dir);
    return n;
}
