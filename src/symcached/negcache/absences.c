/*
 * Copyright (C) the ngx_symcache authors
 */
#include "absences.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/control.h"
#include "base/hash_table.h"
#include "base/journal.h"
#include "proto/path.h"

/* Of all stores: the oldest go for the next ones.  About 60,000 entries. */
#define BYTES_MAX ((size_t)16 << 20)

/* A journal may be so much larger than the records that count. */
#define WASTE_MAX ((off_t)256 << 10)

/* For so long, as there are file systems whose times are not to be relied
 * on. */
#define ALONE_MS 60000

/* The times of files are rounded to a tick, or on some file systems to two
 * seconds. */
#define SETTLED_SECONDS 3

struct absence_store {
    LIST_ENTRY(absence_store) next;
    struct absences *absences;
    struct journal journal;
    off_t bytes;     /* of the records that count */
    bool is_read;    /* at least once */
    bool is_damaged; /* is no journal: to be written anew */
    char root[];
};

struct absence {
    TAILQ_ENTRY(absence) age;
    struct absence_store *store;
    /* the key's folder when it was seen to have no file of its kind */
    struct timespec changed;
    dev_t dev;
    ino_t ino; /* 0: it was not */
    uint64_t seen_ms;
    size_t size; /* of this, with its record */
    char *rest;  /* of the record: what is behind the path */
    char path[];
};

struct absences {
    struct table by_folder; /* a key has few entries */
    TAILQ_HEAD(, absence) by_age; /* oldest first */
    LIST_HEAD(, absence_store) stores;
    size_t bytes;
};

struct absences *absences_new(void)
{
    struct absences *absences = calloc(1, sizeof(*absences));

    if (absences != NULL) {
        TAILQ_INIT(&absences->by_age);
    }
    return absences;
}

/* The hash of the folder that a path lies in, or of a folder with its "/". */
static uint64_t absences_hash_of(const struct absence_store *store,
                                 const char *path)
{
    const char *end = strrchr(path, '/');

    return table_hash((uintptr_t)store, path,
                      end != NULL ? (size_t)(end - path) : strlen(path));
}

static void drop_absence(struct absences *absences, struct absence *absence)
{
    table_remove(&absences->by_folder,
                 absences_hash_of(absence->store, absence->path),
                 (uintptr_t)absence);
    TAILQ_REMOVE(&absences->by_age, absence, age);
    absences->bytes -= absence->size;
    absence->store->bytes -=
        (off_t)(strlen(absence->path) + strlen(absence->rest));
    free(absence);
}

void absences_free(struct absences *absences)
{
    struct absence_store *store;
    struct absence *absence;

    if (absences == NULL) {
        return;
    }
    while ((absence = TAILQ_FIRST(&absences->by_age)) != NULL) {
        drop_absence(absences, absence);
    }
    while ((store = LIST_FIRST(&absences->stores)) != NULL) {
        LIST_REMOVE(store, next);
        free(store);
    }
    table_free(&absences->by_folder);
    free(absences);
}

static struct absence *find_absence(struct absence_store *store,
                                    const char *path)
{
    uint64_t hash = absences_hash_of(store, path);
    struct absence *absence;
    size_t at = 0;

    do {
        absence = (struct absence *)table_next(&store->absences->by_folder,
                                               hash, &at);
    } while (absence != NULL &&
             (absence->store != store || strcmp(absence->path, path) != 0));
    return absence;
}

static void add_absence(struct absence_store *store, const char *record,
                        size_t path_len)
{
    struct absences *absences = store->absences;
    size_t size = sizeof(struct absence) + strlen(record) + 2;
    struct absence *absence = malloc(size);

    if (absence == NULL) {
        return;
    }
    memset(absence, 0, sizeof(*absence));
    absence->store = store;
    absence->size = size;
    memcpy(absence->path, record, path_len);
    absence->path[path_len] = '\0';
    absence->rest = absence->path + path_len + 1;
    memcpy(absence->rest, record + path_len + 1,
           strlen(record + path_len + 1) + 1);
    if (table_add(&absences->by_folder, absences_hash_of(store, absence->path),
                  (uintptr_t)absence) != 0) {
        free(absence);
        return;
    }
    TAILQ_INSERT_TAIL(&absences->by_age, absence, age);
    absences->bytes += size;
    store->bytes += (off_t)(strlen(absence->path) + strlen(absence->rest));
    while (absences->bytes > BYTES_MAX) {
        drop_absence(absences, TAILQ_FIRST(&absences->by_age));
    }
}

/* A journal_fn. */
static void absences_take_record(void *arg, const char *record)
{
    struct absence_store *store = arg;
    char path[SYMCACHE_PATH_MAX + 1];
    struct absence *absence, *next;
    size_t len;

    if (record == NULL) {
        for (absence = TAILQ_FIRST(&store->absences->by_age); absence != NULL;
             absence = next) {
            next = TAILQ_NEXT(absence, age);
            if (absence->store == store) {
                drop_absence(store->absences, absence);
            }
        }
        return;
    }
    len = strcspn(record, "\t");
    if (len > SYMCACHE_PATH_MAX) {
        return;
    }
    memcpy(path, record, len);
    path[len] = '\0';
    absence = find_absence(store, path);
    if (absence != NULL) {
        drop_absence(store->absences, absence);
    }
    if (record[len] == '\t') {
        add_absence(store, record, len);
    }
}

static void absences_journal_path(char buf[PATH_MAX],
                                  const struct absence_store *store)
{
    snprintf(buf, PATH_MAX, "%.1024s/" SYMCACHE_ABSENT_FILE, store->root);
}

/*
 * A release without this file drops entries, and says so to nginx, without
 * touching the journal.  If one has run here since, what the journal says may
 * have been forgotten, so nothing of it is believed.
 */
static void absences_discard_if_outdated(const struct absence_store *store)
{
    char path[PATH_MAX];
    struct stat journal, forgotten;

    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_FORGOTTEN_FILE,
             store->root);
    if (stat(path, &forgotten) != 0) {
        return;
    }
    absences_journal_path(path, store);
    if (stat(path, &journal) == 0 &&
        (forgotten.st_mtim.tv_sec > journal.st_mtim.tv_sec ||
         (forgotten.st_mtim.tv_sec == journal.st_mtim.tv_sec &&
          forgotten.st_mtim.tv_nsec > journal.st_mtim.tv_nsec))) {
        (void)unlink(path);
    }
}

static int absences_read_journal(struct absence_store *store)
{
    char path[PATH_MAX];
    int rc;

    if (!store->is_read) {
        absences_discard_if_outdated(store);
        store->is_read = true;
    }
    absences_journal_path(path, store);
    rc = journal_read(&store->journal, path, absences_take_record, store);
    store->is_damaged = rc != 0 && errno == EFBIG;
    return rc;
}

/* The store as its journal was when it was last read; NULL if it never was. */
static struct absence_store *known_store(const struct absences *absences,
                                         const char *root)
{
    struct absence_store *store;

    LIST_FOREACH(store, &absences->stores, next)
    {
        if (strcmp(store->root, root) == 0) {
            break;
        }
    }
    return store;
}

/* The store as its journal is now; NULL when out of memory. */
static struct absence_store *absences_store_of(struct absences *absences,
                                               const char *root)
{
    struct absence_store *store = known_store(absences, root);
    size_t len = strlen(root) + 1;

    if (store == NULL) {
        store = calloc(1, sizeof(*store) + len);
        if (store == NULL) {
            return NULL;
        }
        store->absences = absences;
        memcpy(store->root, root, len);
        LIST_INSERT_HEAD(&absences->stores, store, next);
    }
    (void)absences_read_journal(store);
    return store;
}

/* Writes the records that count, oldest first.  EAGAIN: another process has
 * written some meanwhile, which are read by the next absences_read_journal().
 */
static int absences_rewrite_journal(struct absence_store *store)
{
    char path[PATH_MAX], record[JOURNAL_RECORD_MAX + 1];
    const struct absence *absence;
    FILE *f;

    absences_journal_path(path, store);
    f = journal_rewrite_begin(path);
    if (f == NULL) {
        return -1;
    }
    TAILQ_FOREACH(absence, &store->absences->by_age, age)
    {
        if (absence->store == store) {
            snprintf(record, sizeof(record), "%s\t%s", absence->path,
                     absence->rest);
            journal_rewrite_put(f, record);
        }
    }
    return journal_rewrite_end(store->is_damaged ? NULL : &store->journal, f,
                               path) != 0
               ? -1
               : absences_read_journal(store);
}

/* Appends a record and takes it in, as if somebody else had written it. */
static int absences_write_record(struct absence_store *store,
                                 const char *record)
{
    char path[PATH_MAX];
    int rc;

    if ((store->is_damaged ||
         store->journal.size > 2 * store->bytes + WASTE_MAX) &&
        absences_rewrite_journal(store) != 0 && errno != EAGAIN) {
        return -1;
    }
    absences_journal_path(path, store);
    rc = journal_append(&store->journal, path, record, absences_take_record,
                        store);
    return rc == 0 ? absences_read_journal(store) : rc > 0 ? 0 : -1;
}

/* What is forgotten must not come back.  Where that cannot be written down,
 * nothing that the journal says is believed any more. */
static void absences_discard_journal(struct absence_store *store)
{
    char path[PATH_MAX];

    absences_journal_path(path, store);
    (void)unlink(path);
    (void)absences_read_journal(store);
}

static void absences_take_back(struct absence_store *store, const char *path)
{
    struct absence *absence;

    if (absences_write_record(store, path) != 0) {
        absences_discard_journal(store);
    }
    absence = find_absence(store, path);
    if (absence != NULL) {
        drop_absence(store->absences, absence);
    }
}

/* Reads "<reason>\t<time>\t<fingerprint>[+<uploads changed>]\t<spellings>\t
 * <text>". */
static bool absences_parse_record(const char *rest, struct written *written)
{
    struct negcache_entry *entry = &written->entry;
    char *end;
    size_t n = strcspn(rest, "\t");
    unsigned i;

    for (i = 0; i < NEGCACHE_REASONS; i++) {
        if (negcache_rules[i].by_name && strlen(negcache_rules[i].name) == n &&
            memcmp(negcache_rules[i].name, rest, n) == 0) {
            break;
        }
    }
    if (i == NEGCACHE_REASONS || rest[n] != '\t') {
        return false;
    }
    memset(written, 0, sizeof(*written));
    entry->reason = (enum negcache_reason)i;
    entry->since = (time_t)strtoll(rest + n + 1, &end, 10);
    if (*end != '\t') {
        return false;
    }
    written->has_fingerprint = true;
    written->fingerprint = strtoull(end + 1, &end, 16);
    entry->uploads_changed =
        *end == '+' ? strtoll(end + 1, &end, 10) : NEGCACHE_NO_UPLOADS;
    if (*end != '\t') {
        return false;
    }
    rest = end + 1;
    n = strcspn(rest, "\t");
    snprintf(entry->variants.text, sizeof(entry->variants.text), "%.*s",
             (int)n, rest);
    rest += n + (rest[n] == '\t');
    snprintf(entry->text, sizeof(entry->text), "%s", rest);
    return true;
}

/* store may be NULL. */
static struct absence *absences_find_key(struct absence_store *store,
                                         const symcache_key_t *key,
                                         const symcache_version_t *version)
{
    char path[SYMCACHE_PATH_MAX + 1];

    symcache_path_file(path, key, version, SYMCACHE_FILE_ABSENT);
    return store != NULL ? find_absence(store, path) : NULL;
}

bool absences_find(struct absences *absences, const char *root,
                   const symcache_key_t *key,
                   const symcache_version_t *version, struct written *written)
{
    const struct absence *absence =
        absences_find_key(absences_store_of(absences, root), key, version);

    return absence != NULL && absences_parse_record(absence->rest, written);
}

int absences_add(struct absences *absences, const char *root,
                 const symcache_key_t *key, const symcache_version_t *version,
                 const struct written *written)
{
    const struct negcache_entry *entry = &written->entry;
    struct absence_store *store = absences_store_of(absences, root);
    char record[JOURNAL_RECORD_MAX + 1], changed[24] = "", *p;
    size_t n;

    if (store == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (entry->uploads_changed != NEGCACHE_NO_UPLOADS) {
        snprintf(changed, sizeof(changed), "+%" PRId64,
                 entry->uploads_changed);
    }
    n = symcache_path_file(record, key, version, SYMCACHE_FILE_ABSENT);
    snprintf(record + n, sizeof(record) - n,
             "\t%s\t%lld\t%016" PRIx64 "%s\t%s\t",
             negcache_rules[entry->reason].name, (long long)entry->since,
             written->fingerprint, changed, entry->variants.text);
    n += strlen(record + n);
    snprintf(record + n, sizeof(record) - n, "%s", entry->text);
    for (p = record + n; *p != '\0'; p++) {
        if (control_is(*p)) {
            *p = ' ';
        }
    }
    return absences_write_record(store, record);
}

void absences_remove(struct absences *absences, const char *root,
                     const symcache_key_t *key,
                     const symcache_version_t *version)
{
    struct absence *absence =
        absences_find_key(absences_store_of(absences, root), key, version);
    char path[SYMCACHE_PATH_MAX + 1];

    if (absence != NULL) {
        snprintf(path, sizeof(path), "%s", absence->path);
        absences_take_back(absence->store, path);
    }
}

/* An entry below the folder of a key, which ends with "/", or NULL. */
static struct absence *absences_find_below(struct absence_store *store,
                                           const char *folder)
{
    uint64_t hash = absences_hash_of(store, folder);
    size_t len = strlen(folder), at = 0;
    struct absence *absence;

    do {
        absence = (struct absence *)table_next(&store->absences->by_folder,
                                               hash, &at);
    } while (absence != NULL && (absence->store != store ||
                                 strncmp(absence->path, folder, len) != 0));
    return absence;
}

static unsigned absences_drop_below(struct absence_store *store,
                                    const char *folder)
{
    struct absence *absence, *next;
    size_t len = strlen(folder);
    unsigned n = 0;

    for (absence = TAILQ_FIRST(&store->absences->by_age); absence != NULL;
         absence = next) {
        next = TAILQ_NEXT(absence, age);
        if (absence->store == store &&
            strncmp(absence->path, folder, len) == 0) {
            drop_absence(store->absences, absence);
            n++;
        }
    }
    return n;
}

/* The ids of a name may be all that there are, so they are looked for once,
 * and the journal is written anew once. */
static unsigned absences_forget_name(struct absence_store *store,
                                     const char *folder)
{
    unsigned n = absences_drop_below(store, folder), tries = 3;
    int rc = n > 0 ? absences_rewrite_journal(store) : 0;

    while (rc != 0 && errno == EAGAIN && --tries > 0) {
        (void)absences_read_journal(store);
        (void)absences_drop_below(store, folder);
        rc = absences_rewrite_journal(store);
    }
    if (rc != 0) {
        absences_discard_journal(store);
    }
    return n;
}

unsigned absences_forget(struct absences *absences, const char *root,
                         const symcache_key_t *key, bool has_id)
{
    struct absence_store *store = absences_store_of(absences, root);
    char folder[SYMCACHE_PATH_MAX + 2], path[SYMCACHE_PATH_MAX + 1];
    struct absence *absence;
    unsigned n = 0;

    if (store == NULL) {
        return 0;
    }
    if (!has_id) {
        snprintf(folder, sizeof(folder), "%s/", key->name);
        return absences_forget_name(store, folder);
    }
    symcache_path_dir(path, key);
    snprintf(folder, sizeof(folder), "%s/", path);
    while ((absence = absences_find_below(store, folder)) != NULL) {
        snprintf(path, sizeof(path), "%s", absence->path);
        absences_take_back(store, path);
        n++;
    }
    return n;
}

/* Looks at the folder of a key.  Returns false if there is none. */
static bool look_at_folder(const char *root, const symcache_key_t *key,
                           struct stat *st)
{
    char relative[SYMCACHE_PATH_MAX + 1], path[PATH_MAX];

    symcache_path_dir(relative, key);
    snprintf(path, sizeof(path), "%.1024s/%s", root, relative);
    if (stat(path, st) == 0) {
        return true;
    }
    /* what cannot be seen may be there */
    st->st_ino = 0;
    return errno != ENOENT;
}

/* This is about the folder, so what the journal says by now does not matter. */
bool absences_is_alone(struct absences *absences, const char *root,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    const struct absence *absence =
        absences_find_key(known_store(absences, root), key, version);
    struct stat st;

    return absence != NULL &&
           (!look_at_folder(root, key, &st) ||
            (absence->ino != 0 && absence->ino == st.st_ino &&
             absence->dev == st.st_dev &&
             absence->changed.tv_sec == st.st_ctim.tv_sec &&
             absence->changed.tv_nsec == st.st_ctim.tv_nsec &&
             clock_since(absence->seen_ms) < ALONE_MS));
}

void absences_set_alone(struct absences *absences, const char *root,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    struct absence *absence =
        absences_find_key(known_store(absences, root), key, version);
    struct timespec now;
    struct stat st;

    if (absence == NULL || !look_at_folder(root, key, &st) || st.st_ino == 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        now.tv_sec - st.st_ctim.tv_sec < SETTLED_SECONDS) {
        return;
    }
    absence->dev = st.st_dev;
    absence->ino = st.st_ino;
    absence->changed = st.st_ctim;
    absence->seen_ms = clock_ms();
}
