/*
 * Copyright (C) the ngx_symcache authors
 *
 * The first walk removes files that are too old and collects the ages of the
 * rest.  The second walk removes more files to make room.
 */

#include "evict_pass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "evict_for_space.h"
#include "evict_unit.h"
#include "newer_release_name.h"
#include "store.h"
#include "proto/path.h"

/* Used so few seconds ago, perhaps by a waiting job: not removed for space. */
#define FRESH 600

/* The last use of a SymCache may be later than was noted.  Downloads are
 * used by the helper alone, which notes each use. */
#define FRESH_STORE (STORE_TOUCH_EVERY + FRESH)

#define UNITS 64 /* of one folder that are handled together */
#define ENTRIES_PER_PAUSE 500

struct evict_pass {
    struct evict_pass_rules rules;
    struct evict_tree *trees; /* downloads, store, downloads, store, ... */
    size_t ntrees;
    char *downloads; /* root of all downloads */
    struct eviction eviction;
    time_t began;
    bool second;     /* in the second walk */
    bool is_looking; /* only for the newest use before the helper began */
    time_t newest;
    time_t helper_began;
    evict_pass_progress_fn progress;
    void *arg;
    unsigned long long serial; /* for the names of files being removed */
    unsigned long long gone;   /* files and folders that were removed */
    uint64_t failed;           /* folders not read that are of no tree */
    char failed_at[PATH_MAX];  /* the first path that failed, and why; or "" */
    unsigned entries;          /* since the last pause */
    uint64_t worked;           /* clock_ms() of the last pause */

    struct evict_tree *tree;   /* in which the walk is */
    const struct uptime *uptime; /* by which its files have ages */
    struct evict_unit units[UNITS];
    unsigned nunits;
};

static const char *const reason_names[EVICT_REASONS] = {
    "unused", "expired", "max_size", "min_free", "unknown"};

const char *evict_pass_reason_name(enum evict_pass_reason reason)
{
    return reason_names[reason];
}

/* Counts what could not be removed or read, with errno: a name in an open
 * folder. */
static void count_failure(struct evict_pass *evict_pass, uint64_t *failed,
                          int dir, const char *name)
{
    const char *error = strerror(errno);
    char link[32], folder[PATH_MAX / 2];
    ssize_t n;

    (*failed)++;
    if (evict_pass->failed_at[0] != '\0') {
        return;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    n = readlink(link, folder, sizeof(folder));
    snprintf(evict_pass->failed_at, sizeof(evict_pass->failed_at),
             "%.*s%s%.1024s: %s", n > 0 ? (int)n : 0, folder,
             n > 0 && name[0] != '\0' ? "/" : "", name, error);
}

/* units ----------------------------------------------------------------- */

static void count_unit(struct evict_pass_count *to,
                       const struct evict_unit *unit)
{
    to->files += evict_unit_files(unit);
    to->bytes += unit->size;
}

/* Returns false if the unit stays. */
static bool remove_unit(struct evict_pass *evict_pass, int dir,
                        const struct evict_unit *unit,
                        const symcache_key_t *key,
                        enum evict_pass_reason reason)
{
    struct evict_tree *tree = evict_pass->tree;
    int rc = evict_pass->rules.dry_run
                 ? 0
                 : evict_unit_remove(unit, dir, tree->downloads, key,
                                     &evict_pass->serial);

    if (rc < 0) {
        count_failure(evict_pass, &tree->failed, dir, "");
    }
    if (rc != 0) {
        return false;
    }
    count_unit(&tree->removed[reason], unit);
    tree->part->freed += unit->disk;
    evict_pass->gone++;
    return true;
}

static bool too_old(const struct evict_pass *evict_pass,
                    const struct evict_unit *unit, long long age,
                    enum evict_pass_reason *reason)
{
    const struct evict_pass_rules *rules = &evict_pass->rules;
    unsigned life = unit->negcache ? rules->absent_for
                    : evict_pass->tree->downloads
                        ? rules->downloads_max_unused_for
                        : rules->max_unused_for;

    *reason = unit->negcache ? EVICT_EXPIRED : EVICT_UNUSED;
    return age > (long long)life;
}

static bool is_fresh(const struct evict_tree *tree, long long age)
{
    return age < (tree->downloads ? FRESH : FRESH_STORE);
}

/* Must it go?  For its store's size first; the rest has the last reason. */
static bool in_the_way(const struct evict_tree *tree, long long age,
                       const struct evict_unit *unit,
                       enum evict_pass_reason *reason)
{
    struct evict_pass_part *part = tree->part;
    uint64_t *quota = part->quota;
    bool for_free = quota[EVICT_MAX_SIZE] == 0 && quota[EVICT_MIN_FREE] > 0;

    if (is_fresh(tree, age) ||
        !age_histogram_marked(&part->age_histogram, age, unit->disk)) {
        return false;
    }
    *reason = for_free ? EVICT_MIN_FREE : EVICT_MAX_SIZE;
    quota += *reason;
    *quota = unit->disk < *quota ? *quota - unit->disk : for_free;
    return true;
}

static void judge_unit(struct evict_pass *evict_pass, int dir,
                       const struct evict_unit *unit, const symcache_key_t *key)
{
    struct evict_tree *tree = evict_pass->tree;
    struct evict_pass_part *part = tree->part;
    long long age =
        uptime_age(evict_pass->uptime, unit->used, evict_pass->began);
    enum evict_pass_reason reason;

    if (evict_pass->rules.unknown) {
        count_unit(&tree->kept, unit);
        return;
    }
    if (age < -UPTIME_DRIFT && !evict_pass->second) {
        /* noted while the clock was wrong: it would stay until then */
        if (!evict_pass->rules.dry_run) {
            evict_unit_use(unit, dir, tree->downloads, key);
        }
        tree->future += evict_unit_files(unit);
    }
    if (too_old(evict_pass, unit, age, &reason)) {
        /* The second walk of a dry run sees the same unit again. */
        if (evict_pass->second ||
            remove_unit(evict_pass, dir, unit, key, reason)) {
            return;
        }
    }
    if (!evict_pass->second) {
        count_unit(&tree->kept, unit);
        part->disk += unit->disk;
        if (!is_fresh(tree, age)) {
            age_histogram_add(&part->age_histogram, age, unit->disk);
        }
        return;
    }
    if (in_the_way(tree, age, unit, &reason) &&
        remove_unit(evict_pass, dir, unit, key, reason)) {
        tree->kept.files -= evict_unit_files(unit);
        tree->kept.bytes -= unit->size;
    }
}

static void judge_gzip(struct evict_pass *evict_pass, int dir,
                       struct evict_unit *unit, const symcache_key_t *key)
{
    struct evict_unit gzip;

    if (!evict_pass->rules.unknown && !evict_pass->second &&
        evict_unit_split_gzip(unit, &gzip)) {
        remove_unit(evict_pass, dir, &gzip, key, EVICT_UNUSED);
    }
}

static void judge_units(struct evict_pass *evict_pass, int dir,
                        symcache_key_t *key)
{
    struct evict_unit *unit;
    unsigned i;

    for (i = 0; i < evict_pass->nunits; i++) {
        unit = &evict_pass->units[i];
        key->kind = (uint8_t)unit->kind;
        judge_gzip(evict_pass, dir, unit, key);
        if (evict_unit_files(unit) > 0) {
            judge_unit(evict_pass, dir, unit, key);
        }
    }
    evict_pass->nunits = 0;
}

static struct evict_unit *find_unit(struct evict_pass *evict_pass,
                                    symcache_kind_e kind,
                                    const symcache_version_t *version,
                                    bool negcache)
{
    struct evict_unit *unit;
    unsigned i;

    for (i = 0; i < evict_pass->nunits; i++) {
        unit = &evict_pass->units[i];
        if (unit->kind == kind && unit->negcache == negcache &&
            symcache_version_cmp(&unit->version, version) == 0) {
            return unit;
        }
    }
    unit = &evict_pass->units[evict_pass->nunits++];
    *unit = (struct evict_unit){
        .kind = kind, .version = *version, .negcache = negcache};
    return unit;
}

/* Removes a file that this release does not know, if its name has the form of
 * those that a later one gives.  Nothing here serves such a file, or writes
 * one, so nothing can be in its place. */
static void visit_unknown(struct evict_pass *evict_pass, int dir,
                          const char *name, const symcache_key_t *key)
{
    struct evict_tree *tree = evict_pass->tree;
    struct stat st;

    if (!newer_release_name_is_file(name, key->name, tree->downloads) ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISREG(st.st_mode) || (tree->downloads && S_ISLNK(st.st_mode)))) {
        return;
    }
    if (!evict_pass->rules.dry_run && unlinkat(dir, name, 0) != 0) {
        if (errno != ENOENT) {
            count_failure(evict_pass, &tree->failed, dir, name);
        }
        return;
    }
    tree->removed[EVICT_UNKNOWN].files++;
    tree->removed[EVICT_UNKNOWN].bytes += (uint64_t)st.st_size;
    evict_pass->gone++;
}

/* Adds a file in the folder of a key to its unit, if it is one of ours.  A
 * download may be a link. */
static void visit_file(struct evict_pass *evict_pass, int dir,
                       const char *name, symcache_key_t *key)
{
    symcache_version_t version = {0, 0, 0};
    symcache_file_e file = SYMCACHE_FILE_PLAIN;
    symcache_kind_e kind;
    struct stat st;
    struct evict_unit *unit;

    if (evict_unit_is_removed(name)) {
        if (!evict_pass->rules.dry_run && !evict_pass->rules.unknown &&
            !evict_pass->second && !evict_pass->is_looking &&
            fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            evict_pass->began - st.st_ctime > FRESH) {
            (void)unlinkat(dir, name, 0); /* of a process that was killed */
        }
        return;
    }
    if (evict_pass->tree->downloads
            ? !symcache_path_original_parse(name, strlen(name), key)
            : !symcache_path_entry_parse(name, strlen(name), key, &version,
                                         &file) ||
                  !symcache_key_supported(key)) {
        if (evict_pass->rules.unknown) {
            visit_unknown(evict_pass, dir, name, key);
        }
        return;
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISREG(st.st_mode) ||
          (evict_pass->tree->downloads && S_ISLNK(st.st_mode)))) {
        return;
    }

    if (evict_pass->is_looking) {
        if (file == SYMCACHE_FILE_PLAIN && st.st_mtime > evict_pass->newest &&
            st.st_mtime < evict_pass->helper_began) {
            evict_pass->newest = st.st_mtime;
        }
        return;
    }

    kind = (symcache_kind_e)key->kind;
    if (evict_pass->nunits == UNITS) {
        judge_units(evict_pass, dir, key);
    }
    unit = find_unit(evict_pass, kind, &version,
                     file == SYMCACHE_FILE_ABSENT);
    evict_unit_add(unit, file, &st);
}

/* the walk -------------------------------------------------------------- */

/* Pauses for as long as was worked. */
static void pause_now(struct evict_pass *evict_pass)
{
    unsigned ms = clock_since(evict_pass->worked);
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
    evict_pass->worked = clock_ms();
    evict_pass->entries = 0;
}

/* Opens a root (flags: 0), or a folder below one (O_NOFOLLOW).  What is there
 * and cannot be opened is counted, unless it is no folder, or the one that a
 * root that is a file system of its own has for root alone. */
static DIR *evict_open_folder(struct evict_pass *evict_pass, int dir,
                              const char *name, int flags)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *folder = fd != -1 ? fdopendir(fd) : NULL;

    if (folder == NULL && !evict_pass->is_looking && errno != ENOENT &&
        (flags == 0 || (errno != ENOTDIR && errno != ELOOP &&
                        strcmp(name, "lost+found") != 0))) {
        count_failure(evict_pass, &evict_pass->tree->failed, dir, name);
    }
    if (folder == NULL && fd != -1) {
        close(fd);
    }
    return folder;
}

/* Removes a folder that had no entries, or lost some since `gone`. */
static void remove_folder(struct evict_pass *evict_pass, int dir,
                          const char *name, bool had_entries,
                          unsigned long long gone)
{
    /* This fails where something is left, as it should.  A writer whose new
     * folder is removed makes it again. */
    if (!evict_pass->rules.dry_run &&
        (!had_entries || evict_pass->gone > gone) &&
        unlinkat(dir, name, AT_REMOVEDIR) == 0) {
        evict_pass->gone++;
    }
}

static const char *evict_next_name(struct evict_pass *evict_pass, DIR *folder)
{
    struct dirent *entry;

    while (errno = 0, (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            if (evict_pass->rules.gentle &&
                ++evict_pass->entries == ENTRIES_PER_PAUSE) {
                pause_now(evict_pass);
            }
            return entry->d_name;
        }
    }
    if (errno != 0 && !evict_pass->is_looking) {
        count_failure(evict_pass, &evict_pass->tree->failed, dirfd(folder),
                      "");
    }
    return NULL;
}

/* Walks the folder of a key, or of an unknown id.  Has it entries? */
static bool walk_key(struct evict_pass *evict_pass, DIR *folder,
                     symcache_key_t *key, bool known)
{
    bool entries = false;
    const char *name;

    while ((name = evict_next_name(evict_pass, folder)) != NULL) {
        entries = true;
        if (known) {
            visit_file(evict_pass, dirfd(folder), name, key);
        } else {
            visit_unknown(evict_pass, dirfd(folder), name, key);
        }
    }
    judge_units(evict_pass, dirfd(folder), key);
    return entries;
}

static bool parse_name(const char *name, symcache_key_t *key)
{
    return symcache_name_parse(name, strlen(name), key) == SYMCACHE_OK &&
           strcmp(key->name, name) == 0;
}

/* Walks the folder of a PDB name.  Returns false if it has no entries. */
static bool walk_name(struct evict_pass *evict_pass, DIR *folder,
                      symcache_key_t *key)
{
    bool entries = false, known, below_has;
    unsigned long long gone;
    const char *name;
    DIR *below;

    while ((name = evict_next_name(evict_pass, folder)) != NULL) {
        entries = true;
        known = symcache_path_id_parse(name, strlen(name), key);
        if (!(known ||
              (evict_pass->rules.unknown && newer_release_name_is_id(name))) ||
            (below = evict_open_folder(evict_pass, dirfd(folder), name,
                                       O_NOFOLLOW)) == NULL) {
            continue;
        }
        gone = evict_pass->gone;
        below_has = walk_key(evict_pass, below, key, known);
        closedir(below);
        remove_folder(evict_pass, dirfd(folder), name, below_has, gone);
    }
    return entries;
}

static uint64_t count_names(DIR *root)
{
    uint64_t n;

    for (n = 0; readdir(root) != NULL; n++) {
    }
    rewinddir(root);
    return n > 2 ? n - 2 : 0;
}

static void walk_tree(struct evict_pass *evict_pass, struct evict_tree *tree)
{
    DIR *below, *root;
    uint64_t done = 0, all = 0;
    unsigned long long gone;
    bool entries;
    symcache_key_t key;
    struct stat st;
    const char *name;

    evict_pass->tree = tree;
    root = evict_open_folder(evict_pass, AT_FDCWD, tree->path, 0);
    if (root == NULL) {
        return;
    }
    if (fstat(dirfd(root), &st) == 0) {
        tree->part->device = st.st_dev;
        tree->part->there = true;
    }

    evict_pass->uptime =
        &evict_pass->trees[(size_t)(tree - evict_pass->trees) | 1]
             .part->uptime;
    if (evict_pass->progress != NULL) {
        all = count_names(root);
    }
    while ((name = evict_next_name(evict_pass, root)) != NULL) {
        if (evict_pass->progress != NULL) {
            evict_pass->progress(evict_pass->arg, tree, done++, all);
        }
        if (!parse_name(name, &key) || /* this refuses ".tmp" as well */
            (below = evict_open_folder(evict_pass, dirfd(root), name,
                                       O_NOFOLLOW)) == NULL) {
            continue;
        }
        gone = evict_pass->gone;
        entries = walk_name(evict_pass, below, &key);
        closedir(below);
        remove_folder(evict_pass, dirfd(root), name, entries, gone);
    }
    closedir(root);
    if (evict_pass->progress != NULL) {
        evict_pass->progress(evict_pass->arg, tree, all, all);
    }
}

/* the clock ------------------------------------------------------------- */

/* The newest use of a SymCache before the helper began, or 0. */
static time_t newest_use(struct evict_pass *evict_pass,
                         struct evict_tree *tree)
{
    evict_pass->newest = 0;
    evict_pass->is_looking = true;
    walk_tree(evict_pass, tree);
    evict_pass->is_looking = false;
    return evict_pass->newest;
}

/* Finds out how much of the clock's time counts, and notes it. */
static void set_clock(struct evict_pass *evict_pass, struct evict_tree *tree)
{
    const struct evict_pass_rules *rules = &evict_pass->rules;
    struct uptime *uptime = &tree->part->uptime;
    time_t all = (time_t)rules->max_unused_for +
                 rules->downloads_max_unused_for + rules->absent_for;

    if (!uptime_read(uptime, tree->path) && uptime_may_doubt(tree->path)) {
        tree->doubted = uptime_doubt(uptime, newest_use(evict_pass, tree),
                                     evict_pass->helper_began,
                                     rules->max_unused_for);
    }
    tree->ahead =
        uptime_pass(uptime, evict_pass->began, &rules->run, all);
    tree->clock_error =
        uptime_write(uptime, tree->path) == 0 || errno == ENOENT ? 0 : errno;
}

/* life ------------------------------------------------------------------ */

void evict_pass_rules_of(const struct cache_config *cache,
                         struct evict_pass_rules *rules)
{
    memset(rules, 0, sizeof(*rules));
    rules->max_unused_for = cache->max_unused_for;
    rules->downloads_max_unused_for = cache->downloads_max_unused_for;
    rules->absent_for =
        cache->retry_misses_after > cache->retry_malformed_after
            ? cache->retry_misses_after
            : cache->retry_malformed_after;
    rules->max_size = cache->max_size;
    rules->downloads_max_size = cache->downloads_max_size;
    rules->min_free = cache->min_free;
    rules->min_free_percent = cache->min_free_percent;
}

struct evict_pass *evict_pass_new(const struct evict_pass_rules *rules)
{
    struct evict_pass *evict_pass = calloc(1, sizeof(*evict_pass));

    if (evict_pass != NULL) {
        evict_pass->rules = *rules;
    }
    return evict_pass;
}

void evict_pass_free(struct evict_pass *evict_pass)
{
    size_t i;

    for (i = 0; evict_pass != NULL && i < evict_pass->ntrees; i++) {
        free(evict_pass->trees[i].store);
        free(evict_pass->trees[i].path);
        free(evict_pass->trees[i].part);
    }
    if (evict_pass != NULL) {
        eviction_drop(&evict_pass->eviction);
        free(evict_pass->trees);
        free(evict_pass->downloads);
        free(evict_pass);
    }
}

static int add_tree(struct evict_pass *evict_pass, const char *store,
                    char *path, bool downloads)
{
    struct evict_tree *tree = &evict_pass->trees[evict_pass->ntrees++];

    memset(tree, 0, sizeof(*tree));
    tree->store = strdup(store);
    tree->path = path;
    tree->downloads = downloads;
    tree->part = calloc(1, sizeof(*tree->part));
    if (tree->store == NULL || path == NULL || tree->part == NULL) {
        return -1;
    }
    age_histogram_init(&tree->part->age_histogram,
                       downloads ? evict_pass->rules.downloads_max_unused_for
                                 : evict_pass->rules.max_unused_for);
    return 0;
}

int evict_pass_add(struct evict_pass *evict_pass, const char *store,
                   const char *root, const char *downloads)
{
    size_t n = evict_pass->ntrees + 2;
    void *trees =
        reallocarray(evict_pass->trees, n, sizeof(evict_pass->trees[0]));
    char *path;

    evict_pass->trees = trees != NULL ? trees : evict_pass->trees;
    if (evict_pass->downloads == NULL) {
        evict_pass->downloads = strdup(downloads);
    }
    if (trees == NULL || evict_pass->downloads == NULL ||
        eviction_fit(&evict_pass->eviction, n) != 0 ||
        asprintf(&path, "%s/%s", downloads, store) < 0 ||
        add_tree(evict_pass, store, path, true) != 0 ||
        add_tree(evict_pass, store, strdup(root), false) != 0) {
        return -1;
    }
    return 0;
}

void evict_pass_run(struct evict_pass *evict_pass,
                    evict_pass_progress_fn progress, void *arg)
{
    const struct evict_tree *tree;
    size_t i;

    evict_pass->began = time(NULL);
    evict_pass->worked = clock_ms();
    evict_pass->progress = progress;
    evict_pass->arg = arg;
    evict_pass->helper_began =
        evict_pass->began - (time_t)evict_pass->rules.run.ran;
    for (i = 1; i < evict_pass->ntrees && evict_pass->rules.run.id != 0;
         i += 2) {
        /* a former store has downloads only, and no root to note it in */
        if (evict_pass->trees[i].path[0] != '\0') {
            set_clock(evict_pass, &evict_pass->trees[i]);
        }
    }
    for (i = 0; i < evict_pass->ntrees; i++) {
        walk_tree(evict_pass, &evict_pass->trees[i]);
    }
    if (evict_pass->rules.unknown) {
        return; /* space is no reason now */
    }

    evict_pass->eviction.rules = &evict_pass->rules;
    evict_pass->eviction.downloads = evict_pass->downloads;
    evict_pass->eviction.trees = evict_pass->trees;
    evict_pass->eviction.ntrees = evict_pass->ntrees;
    eviction_mark(&evict_pass->eviction);
    evict_pass->second = true;
    for (i = 0; i < evict_pass->ntrees; i++) {
        tree = &evict_pass->trees[i];
        if (tree->part->age_histogram.marked > 0) {
            walk_tree(evict_pass, &evict_pass->trees[i]);
        }
    }
}

static bool has_store(const struct evict_pass *evict_pass, const char *name)
{
    size_t i;

    for (i = 0; i < evict_pass->ntrees; i++) {
        if (strcmp(evict_pass->trees[i].store, name) == 0) {
            return true;
        }
    }
    return false;
}

int evict_pass_add_former(struct evict_pass *evict_pass,
                          const char *downloads)
{
    DIR *dir = opendir(downloads);
    struct dirent *entry;
    int rc = 0;

    while (rc == 0 && dir != NULL &&
           (errno = 0, entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.' && !has_store(evict_pass, entry->d_name)) {
            rc = evict_pass_add(evict_pass, entry->d_name, "", downloads);
        }
    }
    if (rc == 0 && errno != 0 && errno != ENOENT) {
        count_failure(evict_pass, &evict_pass->failed, AT_FDCWD, downloads);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

void evict_pass_removed(const struct evict_pass *evict_pass,
                        struct evict_pass_count removed[EVICT_REASONS],
                        uint64_t *failed)
{
    const struct evict_tree *tree;
    size_t i;
    int r;

    memset(removed, 0, EVICT_REASONS * sizeof(removed[0]));
    *failed = evict_pass->failed;
    for (i = 0; i < evict_pass->ntrees; i++) {
        tree = &evict_pass->trees[i];
        *failed += tree->failed;
        for (r = 0; r < EVICT_REASONS; r++) {
            removed[r].files += tree->removed[r].files;
            removed[r].bytes += tree->removed[r].bytes;
        }
    }
}

const char *evict_pass_failed_at(const struct evict_pass *evict_pass)
{
    return evict_pass->failed_at;
}

const struct evict_tree *evict_trees(const struct evict_pass *evict_pass,
                                     size_t *n)
{
    *n = evict_pass->ntrees;
    return evict_pass->trees;
}

const struct evict_pass_space *
evict_pass_spaces(const struct evict_pass *evict_pass, size_t *n)
{
    *n = evict_pass->eviction.nspaces;
    return evict_pass->eviction.spaces;
}
