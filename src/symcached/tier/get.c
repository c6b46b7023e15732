/*
 * Copyright (C) the ngx_symcache authors
 *
 * One read of a tier:
 *
 *   waits for its turn --> the type asks --> the metadata and their MAC
 *     --> a child unpacks --> a thread computes the digest
 *     --> a child validates --> the file has its name and provenance
 *
 * An object of a SymCache server is a plain file without metadata, and is
 * validated at once: its digest was compared when it was received.  For an
 * original only the digest is compared here; the source checks its identity.
 */
#include "tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "child/child.h"
#include "metrics/metrics.h"
#include "symcached/store/store.h"
#include "symcached/transcode/transcode.h"
#include "call.h"
#include "sha256_task.h"
#include "tier_attribute.h"

#define GETS 16 /* at a time, with their checks */

/* Why an object is refused: a label of the counter. */
enum refusal { REFUSED_META, REFUSED_MAC, REFUSED_DIGEST, REFUSED_CONTENT };

static const char *const refusal_names[] = {"metadata", "mac", "digest",
                                            "content"};

struct tier_get {
    TAILQ_ENTRY(tier_get) queue; /* while it waits */
    bool waits;
    bool called; /* the type works */
    bool probe;
    bool fresh; /* all is there, and the object is made young */
    bool only_looks; /* what is there is not received */
    bool lists; /* a folder */
    bool is_tiers; /* a failure, see tier.h */
    struct tier *tier;
    struct tier_call call;
    symcache_key_t key;
    struct tier_meta meta;
    char *file; /* these two are NULL for an original */
    char *part; /* what is received */
    char *url;  /* where a client gets it */
    int out;    /* the file, while it is unpacked; or -1 */
    struct tier_names names;
    struct child *child;
    struct task *task;
    tier_done_fn done;
    void *arg;
    uint64_t began;
};

static void get_free(struct tier_get *get)
{
    fd_close(get->call.fd);
    fd_close(get->out);
    free(get->url);
    free(get->part);
    free(get->file);
    free(get);
}

__attribute__((format(printf, 3, 4))) static void
end(struct tier_get *get, enum tier_outcome outcome, const char *format, ...)
{
    static const enum metric counters[] = {METRIC_TIER_HIT, METRIC_TIER_ABSENT,
                                           METRIC_TIER_GET_REFUSED,
                                           METRIC_TIER_GET_FAILED};
    struct tiers *tiers = get->call.tiers;
    struct tier_result result = {.outcome = outcome,
                                 .place = get->call.place,
                                 .is_tiers = get->is_tiers,
                                 .url = get->url,
                                 .names = &get->names,
                                 .bytes = get->call.bytes,
                                 .ms = clock_since(get->began),
                                 .status = get->call.status};
    char detail[600];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    result.detail = detail;
    if (!get->lists || outcome != TIER_HIT) {
        /* what a list leads to counts */
        metrics_add(counters[outcome], 1);
        get->tier->outcomes[outcome]++;
    }
    metrics_add(METRIC_TIER_RECEIVED, get->call.bytes);
    metrics_add(METRIC_TIER_GET_MS, result.ms);
    if (!get->waits) {
        get->tier->getting--;
    }
    get->done(get->arg, &result);
    get_free(get);
    tiers_pump(tiers);
}

/* The object is there: ends the read of an original. */
static void object_found(struct tier_get *get)
{
    if (get->only_looks) {
        get->url = tier_s3_url(&get->call);
        if (get->url == NULL) {
            end(get, TIER_FAILED, "its URL is too long");
            return;
        }
    }
    end(get, TIER_HIT, "found");
}

/* The object is not to be used, whatever the tier says of it later. */
static void refuse_object(struct tier_get *get, enum refusal why,
                          const char *what)
{
    static const enum metric counters[] = {
        METRIC_TIER_REFUSED_META, METRIC_TIER_REFUSED_MAC,
        METRIC_TIER_REFUSED_DIGEST, METRIC_TIER_REFUSED_CONTENT};

    metrics_add(counters[why], 1);
    log_warn(0,
             "tier %s: \"%s\" is refused (%s): %s; %s%s", get->tier->name,
             get->call.name, refusal_names[why], what,
             get->call.is_original ? "remove it and upload it again"
                                   : "the sources are asked",
             get->call.is_original || get->call.config->read_only
                 ? ""
                 : ", and it is replaced");
    end(get, TIER_REFUSED, "refused (%s): %s", refusal_names[why], what);
}

/* validation --------------------------------------------------------------- */

static void object_hit(struct tier_get *get)
{
    const struct tier_meta *meta = &get->meta;
    struct provenance provenance = {
        .extent = !meta->publics_only ? SYMCACHE_EXTENT_FULL
                  : meta->is_program  ? SYMCACHE_EXTENT_PROGRAM
                                      : SYMCACHE_EXTENT_PUBLICS,
        .checked = time(NULL),
        .features = meta->features,
        .builder = meta->builder,
    };

    if (meta->source[0] != '\0') {
        memcpy(provenance.source, meta->source, sizeof(provenance.source));
        provenance_write(get->file, &provenance);
    }
    if (get->call.stored != 0) {
        tier_attribute_write(get->file, get->call.stored);
    }
    end(get, TIER_HIT, "%s", "found");
}

static void get_on_validated(void *arg, struct child_result *child)
{
    struct tier_get *get = arg;

    get->child = NULL;
    child->tail[strcspn(child->tail, "\n")] = '\0';
    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) {
        object_hit(get);
    } else if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 1) {
        refuse_object(get, REFUSED_CONTENT, child->tail);
    } else {
        end(get, TIER_FAILED, "could not be validated: %.200s", child->tail);
    }
}

static void validate_object(struct tier_get *get)
{
    get->child = validate_start(get->call.tiers->base, get->file, &get->key,
                                VALIDATE_RECEIVED, get_on_validated, get);
    if (get->child == NULL) {
        end(get, TIER_FAILED, "could not be validated: %s", strerror(errno));
    }
}

/* unpacking ---------------------------------------------------------------- */

static void on_fresh(struct tier_call *call, enum tier_reply reply,
                     const char *detail)
{
    struct tier_get *get =
        (struct tier_get *)((char *)call - offsetof(struct tier_get, call));

    get->fresh = false;
    log_debug(0, "tier %s: \"%s\": %s", get->tier->name, call->name, detail);
    object_found(get);
}

/*
 * The machine that received an original removes it when it was unused for
 * long.  To show that this machine uses it, the object is made young again.
 * If that fails, nothing is lost yet.
 */
static void use_object(struct tier_get *get)
{
    struct tier_call *call = &get->call;
    int64_t age = (int64_t)time(NULL) - call->stored;

    if (call->config->read_only || call->lifetime == 0 ||
        age <= (int64_t)call->lifetime / 2) {
        object_found(get);
        return;
    }
    get->fresh = true;
    call->reply = on_fresh;
    if (tier_type_of(call->config)->fresh(call) != 0) {
        on_fresh(call, TIER_REPLY_FAILED, strerror(errno));
    }
}

static void get_on_sum(void *arg, const struct checksum *sum)
{
    struct tier_get *get = arg;

    get->task = NULL;
    if (sum->errnum != 0) {
        end(get, TIER_FAILED, "could not be read: %s",
            strerror(sum->errnum));
    } else if (sum->size[0] != get->meta.size ||
               strcmp(sum->sha256[0], get->meta.sha256) != 0) {
        refuse_object(get, REFUSED_DIGEST, "its SHA-256 is another one");
    } else if (get->call.is_original) {
        use_object(get);
    } else {
        validate_object(get);
    }
}

static void compare_object(struct tier_get *get, int fd)
{
    get->task = checksum_start(get->call.tiers->base, &fd, 1, get_on_sum, get);
    if (get->task == NULL) {
        end(get, TIER_FAILED, "could not be read: %s", strerror(errno));
    }
}

static void on_unpacked(void *arg, struct child_result *child)
{
    struct tier_get *get = arg;

    get->child = NULL;
    child->tail[strcspn(child->tail, "\n")] = '\0';
    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 1) {
        refuse_object(get, REFUSED_DIGEST, child->tail);
        return;
    }
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0) {
        end(get, TIER_FAILED, "could not be unpacked: %.200s", child->tail);
        return;
    }
    compare_object(get, get->out);
}

static void unpack_object(struct tier_get *get)
{
    get->out = open(get->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (get->out >= 0 && lseek(get->call.fd, 0, SEEK_SET) == 0) {
        get->child = gunzip_start(get->call.tiers->base,
                                  &get->call.all->cache, get->call.fd,
                                  get->out, get->meta.size, on_unpacked, get);
    }
    if (get->child == NULL) {
        end(get, TIER_FAILED, "could not be unpacked: %s", strerror(errno));
    }
}

static void object_received(struct tier_get *get)
{
    const struct tier_config *config = get->call.config;
    const char *wrong;

    if (!tier_type_of(config)->has_meta) {
        if (rename(get->part, get->file) != 0) {
            end(get, TIER_FAILED, "%s", strerror(errno));
            return;
        }
        validate_object(get);
        return;
    }
    wrong = tier_meta_read(&get->meta, get->call.lines);
    if (wrong != NULL) {
        refuse_object(get, REFUSED_META, wrong);
    } else if (config->mac_key != NULL &&
               !tier_meta_is_signed(&get->meta, get->call.name,
                                    config->mac_key)) {
        refuse_object(get, REFUSED_MAC,
                      get->meta.mac[0] == '\0' ? "it has none"
                                               : "it is another one");
    } else if (get->meta.size > get->call.max) {
        end(get, TIER_FAILED, "larger than %s",
            get->call.is_original ? "download_size" : "max_object");
    } else if (get->only_looks && get->call.length != (int64_t)get->meta.size) {
        refuse_object(get, REFUSED_DIGEST, "it has another size");
    } else if (get->only_looks) {
        use_object(get);
    } else if (get->call.is_original) {
        compare_object(get, get->call.fd);
    } else {
        unpack_object(get);
    }
}

/* the question ------------------------------------------------------------- */

static void get_on_reply(struct tier_call *call, enum tier_reply reply,
                         const char *detail)
{
    struct tier_get *get =
        (struct tier_get *)((char *)call - offsetof(struct tier_get, call));

    get->called = false;
    get->is_tiers = get->lists || reply == TIER_REPLY_FAULT ||
                    reply == TIER_REPLY_DENIED;
    if (get->lists && reply == TIER_REPLY_DENIED) {
        reply = TIER_REPLY_FAILED; /* it may be read all the same */
    }
    tier_way_ends(get->tier, &get->tier->get, call, reply, get->probe, detail);
    if (reply == TIER_REPLY_DONE && get->lists) {
        end(get, get->names.n > 0 ? TIER_HIT : TIER_ABSENT, "%s", detail);
    } else if (reply == TIER_REPLY_DONE) {
        object_received(get);
    } else if (reply == TIER_REPLY_ABSENT) {
        end(get, TIER_ABSENT, "%s", detail);
    } else {
        if (reply == TIER_REPLY_FAILED && get->lists) {
            log_warn(0,
                     "tier %s: \"%s\" cannot be listed, so it is not known "
                     "whether there is a program of this id: %s",
                     get->tier->name, call->name, detail);
        } else if (reply == TIER_REPLY_FAILED) {
            log_info(0, "tier %s: \"%s\" cannot be read, the sources are "
                        "asked: %s", get->tier->name, call->name, detail);
        }
        end(get, TIER_FAILED, "%s", detail);
    }
}

static void begin_get(struct tier_get *get)
{
    const struct tier_type *type = tier_type_of(get->call.config);
    int rc = -1;

    get->tier->getting++;
    get->called = true;
    if (!get->call.is_original) {
        get->call.fd = open(get->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                            0644);
    }
    if (get->lists) {
        rc = type->list(&get->call);
    } else if (get->only_looks) {
        rc = type->look(&get->call);
    } else if (get->call.fd >= 0) {
        rc = type->get(&get->call);
    }
    if (rc != 0) {
        get_on_reply(&get->call, TIER_REPLY_FAILED, strerror(errno));
    }
}

/* The oldest read that waits for something that sources have as well. */
static struct tier_get *first_dispensable(const struct tier *tier)
{
    struct tier_get *get;

    TAILQ_FOREACH(get, &tier->gets, queue)
    {
        if (!get->call.is_original) {
            break;
        }
    }
    return get;
}

/*
 * Reads that are slow and not slow enough to be given up can take all turns for
 * a minute.  If none of them has ended for a while, those that wait go on to
 * their sources.  Returns the milliseconds until that is so, or 0.
 */
static unsigned tier_get_send_on(struct tier *tier)
{
    const unsigned limit = TIER_FIRST * 1000;
    struct tier_get *get;
    unsigned ms;

    while ((get = first_dispensable(tier)) != NULL) {
        ms = clock_since(get->began > tier->turn ? get->began : tier->turn);
        if (ms < limit) {
            return limit - ms;
        }
        TAILQ_REMOVE(&tier->gets, get, queue);
        end(get, TIER_FAILED, "not asked: %d others are read, and slowly",
            GETS);
    }
    return 0;
}

unsigned tier_gets_pump(struct tier *tier)
{
    struct tier_get *get;

    while (tier->getting < GETS && (get = TAILQ_FIRST(&tier->gets)) != NULL) {
        TAILQ_REMOVE(&tier->gets, get, queue);
        tier->turn = clock_ms();
        if (tier_way_begins(tier, &tier->get, &get->call, &get->probe)) {
            get->waits = false;
            begin_get(get);
        } else {
            get->is_tiers = true;
            end(get, TIER_FAILED, "not asked: %s", tier->get.why);
        }
    }
    return tier_get_send_on(tier);
}

/* Returns a handle without a call's name, or NULL when out of memory. */
static struct tier_get *get_new(struct tiers *tiers,
                                const struct tier_config *config,
                                tier_done_fn done, void *arg)
{
    struct tier_get *get = calloc(1, sizeof(*get));

    if (get == NULL) {
        return NULL;
    }
    get->call.fd = get->out = -1;
    get->done = done;
    get->arg = arg;
    get->began = clock_ms();
    get->tier = tiers_find(tiers, config->name);
    if (get->tier == NULL) {
        get_free(get);
        return NULL;
    }
    return get;
}

/* Lets it wait for its turn. */
static void get_add(struct tier_get *get)
{
    get->waits = true;
    TAILQ_INSERT_TAIL(&get->tier->gets, get, queue);
    tiers_pump(get->call.tiers);
}

struct tier_get *tiers_get(struct tiers *tiers, const struct config *config,
                           const struct store_config *store,
                           const symcache_key_t *key,
                           const symcache_version_t *version,
                           const char *file, tier_done_fn done, void *arg)
{
    struct tier_get *get = get_new(tiers, store->tier, done, arg);
    struct tier_call *call;

    if (get == NULL) {
        return NULL;
    }
    call = &get->call;
    get->file = strdup(file);
    if (get->file == NULL || asprintf(&get->part, "%s.part", file) < 0) {
        get_free(get);
        return NULL;
    }
    symcache_key_copy(&get->key, key);
    call->key = &get->key;
    call->version = *version;
    tier_object_name(call->name,
                     store->tier->generation != NULL ? store->tier->generation
                                                     : "",
                     store->name, key, version);
    tier_call_init(call, tiers, config, store->tier, get_on_reply);
    get_add(get);
    return get;
}

static void get_original(struct tier_get *get, struct tiers *tiers,
                         const struct config *config,
                         struct tier_config *tier, const char *path)
{
    struct tier_call *call = &get->call;

    call->is_original = true;
    tier_original_name(call->name, path);
    tier_call_init(call, tiers, config, tier, get_on_reply);
    call->max = config->limits.download_size;
    call->seconds = config->limits.download_time;
    call->lifetime = config->uploads.max_unused_for;
    get_add(get);
}

struct tier_get *tiers_locate_original(struct tiers *tiers,
                                       const struct config *config,
                                       struct tier_config *tier,
                                       const char *path, tier_done_fn done,
                                       void *arg)
{
    struct tier_get *get = get_new(tiers, tier, done, arg);

    if (get != NULL) {
        get->only_looks = true;
        get_original(get, tiers, config, tier, path);
    }
    return get;
}

/* Returns a handle of a read into fd, or NULL with errno. */
static struct tier_get *receive_new(struct tiers *tiers,
                                    const struct tier_config *tier, int fd,
                                    tier_done_fn done, void *arg)
{
    struct tier_get *get = get_new(tiers, tier, done, arg);

    if (get == NULL) {
        return NULL;
    }
    get->call.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (get->call.fd < 0) {
        get_free(get);
        return NULL;
    }
    return get;
}

struct tier_get *tiers_get_original(struct tiers *tiers,
                                    const struct config *config,
                                    struct tier_config *tier,
                                    const char *path, int fd,
                                    tier_done_fn done, void *arg)
{
    struct tier_get *get = receive_new(tiers, tier, fd, done, arg);

    if (get != NULL) {
        get_original(get, tiers, config, tier, path);
    }
    return get;
}

struct tier_get *tiers_list_originals(struct tiers *tiers,
                                      const struct config *config,
                                      struct tier_config *tier,
                                      const char *folder, int fd,
                                      tier_done_fn done, void *arg)
{
    struct tier_get *get = receive_new(tiers, tier, fd, done, arg);

    if (get != NULL) {
        get->lists = true;
        get->call.names = &get->names;
        get_original(get, tiers, config, tier, folder);
    }
    return get;
}

void tiers_get_cancel(struct tier_get *get)
{
    struct tiers *tiers = get->call.tiers;

    if (get->waits) {
        TAILQ_REMOVE(&get->tier->gets, get, queue);
    } else {
        get->tier->getting--;
    }
    tier_call_cancel(&get->call);
    if (get->called) {
        tier_way_ends(get->tier, &get->tier->get, &get->call,
                      TIER_REPLY_FAILED, get->probe, "");
    }
    child_cancel(get->child);
    task_cancel(get->task);
    get_free(get);
    tiers_pump(tiers);
}
