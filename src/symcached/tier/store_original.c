/*
 * Copyright (C) the ngx_symcache authors
 *
 * Originals that were uploaded are stored while the client waits:
 *
 *   a thread computes the digest --> what is there? --> the type stores it
 *
 * and they are removed:
 *
 *   what is there? --> the type removes it
 *
 * Nothing waits for a turn: uploads are few at a time.
 */
#include "tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "metrics/metrics.h"
#include "call.h"
#include "sha256_task.h"

/* A failed precondition means that another machine wrote the object first; if
 * it is then gone, another machine removed it.  Look again so many times. */
#define LOOKS 3

struct tier_original {
    struct tier *tier;
    struct tier_call call;
    struct tier_meta meta; /* of what is to be stored; the machine that is to
                              have it, or that removes it */
    enum tier_original_outcome stored; /* how it ends well */
    bool removes;
    unsigned unused_for; /* of what is to be removed, or 0 */
    enum tier_original_mode mode;
    unsigned nlooks;
    bool called;
    bool left_alone; /* the tier is, as a line of the log says already */
    bool probe;
    struct task *task;
    tier_original_fn done;
    void *arg;
    uint64_t began;
};

static void original_free(struct tier_original *original)
{
    fd_close(original->call.fd);
    free(original);
}

__attribute__((format(printf, 3, 4))) static void
end(struct tier_original *original, enum tier_original_outcome outcome,
    const char *format, ...)
{
    tier_original_fn done = original->done;
    void *arg = original->arg;
    char detail[600];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    metrics_add(METRIC_TIER_PUT_MS, clock_since(original->began));
    if (outcome >= TIER_ORIGINAL_FAILED &&
        (original->removes || original->mode != TIER_ORIGINAL_COMPARE)) {
        metrics_add(METRIC_TIER_PUT_FAILED, 1);
        original->tier->not_stored++;
        log_write(original->left_alone ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, 0,
                  "tier %s: \"%s\" is not %s: %s", original->tier->name,
                  original->call.name, original->removes ? "removed" : "stored",
                  detail);
    }
    original_free(original);
    done(arg, outcome, detail);
}

/* The age of the stored object in seconds; if the store does not report one,
 * more than any limit. */
static int64_t age_of(const struct tier_original *original)
{
    return (int64_t)time(NULL) - original->call.stored;
}

static void begin(struct tier_original *original,
                  int (*begin_call)(struct tier_call *call), bool looks);

static void look_at_original(struct tier_original *original)
{
    original->nlooks++;
    begin(original, tier_type_of(original->call.config)->look, true);
}

/* Stores the original, or removes the stored object. */
static void change_original(struct tier_original *original)
{
    const struct tier_type *type = tier_type_of(original->call.config);

    begin(original, original->removes ? type->remove : type->put, false);
}

static void store(struct tier_original *original)
{
    if (original->mode <= TIER_ORIGINAL_LOOK) {
        end(original, TIER_ORIGINAL_DONE, "it may be stored");
        return;
    }
    tier_meta_print(&original->meta, original->call.lines);
    change_original(original);
}

/* The same is there.  If it belongs to another machine, that may remove it by
 * a rule of its own before it knows that it was sent here. */
static void same_is_there(struct tier_original *original,
                          const struct tier_meta *there)
{
    original->stored = age_of(original) < TIER_RECENT_SECONDS
                           ? TIER_ORIGINAL_RECENT
                           : TIER_ORIGINAL_SAME;
    if (original->meta.machine[0] == '\0' ||
        strcmp(there->machine, original->meta.machine) == 0) {
        metrics_add(METRIC_TIER_EXISTS, original->mode > TIER_ORIGINAL_LOOK);
        end(original,
            original->stored == TIER_ORIGINAL_RECENT &&
                    original->meta.machine[0] != '\0'
                ? TIER_ORIGINAL_OWN
                : original->stored,
            "the same is there");
        return;
    }
    if (original->mode <= TIER_ORIGINAL_LOOK) {
        end(original, TIER_ORIGINAL_OTHER, "it belongs to another machine");
        return;
    }
    original->call.replace = true;
    store(original);
}

/* Is the stored object the same? A damaged object, or one that the fleet has
 * not signed, need not be kept. */
static void compare_original(struct tier_original *original)
{
    const struct tier_call *call = &original->call;
    const char *key = call->config->mac_key;
    struct tier_meta there;

    original->stored = TIER_ORIGINAL_DONE;
    if (tier_meta_read(&there, call->lines) != NULL ||
        (key != NULL && !tier_meta_is_signed(&there, call->name, key))) {
        original->call.replace = true;
    } else if (there.size == original->meta.size &&
               strcmp(there.sha256, original->meta.sha256) == 0) {
        same_is_there(original, &there);
        return;
    } else if (original->mode != TIER_ORIGINAL_REPLACE) {
        end(original, TIER_ORIGINAL_OTHER, "another one is there");
        return;
    } else {
        original->call.replace = true;
    }
    store(original);
}

/* Has another machine been given the object last? */
static bool is_of_another(const struct tier_original *original)
{
    const char *machine = original->meta.machine;
    struct tier_meta there;

    return machine[0] != '\0' &&
           tier_meta_read(&there, original->call.lines) == NULL &&
           there.machine[0] != '\0' && strcmp(there.machine, machine) != 0;
}

static void original_looked(struct tier_original *original,
                            enum tier_reply reply)
{
    if (original->removes) {
        if (reply == TIER_REPLY_ABSENT) {
            end(original, TIER_ORIGINAL_ABSENT, "there is none");
        } else if (is_of_another(original)) {
            end(original, TIER_ORIGINAL_OTHER, "another machine keeps it");
        } else if (original->unused_for > 0 &&
                   age_of(original) <= (int64_t)original->unused_for) {
            end(original, TIER_ORIGINAL_USED, "another machine uses it");
        } else {
            change_original(original);
        }
    } else if (reply == TIER_REPLY_ABSENT) {
        original->call.replace = false;
        original->stored = TIER_ORIGINAL_DONE;
        store(original);
    } else {
        compare_original(original);
    }
}

/* Files that wait may have waited for this call, if it was the probe. */
static void call_ends(struct tier_original *original, enum tier_reply reply,
                      const char *detail)
{
    struct tier_way *way = &original->tier->put;

    original->called = false;
    /* a store that is full may have room for the next file */
    if (original->call.looks && way->refusal == 0 && way->writes_fail &&
        (reply == TIER_REPLY_DONE || reply == TIER_REPLY_ABSENT)) {
        tier_way_looked(way, original->probe);
    } else {
        tier_way_ends(original->tier, way, &original->call, reply,
                      original->probe, detail);
    }
    tiers_pump(original->call.tiers);
}

/* Of the refusal of a put, or of 0. */
static enum tier_original_outcome failure_of(int refusal)
{
    return refusal == 413   ? TIER_ORIGINAL_TOO_LARGE
           : refusal == 507 ? TIER_ORIGINAL_FULL
                            : TIER_ORIGINAL_FAILED;
}

static void original_on_reply(struct tier_call *call, enum tier_reply reply,
                              const char *detail)
{
    struct tier_original *original =
        (struct tier_original *)((char *)call -
                                 offsetof(struct tier_original, call));

    call_ends(original, reply, detail);
    if (original->call.looks &&
        (reply == TIER_REPLY_DONE || reply == TIER_REPLY_ABSENT)) {
        original_looked(original, reply);
    } else if (reply == TIER_REPLY_EXISTS && original->nlooks < LOOKS) {
        look_at_original(original);
    } else if (reply == TIER_REPLY_DONE) {
        if (!original->removes) {
            metrics_add(METRIC_TIER_STORED, 1);
            original->tier->stored++;
            original->tier->put.refusal = 0;
            metrics_add(METRIC_TIER_SENT, call->size);
        }
        end(original, original->stored, "%s", detail);
    } else {
        end(original, failure_of(original->call.refusal), "%s", detail);
    }
}

static void begin(struct tier_original *original,
                  int (*begin_call)(struct tier_call *call), bool looks)
{
    struct tier_way *way = &original->tier->put;

    if (!tier_way_begins(original->tier, way, &original->call,
                         &original->probe)) {
        original->left_alone = true;
        end(original, original->removes ? TIER_ORIGINAL_FAILED
                                        : failure_of(way->refusal),
            "it is left alone: %s", way->why);
        return;
    }
    original->called = true;
    original->call.looks = looks;
    original->call.refusal = 0;
    if (begin_call(&original->call) != 0) {
        original_on_reply(&original->call, TIER_REPLY_FAILED, strerror(errno));
    }
}

static void original_on_sum(void *arg, const struct checksum *sum)
{
    struct tier_original *original = arg;
    struct tier_call *call = &original->call;

    original->task = NULL;
    if (sum->errnum != 0) {
        end(original, TIER_ORIGINAL_FAILED, "it cannot be read: %s",
            strerror(sum->errnum));
        return;
    }
    if (!original->removes) {
        memcpy(original->meta.sha256, sum->sha256[0],
               sizeof(original->meta.sha256));
        memcpy(call->body_sha256, sum->sha256[0], sizeof(call->body_sha256));
        original->meta.size = call->size = sum->size[0];
        if (call->config->mac_key != NULL) {
            tier_meta_sign(&original->meta, call->name, call->config->mac_key);
        }
    }
    look_at_original(original);
}

static struct tier_original *start_original(struct tiers *tiers,
                                            const struct config *config,
                                            const char *path, int fd,
                                            const char *machine,
                                            tier_original_fn done, void *arg)
{
    struct tier_original *original = calloc(1, sizeof(*original));
    struct tier_config *tier = config->uploads.tier;

    if (original == NULL) {
        return NULL;
    }
    original->call.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    original->call.is_original = true;
    tier_original_name(original->call.name, path);
    tier_call_init(&original->call, tiers, config, tier, original_on_reply);
    snprintf(original->meta.machine, sizeof(original->meta.machine), "%s",
             machine);
    original->stored = TIER_ORIGINAL_DONE;
    original->tier = tiers_find(tiers, tier->name);
    original->done = done;
    original->arg = arg;
    original->began = clock_ms();
    /* of no file, so that it never ends in this function */
    original->task =
        original->tier != NULL && (fd < 0 || original->call.fd >= 0)
            ? checksum_start(tiers->base, &original->call.fd, fd >= 0,
                             original_on_sum, original)
            : NULL;
    if (original->task == NULL) {
        original_free(original);
        return NULL;
    }
    return original;
}

struct tier_original *tiers_store_original(struct tiers *tiers,
                                           const struct config *config,
                                           const char *path, int fd,
                                           enum tier_original_mode mode,
                                           const char *machine,
                                           tier_original_fn done, void *arg)
{
    struct tier_original *original =
        start_original(tiers, config, path, fd, machine, done, arg);

    if (original != NULL) {
        original->mode = mode;
    }
    return original;
}

struct tier_original *tiers_remove_original(struct tiers *tiers,
                                            const struct config *config,
                                            const char *path,
                                            unsigned unused_for,
                                            const char *machine,
                                            tier_original_fn done, void *arg)
{
    struct tier_original *original =
        start_original(tiers, config, path, -1, machine, done, arg);

    if (original != NULL) {
        original->removes = true;
        original->unused_for = unused_for;
    }
    return original;
}

void tiers_original_cancel(struct tier_original *original)
{
    if (original->called) {
        tier_call_cancel(&original->call);
        call_ends(original, TIER_REPLY_FAILED, "");
    }
    task_cancel(original->task);
    original_free(original);
}
