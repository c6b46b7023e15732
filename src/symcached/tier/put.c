/*
 * Copyright (C) the ngx_symcache authors
 *
 * The queue of files to be stored in tiers.  It is bounded and has names, not
 * contents, so a file can be gone when its turn comes.  The steps of one file:
 *
 *   waits for its turn --> a child compresses --> a thread computes digests
 *     --> the type stores it, or makes what it has stored young again
 *
 * or the type removes it.  A discarded file is stored over any existing
 * object.  Each object has at most one operation at a time.
 */
#include "tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "base/workdir.h"
#include "child/child.h"
#include "metrics/metrics.h"
#include "symcached/store/store.h"
#include "call.h"
#include "sha256_task.h"
#include "outdated_objects.h"
#include "tier_attribute.h"

#define PUTS 4            /* at a time */
#define PUTS_WAITING 1000 /* the oldest of more are dropped */
#define PUT_TRIES 3

enum put_what {
    PUT_STORE,
    PUT_FRESH, /* it is stored, and to be made young again */
    PUT_REMOVE
};

struct tier_put {
    TAILQ_ENTRY(tier_put) queue;  /* while it waits, */
    LIST_ENTRY(tier_put) running; /* and afterwards */
    char *store;                  /* its name */
    char *root;
    struct workdir *workdir;
    symcache_key_t key;
    symcache_version_t version;
    bool replace;
    enum put_what what;
    unsigned tries;

    /* while it runs */
    struct tiers *tiers;
    struct tier *tier;
    struct config *config; /* reference */
    struct tier_call call;
    bool probe;
    uint64_t discarded; /* clock_ms(): it stores that of a former file; or 0 */
    int plain; /* the file */
    char path[PATH_MAX];
    char tmp[WORKDIR_PATH_MAX]; /* the compressed file, or "" */
    struct child *child;
    struct task *task;
    uint64_t began;
};

static void put_free(struct tier_put *put)
{
    free(put->store);
    free(put->root);
    free(put);
}

/* Frees the working data of an entry that has run. */
static void leave_put(struct tier_put *put)
{
    LIST_REMOVE(put, running);
    put->tier->putting--;
    fd_close(put->plain);
    fd_close(put->call.fd);
    if (put->tmp[0] != '\0') {
        (void)unlink(put->tmp);
    }
    config_unref(put->config);
    tiers_pump(put->tiers);
}

/* Entries that only store are dropped first: the next use of the file queues
 * it again. */
static struct tier_put *oldest_put(struct tier *tier)
{
    struct tier_put *put;

    TAILQ_FOREACH(put, &tier->puts, queue)
    {
        if (put->what != PUT_REMOVE) {
            break;
        }
    }
    return put != NULL ? put : TAILQ_FIRST(&tier->puts);
}

static void drop_put(struct tier *tier, struct tier_put *put)
{
    TAILQ_REMOVE(&tier->puts, put, queue);
    tier->nputs--;
    metrics_add(METRIC_TIER_DROPPED, 1);
    put_free(put);
}

static void add_put(struct tiers *tiers, struct tier *tier,
                    struct tier_put *put)
{
    if (tier->nputs == PUTS_WAITING) {
        drop_put(tier, oldest_put(tier));
    }
    TAILQ_INSERT_TAIL(&tier->puts, put, queue);
    tier->nputs++;
    tiers_pump(tiers);
}

static bool is_of(const struct tier_put *put, const char *store,
                  const symcache_key_t *key, const symcache_version_t *version)
{
    return symcache_version_cmp(&put->version, version) == 0 &&
           symcache_key_equal(&put->key, key) &&
           strcmp(put->store, store) == 0;
}

static struct tier_put *find_put(const struct tier *tier, const char *store,
                                 const symcache_key_t *key,
                                 const symcache_version_t *version)
{
    struct tier_put *put;

    TAILQ_FOREACH(put, &tier->puts, queue)
    {
        if (is_of(put, store, key, version)) {
            return put;
        }
    }
    return NULL;
}

/* ends --------------------------------------------------------------------- */

/* Is the path still that of the file that was stored? */
static bool put_is_same(const struct tier_put *put)
{
    struct stat opened, named;

    return fstat(put->plain, &opened) == 0 &&
           lstat(put->path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static void note_stored_time(const struct tier_put *put)
{
    if (put_is_same(put)) {
        tier_attribute_write(put->path, put->call.stored != 0
                                            ? put->call.stored
                                            : (int64_t)time(NULL));
    }
}

/* The file of the present original is there. */
static void note_replaced(const struct tier_put *put)
{
    if (put->call.replace && put_is_same(put)) {
        outdated_object_drop(put->root, &put->key, &put->version);
    }
}

/* Unless it was discarded once more meanwhile. */
static void note_removed(const struct tier_put *put)
{
    if (find_put(put->tier, put->store, &put->key, &put->version) == NULL) {
        outdated_object_drop(put->root, &put->key, &put->version);
    }
}

/* Moves an entry that has run to the end of the queue, unless it is already
 * wanted again. */
static void requeue_put(struct tier_put *put)
{
    leave_put(put);
    if (find_put(put->tier, put->store, &put->key, &put->version) == NULL) {
        add_put(put->tiers, put->tier, put);
    } else {
        put_free(put);
    }
}

/*
 * The call failed: tries again later, if that can help.  While the breaker is
 * open, that does not count as a try of the file, unless its refusal opened it:
 * others may be taken.  The entry goes to the end of the queue, so that a file
 * on which the tier always fails does not hold up the others.
 */
static void try_again(struct tier_put *put, enum tier_reply reply,
                      const char *detail)
{
    struct tiers *tiers = put->tiers;
    struct tier *tier = put->tier;
    bool again = false;

    if (reply == TIER_REPLY_FAULT || reply == TIER_REPLY_DENIED) {
        put->tries += tier->put.breaker.state == BREAKER_CLOSED ||
                      (reply == TIER_REPLY_DENIED && !put->probe);
        again = put->tries < PUT_TRIES && !tiers->stopping;
    }
    log_write(again ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, 0,
              "tier %s: \"%s\" is not %s: %s; %s", tier->name,
              put->call.name, put->what == PUT_REMOVE ? "removed" : "stored",
              detail,
              again ? "it is tried again"
              : put->what == PUT_REMOVE
                  ? "it is not read here, and tried again later"
                  : "its use in an hour or later is another chance");
    if (again) {
        requeue_put(put);
    } else {
        metrics_add(METRIC_TIER_PUT_FAILED, 1);
        tier->not_stored++;
        leave_put(put);
        put_free(put);
    }
}

static void put_ended(struct tier_put *put, enum tier_reply reply,
                      const char *detail)
{
    static const enum metric counters[] = {METRIC_TIER_STORED,
                                           METRIC_TIER_FRESH,
                                           METRIC_TIER_REMOVED};

    metrics_add(METRIC_TIER_PUT_MS, clock_since(put->began));
    switch (reply) {
    case TIER_REPLY_DONE:
        metrics_add(counters[put->what], 1);
        if (put->what == PUT_REMOVE) {
            note_removed(put);
            break;
        }
        metrics_add(METRIC_TIER_SENT,
                    put->what == PUT_STORE ? put->call.size : 0);
        put->tier->stored += put->what == PUT_STORE;
        put->tier->put.refusal = 0;
        note_stored_time(put);
        note_replaced(put);
        break;
    case TIER_REPLY_EXISTS:
        metrics_add(METRIC_TIER_EXISTS, 1);
        if (put->call.status != 409) { /* or it may just have been removed */
            note_stored_time(put);
        }
        break;
    case TIER_REPLY_ABSENT: /* it was removed, so it is stored anew */
        put->what = PUT_STORE;
        requeue_put(put);
        return;
    default:
        try_again(put, reply, detail);
        return;
    }
    log_debug(0, "tier %s: \"%s\" %s", put->tier->name, put->call.name,
              detail);
    leave_put(put);
    put_free(put);
}

static void put_on_reply(struct tier_call *call, enum tier_reply reply,
                         const char *detail)
{
    struct tier_put *put =
        (struct tier_put *)((char *)call - offsetof(struct tier_put, call));

    tier_way_ends(put->tier, &put->tier->put, call, reply, put->probe, detail);
    put_ended(put, reply, detail);
}

/* Something here failed, before the tier was asked. */
static void put_failed(struct tier_put *put, const char *what, int errnum)
{
    char detail[256];

    snprintf(detail, sizeof(detail), "%.180s%s%s", what,
             errnum != 0 ? ": " : "", errnum != 0 ? strerror(errnum) : "");
    put_on_reply(&put->call, TIER_REPLY_FAILED, detail);
}

/* There is nothing to store, which is not a failure. */
static void skip_put(struct tier_put *put, const char *why)
{
    tier_way_ends(put->tier, &put->tier->put, &put->call, TIER_REPLY_FAILED,
                  put->probe, "");
    log_debug(0, "tier %s: \"%s\" is not stored: %s", put->tier->name,
              put->call.name, why);
    leave_put(put);
    put_free(put);
}

/* steps -------------------------------------------------------------------- */
static void on_sums(void *arg, const struct checksum *sum)
{
    struct tier_put *put = arg;
    struct tier_call *call = &put->call;
    struct tier_meta meta = {0};
    struct provenance provenance;

    put->task = NULL;
    if (sum->errnum != 0) {
        put_failed(put, "it cannot be read", sum->errnum);
        return;
    }
    memcpy(meta.sha256, sum->sha256[0], sizeof(meta.sha256));
    meta.size = sum->size[0];
    if (provenance_read(put->path, &provenance)) {
        memcpy(meta.source, provenance.source, sizeof(meta.source));
        meta.publics_only = provenance.extent != SYMCACHE_EXTENT_FULL;
        meta.is_program = provenance.extent == SYMCACHE_EXTENT_PROGRAM;
        meta.features = provenance.features;
        meta.builder = provenance.builder;
    }
    if (!put_is_same(put)) {
        skip_put(put, "it was replaced meanwhile");
        return;
    }
    if (call->config->mac_key != NULL) {
        tier_meta_sign(&meta, call->name, call->config->mac_key);
    }
    tier_meta_print(&meta, call->lines);
    call->size = sum->size[1];
    memcpy(call->body_sha256, sum->sha256[1], sizeof(call->body_sha256));
    if ((put->what == PUT_FRESH ? tier_type_of(call->config)->fresh(call)
                                : tier_type_of(call->config)->put(call)) !=
        0) {
        put_failed(put, "it cannot be sent", errno);
    }
}

static void compute_put(struct tier_put *put)
{
    const int fds[CHECKSUM_FILES] = {put->plain, put->call.fd};

    put->task = checksum_start(put->tiers->base, fds,
                               put->what == PUT_FRESH ? 1 : 2, on_sums, put);
    if (put->task == NULL) {
        put_failed(put, "it cannot be read", errno);
    }
}

static void on_compressed(void *arg, struct child_result *child)
{
    struct tier_put *put = arg;
    char end[CHILD_END_SIZE], why[CHILD_END_SIZE + 64];

    put->child = NULL;
    child->tail[strcspn(child->tail, "\n")] = '\0';
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0) {
        child_end_print(end, child);
        snprintf(why, sizeof(why), "its compression ended with %s", end);
        put_failed(put, child->tail[0] != '\0' ? child->tail : why, 0);
        return;
    }
    compute_put(put);
}

static void compress_put(struct tier_put *put)
{
    if (workdir_file(put->workdir, put->tmp) == 0) {
        put->call.fd = open(put->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                            0644);
    }
    if (put->call.fd >= 0) {
        put->child = gzip_start(put->tiers->base, &put->config->cache,
                                put->plain, put->call.fd, on_compressed, put);
    }
    if (put->child == NULL) {
        put_failed(put, "it cannot be compressed", errno);
    }
}

/* Returns the store's tier, if the configuration still wants files there. */
static struct tier_config *put_wanted(const struct tier_put *put)
{
    const struct tiers *tiers = put->tiers;
    const struct store_config *store =
        config_store(tiers->config, put->store, strlen(put->store));

    if (store == NULL && tiers->find != NULL) {
        store = tiers->find(tiers->find_arg, put->store);
    }
    return store != NULL && strcmp(store->root, put->root) == 0 &&
                   store->tier != NULL && !store->tier->read_only &&
                   strcmp(store->tier->name, put->tier->name) == 0
               ? store->tier
               : NULL;
}

static void take_away(struct tier_put *put)
{
    if (tier_type_of(put->call.config)->remove(&put->call) != 0) {
        put_failed(put, "it cannot be removed", errno);
    }
}

static void begin_call(struct tier_put *put, struct tier_config *config)
{
    struct tier_call *call = &put->call;

    memset(call, 0, sizeof(*call));
    call->fd = put->plain = -1;
    call->key = &put->key;
    call->version = put->version;
    call->replace = put->replace;
    put->discarded = 0;
    put->tmp[0] = '\0';
    put->child = NULL;
    put->task = NULL;
    put->began = clock_ms();
    tier_object_name(call->name, config->generation, put->store, &put->key,
                     &put->version);
    tier_call_init(call, put->tiers, put->config, config, put_on_reply);
}

static void begin_put(struct tier_put *put, struct tier_config *config)
{
    bool discarded =
        outdated_object_is_noted(put->root, &put->key, &put->version);
    const char *why = NULL;
    struct stat st;

    begin_call(put, config);
    if (put->what == PUT_REMOVE) {
        take_away(put);
        return;
    }
    if (discarded) {
        put->call.replace = true;
        put->what = PUT_STORE;
    }
    store_path(put->path, put->root, &put->key, &put->version,
               SYMCACHE_FILE_PLAIN);
    put->plain =
        open(put->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (put->plain < 0 || fstat(put->plain, &st) != 0) {
        why = "it is gone";
    } else if ((uint64_t)st.st_size > config->max_object) {
        why = "it is larger than max_object";
    }
    if (why != NULL && discarded) {
        put->what = PUT_REMOVE;
        take_away(put);
    } else if (why != NULL) {
        skip_put(put, why);
    } else if (put->what == PUT_FRESH) {
        compute_put(put);
    } else {
        compress_put(put);
    }
}

/* Returns what is being done to an object, or NULL. */
static struct tier_put *running_put(const struct tiers *tiers,
                                    const struct tier *tier, const char *store,
                                    const symcache_key_t *key,
                                    const symcache_version_t *version)
{
    struct tier_put *put;

    LIST_FOREACH(put, &tiers->writing, running)
    {
        if (put->tier == tier && is_of(put, store, key, version)) {
            break;
        }
    }
    return put;
}

static struct tier_put *next_put(const struct tiers *tiers,
                                 const struct tier *tier)
{
    struct tier_put *put;

    TAILQ_FOREACH(put, &tier->puts, queue)
    {
        if (running_put(tiers, tier, put->store, &put->key, &put->version) ==
            NULL) {
            return put;
        }
    }
    return NULL;
}

unsigned tier_puts_pump(struct tiers *tiers, struct tier *tier)
{
    struct tier_config *config;
    struct tier_put *put;

    while (tier->putting < PUTS && (put = next_put(tiers, tier)) != NULL) {
        put->tiers = tiers;
        put->tier = tier;
        config = put_wanted(put);
        if (config == NULL) {
            TAILQ_REMOVE(&tier->puts, put, queue);
            tier->nputs--;
            put_free(put);
            continue;
        }
        if (!tier_way_begins(tier, &tier->put, &put->call, &put->probe)) {
            /* looks again when the pause is over, or the probe has ended */
            return (unsigned)breaker_left(&tier->put.breaker, clock_ms());
        }
        TAILQ_REMOVE(&tier->puts, put, queue);
        tier->nputs--;
        tier->putting++;
        LIST_INSERT_HEAD(&tiers->writing, put, running);
        put->config = config_ref(tiers->config);
        begin_put(put, config);
    }
    return 0;
}

/* Ends what runs. */
static void stop_put(struct tier_put *put)
{
    tier_call_cancel(&put->call);
    tier_way_ends(put->tier, &put->tier->put, &put->call, TIER_REPLY_FAILED,
                  put->probe, "");
    child_cancel(put->child);
    task_cancel(put->task);
    leave_put(put);
    put_free(put);
}

void tier_puts_stop(struct tiers *tiers, struct tier *tier)
{
    struct tier_put *put, *next;

    while (!TAILQ_EMPTY(&tier->puts)) {
        drop_put(tier, oldest_put(tier));
    }
    for (put = LIST_FIRST(&tiers->writing); put != NULL; put = next) {
        next = LIST_NEXT(put, running);
        if (put->tier == tier) {
            stop_put(put);
        }
    }
}

void tiers_leave(struct tiers *tiers, const struct store_config *store)
{
    struct tier *tier = store->tier != NULL
                            ? tiers_find(tiers, store->tier->name)
                            : NULL;
    struct tier_put *put, *next;

    if (tier == NULL) {
        return;
    }
    for (put = TAILQ_FIRST(&tier->puts); put != NULL; put = next) {
        next = TAILQ_NEXT(put, queue);
        if (strcmp(put->root, store->root) == 0) {
            drop_put(tier, put);
        }
    }
    for (put = LIST_FIRST(&tiers->writing); put != NULL; put = next) {
        next = LIST_NEXT(put, running);
        if (strcmp(put->root, store->root) == 0) {
            stop_put(put);
        }
    }
}

/* the queue ---------------------------------------------------------------- */

/* Merges an operation into the waiting entry of the same object. */
static void join_put(struct tier_put *put, struct workdir *workdir,
                     bool replace, enum put_what what)
{
    put->replace |= replace;
    if (what != PUT_FRESH) {
        put->what = what;
    }
    if (workdir != NULL) {
        put->workdir = workdir;
    }
}

/* workdir is not needed to remove an object. */
static void want(struct tiers *tiers, const struct store_config *store,
                 struct workdir *workdir, const symcache_key_t *key,
                 const symcache_version_t *version, bool replace,
                 enum put_what what)
{
    struct tier *tier = tiers_find(tiers, store->tier->name);
    struct tier_put *put;

    if (tiers->finishing || tiers->stopping || tier == NULL ||
        (workdir == NULL && what != PUT_REMOVE)) {
        return;
    }
    put = find_put(tier, store->name, key, version);
    if (put != NULL) {
        join_put(put, workdir, replace, what);
        return;
    }
    put = calloc(1, sizeof(*put));
    if (put == NULL) {
        return;
    }
    put->store = strdup(store->name);
    put->root = strdup(store->root);
    if (put->store == NULL || put->root == NULL) {
        put_free(put);
        return;
    }
    put->workdir = workdir;
    symcache_key_copy(&put->key, key);
    put->version = *version;
    put->replace = replace;
    put->what = what;
    add_put(tiers, tier, put);
}

void tiers_put(struct tiers *tiers, const struct store_config *store,
               struct workdir *workdir, const symcache_key_t *key,
               const symcache_version_t *version, bool replace)
{
    if (store->tier != NULL && !store->tier->read_only) {
        want(tiers, store, workdir, key, version, replace, PUT_STORE);
    }
}

void tier_puts_remove(struct tiers *tiers, const struct store_config *store,
                      const symcache_key_t *key,
                      const symcache_version_t *version)
{
    struct tier_put *put;

    if (store->tier == NULL || store->tier->read_only) {
        return;
    }
    put = running_put(tiers, tiers_find(tiers, store->tier->name), store->name,
                      key, version);
    if (put != NULL) {
        put->discarded = put->what != PUT_REMOVE ? clock_ms() : 0;
    }
    want(tiers, store, NULL, key, version, false, PUT_REMOVE);
}

bool tier_puts_has(struct tiers *tiers, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version)
{
    const struct tier *tier = tiers_find(tiers, store->tier->name);

    return tier != NULL &&
           (find_put(tier, store->name, key, version) != NULL ||
            running_put(tiers, tier, store->name, key, version) != NULL);
}

bool tiers_store_discarded(const struct tiers *tiers, uint64_t since)
{
    const struct tier_put *put = LIST_FIRST(&tiers->writing);

    while (put != NULL && put->discarded < since) {
        put = LIST_NEXT(put, running);
    }
    return put != NULL;
}

void tiers_used(struct tiers *tiers, const struct store_config *store,
                struct workdir *workdir, const symcache_key_t *key,
                const symcache_version_t *version)
{
    const struct tier_config *config = store->tier;
    int64_t stored, now = (int64_t)time(NULL);
    char path[PATH_MAX];

    if (config == NULL || config->read_only) {
        return;
    }
    store_path(path, store->root, key, version, SYMCACHE_FILE_PLAIN);
    stored = tier_attribute_read(path);
    if (stored == 0) {
        want(tiers, store, workdir, key, version, false, PUT_STORE);
    } else if (config->lifetime > 0 &&
               (stored > now || now - stored > config->lifetime / 2)) {
        want(tiers, store, workdir, key, version, true, PUT_FRESH);
    }
}
