/*
 * Copyright (C) the ngx_symcache authors
 *
 * The first walk removes by age and notes how old the rest is; the second one
 * removes what has to go for the room that it takes.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include "ages.h"
#include "clock.h"
#include "sweep.h"
#include "proto/symcache_path.h"

/* Used just now, perhaps by a job that waits: goes by age only. */
#define FRESH 600

#define UNITS 64 /* of one folder that are looked at together */
#define FILES 3  /* of one unit: by enum symcache_file_e */

#define GENTLE_ENTRIES 500

/* A file between its name and its end, see remove_file(). */
#define GONE_PREFIX ".removed-"

struct sweep_part {
    struct ages ages;
    dev_t device;
    bool there;
    uint64_t disk; /* allocated by what is kept */
    uint64_t freed;
    uint64_t quota[SWEEP_REASONS]; /* marked bytes, for the second walk */
};

/* What goes together: a SymCache file with its .gz, or a negative entry. */
struct unit {
    symcache_version_t version;
    bool absent;
    time_t used;
    uint64_t size;
    uint64_t disk;
    struct stat files[FILES]; /* st_nlink 0 = there is none */
};

struct sweep {
    struct sweep_rules rules;
    struct sweep_tree *trees; /* downloads, store, downloads, store, ... */
    size_t ntrees;
    struct sweep_tree **chosen; /* room for all of them, see mark() */
    struct ages **ages;
    time_t began;
    bool second; /* walk */
    sweep_progress_fn progress;
    void *arg;
    unsigned long long serial; /* names of files that go */
    unsigned long long gone;   /* files and folders */
    unsigned entries;          /* since the last pause */
    uint64_t worked;           /* clock_ms() of the last pause */

    struct sweep_tree *tree; /* the walk's */
    struct unit units[UNITS];
    unsigned nunits;
};

static const char *const reason_names[SWEEP_REASONS] = {
    "unused", "expired", "max_size", "min_free"};

const char *sweep_reason_name(enum sweep_reason reason)
{
    return reason_names[reason];
}

/* removing -------------------------------------------------------------- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * Removes the file that was seen, and no other: one that was published over
 * it, or used, since it was looked at gets its name back.  Returns 0 when it
 * is gone, whoever did it; 1 when it stays; -1 with errno.
 */
static int remove_file(struct sweep *sweep, int dir, const char *name,
                       const struct stat *seen)
{
    char gone[NAME_MAX + 1];
    struct stat st;
    bool stays;

    snprintf(gone, sizeof(gone), GONE_PREFIX "%ld-%llu", (long)getpid(),
             ++sweep->serial);
    if (renameat(dir, name, dir, gone) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    stays = fstatat(dir, gone, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            !same_file(&st, seen);
    if (stays && linkat(dir, gone, dir, name, 0) != 0 && errno != EEXIST &&
        renameat(dir, gone, dir, name) == 0) {
        return 1; /* no links here */
    }
    return unlinkat(dir, gone, 0) == 0 || errno == ENOENT ? stays : -1;
}

static void count(struct sweep_count *to, const struct unit *unit,
                  unsigned files)
{
    to->files += files;
    to->bytes += unit->size;
}

static void add_sizes(struct unit *unit, const struct stat *st)
{
    unit->size += (uint64_t)st->st_size;
    unit->disk += (uint64_t)st->st_blocks * 512;
}

static unsigned unit_files(const struct unit *unit)
{
    unsigned n = 0;
    int i;

    for (i = 0; i < FILES; i++) {
        n += unit->files[i].st_nlink > 0;
    }
    return n;
}

/* Returns false if the unit stays. */
static bool remove_unit(struct sweep *sweep, int dir, const struct unit *unit,
                        const symcache_key_t *key, enum sweep_reason reason)
{
    /* the sidecar first: it never stays alone */
    static const symcache_file_e order[FILES] = {
        SYMCACHE_FILE_GZIP, SYMCACHE_FILE_PLAIN, SYMCACHE_FILE_ABSENT};
    char name[SYMCACHE_PATH_MAX + 1];
    struct sweep_tree *tree = sweep->tree;
    int i, rc = 0;

    for (i = 0; i < FILES && rc == 0 && !sweep->rules.dry_run; i++) {
        if (unit->files[order[i]].st_nlink == 0) {
            continue;
        }
        if (tree->downloads) {
            snprintf(name, sizeof(name), "%s", key->name);
        } else {
            symcache_path_name(name, key, &unit->version, order[i]);
        }
        rc = remove_file(sweep, dir, name, &unit->files[order[i]]);
    }
    if (rc != 0) {
        tree->failed += rc < 0;
        return false;
    }

    count(&tree->removed[reason], unit, unit_files(unit));
    tree->part->freed += unit->disk;
    sweep->gone++;
    return true;
}

/* units ----------------------------------------------------------------- */

static bool too_old(const struct sweep *sweep, const struct unit *unit,
                    enum sweep_reason *reason)
{
    const struct sweep_rules *rules = &sweep->rules;
    unsigned life = unit->absent             ? rules->absent_for
                    : sweep->tree->downloads ? rules->downloads_max_unused_for
                                             : rules->max_unused_for;

    *reason = unit->absent ? SWEEP_EXPIRED : SWEEP_UNUSED;
    return sweep->began - unit->used > (time_t)life;
}

/* Has it to go for its room?  The size of a store is the first reason. */
static bool in_the_way(struct sweep_part *part, time_t age,
                       const struct unit *unit, enum sweep_reason *reason)
{
    uint64_t *quota;

    if (age < FRESH || !ages_marked(&part->ages, age, unit->disk)) {
        return false;
    }
    *reason =
        part->quota[SWEEP_MAX_SIZE] > 0 ? SWEEP_MAX_SIZE : SWEEP_MIN_FREE;
    quota = &part->quota[*reason];
    *quota -= unit->disk < *quota ? unit->disk : *quota;
    return true;
}

static void judge_unit(struct sweep *sweep, int dir, const struct unit *unit,
                       const symcache_key_t *key)
{
    struct sweep_tree *tree = sweep->tree;
    struct sweep_part *part = tree->part;
    time_t age = sweep->began - unit->used;
    enum sweep_reason reason;

    if (too_old(sweep, unit, &reason)) {
        /* the second walk of a dry run sees it once more */
        if (sweep->second || remove_unit(sweep, dir, unit, key, reason)) {
            return;
        }
    }
    if (!sweep->second) {
        count(&tree->kept, unit, unit_files(unit));
        part->disk += unit->disk;
        if (age >= FRESH) {
            ages_add(&part->ages, age, unit->disk);
        }
        return;
    }
    if (in_the_way(part, age, unit, &reason) &&
        remove_unit(sweep, dir, unit, key, reason)) {
        tree->kept.files -= unit_files(unit);
        tree->kept.bytes -= unit->size;
    }
}

/* Of a file that has gone, or was replaced: serves nobody. */
static bool useless_gzip(const struct unit *unit)
{
    const struct stat *gzip = &unit->files[SYMCACHE_FILE_GZIP];
    const struct stat *plain = &unit->files[SYMCACHE_FILE_PLAIN];

    return gzip->st_nlink > 0 &&
           (plain->st_nlink == 0 || gzip->st_mtime < plain->st_mtime);
}

static void judge_gzip(struct sweep *sweep, int dir, struct unit *unit,
                       const symcache_key_t *key)
{
    struct unit alone = {.version = unit->version};

    alone.files[SYMCACHE_FILE_GZIP] = unit->files[SYMCACHE_FILE_GZIP];
    add_sizes(&alone, &alone.files[SYMCACHE_FILE_GZIP]);
    unit->files[SYMCACHE_FILE_GZIP].st_nlink = 0;
    unit->size -= alone.size;
    unit->disk -= alone.disk;
    if (!sweep->second) {
        remove_unit(sweep, dir, &alone, key, SWEEP_UNUSED);
    }
}

static void judge_units(struct sweep *sweep, int dir,
                        const symcache_key_t *key)
{
    struct unit *unit;
    unsigned i;

    for (i = 0; i < sweep->nunits; i++) {
        unit = &sweep->units[i];
        if (useless_gzip(unit)) {
            judge_gzip(sweep, dir, unit, key);
        }
        if (unit_files(unit) > 0) {
            judge_unit(sweep, dir, unit, key);
        }
    }
    sweep->nunits = 0;
}

static struct unit *find_unit(struct sweep *sweep,
                              const symcache_version_t *version, bool absent)
{
    struct unit *unit;
    unsigned i;

    for (i = 0; i < sweep->nunits; i++) {
        unit = &sweep->units[i];
        if (unit->absent == absent &&
            symcache_version_cmp(&unit->version, version) == 0) {
            return unit;
        }
    }
    unit = &sweep->units[sweep->nunits++];
    memset(unit, 0, sizeof(*unit));
    unit->version = *version;
    unit->absent = absent;
    return unit;
}

/* One file of a key's folder: joins its unit, if it is one of ours. */
static void visit_file(struct sweep *sweep, int dir, const char *name,
                       const symcache_key_t *key)
{
    symcache_version_t version = {0, 0, 0};
    symcache_file_e kind = SYMCACHE_FILE_PLAIN;
    struct stat st;
    struct unit *unit;

    if (strncmp(name, GONE_PREFIX, strlen(GONE_PREFIX)) == 0) {
        if (!sweep->rules.dry_run && !sweep->second &&
            fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            sweep->began - st.st_ctime > FRESH) {
            (void)unlinkat(dir, name, 0); /* somebody was killed meanwhile */
        }
        return;
    }
    if (sweep->tree->downloads
            ? strcmp(name, key->name) != 0
            : !symcache_path_name_parse(name, strlen(name), key, &version,
                                        &kind)) {
        return;
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
        return;
    }

    if (sweep->nunits == UNITS) {
        judge_units(sweep, dir, key);
    }
    unit = find_unit(sweep, &version, kind == SYMCACHE_FILE_ABSENT);
    unit->files[kind] = st;
    add_sizes(unit, &st);
    if (kind != SYMCACHE_FILE_GZIP) {
        unit->used = st.st_mtime;
    }
}

/* the walk -------------------------------------------------------------- */

/* As long a pause as there was work. */
static void pause_now(struct sweep *sweep)
{
    unsigned ms = clock_since(sweep->worked);
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
    sweep->worked = clock_ms();
    sweep->entries = 0;
}

static DIR *open_folder(int dir, const char *name)
{
    int fd =
        openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd != -1 ? fdopendir(fd) : NULL;

    if (folder == NULL && fd != -1) {
        close(fd);
    }
    return folder;
}

/* If it may be empty: had no entries, or lost some since `gone` was noted. */
static void remove_folder(struct sweep *sweep, int dir, const char *name,
                          bool had_entries, unsigned long long gone)
{
    /* fails where something is left in it, which is right; a writer that
       loses its new folder makes it again */
    if (!sweep->rules.dry_run && (!had_entries || sweep->gone > gone) &&
        unlinkat(dir, name, AT_REMOVEDIR) == 0) {
        sweep->gone++;
    }
}

static const char *next_name(struct sweep *sweep, DIR *folder)
{
    struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            if (sweep->rules.gentle && ++sweep->entries == GENTLE_ENTRIES) {
                pause_now(sweep);
            }
            return entry->d_name;
        }
    }
    return NULL;
}

/* The folder of one key.  Returns false if it has no entries. */
static bool walk_key(struct sweep *sweep, DIR *folder,
                     const symcache_key_t *key)
{
    bool entries = false;
    const char *name;

    while ((name = next_name(sweep, folder)) != NULL) {
        entries = true;
        visit_file(sweep, dirfd(folder), name, key);
    }
    judge_units(sweep, dirfd(folder), key);
    return entries;
}

/* Is this the way in which the helper writes the id? */
static bool parse_id(const char *name, symcache_key_t *key)
{
    char text[SYMCACHE_ID_TEXT_MAX + 1];

    if (symcache_id_parse(name, strlen(name), key) != SYMCACHE_OK) {
        return false;
    }
    symcache_id_print(text, key);
    return strcmp(text, name) == 0;
}

static bool parse_name(const char *name, symcache_key_t *key)
{
    return name[0] != '.' &&
           symcache_name_parse(name, strlen(name), key) == SYMCACHE_OK &&
           strcmp(key->name, name) == 0;
}

/* The folder of one PDB name.  Returns false if it has no entries. */
static bool walk_name(struct sweep *sweep, DIR *folder, symcache_key_t *key)
{
    bool entries = false, below_has;
    unsigned long long gone;
    const char *name;
    DIR *below;

    while ((name = next_name(sweep, folder)) != NULL) {
        entries = true;
        if (!parse_id(name, key) ||
            (below = open_folder(dirfd(folder), name)) == NULL) {
            continue;
        }
        gone = sweep->gone;
        below_has = walk_key(sweep, below, key);
        closedir(below);
        remove_folder(sweep, dirfd(folder), name, below_has, gone);
    }
    return entries;
}

static uint64_t count_names(DIR *root)
{
    uint64_t n = 0;

    while (readdir(root) != NULL) {
        n++;
    }
    rewinddir(root);
    return n > 2 ? n - 2 : 0;
}

static void walk_tree(struct sweep *sweep, struct sweep_tree *tree)
{
    DIR *below, *root = open_folder(AT_FDCWD, tree->path);
    uint64_t done = 0, all = 0;
    unsigned long long gone;
    bool entries;
    symcache_key_t key;
    struct stat st;
    const char *name;

    if (root == NULL) {
        tree->failed += errno != ENOENT;
        return;
    }
    if (fstat(dirfd(root), &st) == 0) {
        tree->part->device = st.st_dev;
        tree->part->there = true;
    }

    sweep->tree = tree;
    if (sweep->progress != NULL) {
        all = count_names(root);
    }
    while ((name = next_name(sweep, root)) != NULL) {
        if (sweep->progress != NULL) {
            sweep->progress(sweep->arg, tree, done++, all);
        }
        if (!parse_name(name, &key) || /* ".tmp" too */
            (below = open_folder(dirfd(root), name)) == NULL) {
            continue;
        }
        gone = sweep->gone;
        entries = walk_name(sweep, below, &key);
        closedir(below);
        remove_folder(sweep, dirfd(root), name, entries, gone);
    }
    closedir(root);
    if (sweep->progress != NULL) {
        sweep->progress(sweep->arg, tree, all, all);
    }
}

/* room ------------------------------------------------------------------ */

/*
 * Marks the least recently used of some trees: of one store, or of all those
 * on a device.  Returns how many bytes there were.
 */
static uint64_t mark(struct sweep *sweep, const char *store,
                     const dev_t *device, bool downloads, uint64_t wanted,
                     enum sweep_reason reason)
{
    struct sweep_tree *tree;
    uint64_t marked;
    size_t i, n = 0;

    for (i = 0; i < sweep->ntrees; i++) {
        tree = &sweep->trees[i];
        if (tree->downloads == downloads && tree->part->there &&
            (store == NULL || strcmp(tree->store, store) == 0) &&
            (device == NULL || tree->part->device == *device)) {
            tree->part->quota[reason] -= tree->part->ages.marked;
            sweep->chosen[n++] = tree;
            sweep->ages[n - 1] = &tree->part->ages;
        }
    }
    marked = ages_mark(sweep->ages, n, wanted);
    for (i = 0; i < n; i++) {
        tree = sweep->chosen[i];
        tree->part->quota[reason] += tree->part->ages.marked;
    }
    return marked;
}

/* Downloads first: what was made of them is worth more. */
static void mark_both(struct sweep *sweep, const char *store,
                      const dev_t *device, uint64_t wanted,
                      enum sweep_reason reason)
{
    uint64_t marked = mark(sweep, store, device, true, wanted, reason);

    if (marked < wanted) {
        mark(sweep, store, device, false, wanted - marked, reason);
    }
}

static void keep_size(struct sweep *sweep)
{
    uint64_t used, max = sweep->rules.max_size;
    const struct sweep_tree *trees = sweep->trees;
    size_t i;

    for (i = 0; max > 0 && i + 1 < sweep->ntrees; i += 2) {
        used = trees[i].part->disk + trees[i + 1].part->disk;
        if (used > max) {
            mark_both(sweep, trees[i].store, NULL, used - max, SWEEP_MAX_SIZE);
        }
    }
}

/* What is free on the file system of a tree, when what is marked is gone. */
static uint64_t bytes_free(const struct sweep *sweep,
                           const struct sweep_tree *tree, uint64_t *wanted)
{
    const struct sweep_rules *rules = &sweep->rules;
    const struct sweep_part *part;
    struct statvfs fs;
    uint64_t bytes;
    size_t i;

    *wanted = 0;
    if (statvfs(tree->path, &fs) != 0) {
        return 0;
    }
    *wanted = rules->min_free_percent > 0
                  ? (uint64_t)fs.f_blocks * fs.f_frsize / 100 *
                        rules->min_free_percent
                  : rules->min_free;
    *wanted += tree->part->device == rules->room_device ? rules->room : 0;

    bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    for (i = 0; i < sweep->ntrees; i++) {
        part = sweep->trees[i].part;
        if (part->there && part->device == tree->part->device) {
            bytes += part->ages.marked;
            bytes += rules->dry_run ? part->freed : 0;
        }
    }
    return bytes;
}

static void keep_free(struct sweep *sweep)
{
    const struct sweep_tree *tree;
    uint64_t there, wanted;
    size_t i;

    for (i = 0; i < sweep->ntrees; i++) {
        tree = &sweep->trees[i];
        if (tree->part->there) {
            there = bytes_free(sweep, tree, &wanted);
            if (there < wanted) {
                mark_both(sweep, NULL, &tree->part->device, wanted - there,
                          SWEEP_MIN_FREE);
            }
        }
    }
}

/* life ------------------------------------------------------------------ */

struct sweep *sweep_new(const struct sweep_rules *rules)
{
    struct sweep *sweep = calloc(1, sizeof(*sweep));

    if (sweep != NULL) {
        sweep->rules = *rules;
    }
    return sweep;
}

void sweep_free(struct sweep *sweep)
{
    size_t i;

    for (i = 0; sweep != NULL && i < sweep->ntrees; i++) {
        free(sweep->trees[i].store);
        free(sweep->trees[i].path);
        free(sweep->trees[i].part);
    }
    if (sweep != NULL) {
        free(sweep->trees);
        free(sweep->chosen);
        free(sweep->ages);
        free(sweep);
    }
}

static int add_tree(struct sweep *sweep, const char *store, char *path,
                    bool downloads)
{
    struct sweep_tree *tree = &sweep->trees[sweep->ntrees++];

    memset(tree, 0, sizeof(*tree));
    tree->store = strdup(store);
    tree->path = path;
    tree->downloads = downloads;
    tree->part = calloc(1, sizeof(*tree->part));
    if (tree->store == NULL || path == NULL || tree->part == NULL) {
        return -1;
    }
    ages_init(&tree->part->ages, downloads
                                     ? sweep->rules.downloads_max_unused_for
                                     : sweep->rules.max_unused_for);
    return 0;
}

int sweep_add(struct sweep *sweep, const char *store, const char *root,
              const char *downloads)
{
    size_t n = sweep->ntrees + 2;
    void *trees = reallocarray(sweep->trees, n, sizeof(sweep->trees[0]));
    void *chosen = reallocarray(sweep->chosen, n, sizeof(sweep->chosen[0]));
    void *ages = reallocarray(sweep->ages, n, sizeof(sweep->ages[0]));
    char *path;

    sweep->trees = trees != NULL ? trees : sweep->trees;
    sweep->chosen = chosen != NULL ? chosen : sweep->chosen;
    sweep->ages = ages != NULL ? ages : sweep->ages;
    if (trees == NULL || chosen == NULL || ages == NULL ||
        asprintf(&path, "%s/%s", downloads, store) < 0 ||
        add_tree(sweep, store, path, true) != 0 ||
        add_tree(sweep, store, strdup(root), false) != 0) {
        return -1;
    }
    return 0;
}

void sweep_run(struct sweep *sweep, sweep_progress_fn progress, void *arg)
{
    const struct sweep_tree *tree;
    size_t i;

    sweep->began = time(NULL);
    sweep->worked = clock_ms();
    sweep->progress = progress;
    sweep->arg = arg;
    for (i = 0; i < sweep->ntrees; i++) {
        walk_tree(sweep, &sweep->trees[i]);
    }

    keep_size(sweep);
    keep_free(sweep);
    sweep->second = true;
    for (i = 0; i < sweep->ntrees; i++) {
        tree = &sweep->trees[i];
        if (tree->part->ages.marked > 0) {
            walk_tree(sweep, &sweep->trees[i]);
        }
    }
}

const struct sweep_tree *sweep_trees(const struct sweep *sweep, size_t *n)
{
    *n = sweep->ntrees;
    return sweep->trees;
}
