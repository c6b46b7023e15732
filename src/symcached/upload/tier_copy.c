/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tier_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "config/config.h"
#include "symcached/tier/tier.h"
#include "machine_id.h"

/* Files that are stored at a time: a store takes its time for each, and most
 * of it is waiting. */
#define SLOTS 8

/* One file, and then its entries in the index. */
struct tier_copy_slot {
    struct tier_copy *tier_copy;
    size_t file;
    size_t entries;                 /* of the file, so far */
    bool is_indexing;               /* one of them is being stored */
    struct tier_original *original; /* NULL: the slot is free */
};

struct tier_copy {
    struct tiers *tiers;
    const struct config *config;
    struct upload_file *files;
    size_t n;
    size_t next;
    size_t done_files;
    bool is_try;
    char machine[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1];
    enum tier_original_mode mode;
    struct tier_copy_slot slots[SLOTS];
    bool works;  /* the tier has taken one: after a failure, it lets only one
                    try whether it works again */
    bool begins; /* tier_copy_start() has not returned */
    bool ended;
    tier_copy_done_fn done;
    void *arg;
};

bool tier_copy_is_wanted(const struct config *config)
{
    return config->uploads.tier != NULL && !config->uploads.tier->read_only;
}

static void cancel_copy(struct tier_copy *tier_copy)
{
    size_t i;

    for (i = 0; i < SLOTS; i++) {
        if (tier_copy->slots[i].original != NULL) {
            tiers_original_cancel(tier_copy->slots[i].original);
            tier_copy->slots[i].original = NULL;
        }
    }
}

static void end_copy(struct tier_copy *tier_copy,
                     const struct upload_file *other, int status,
                     const char *failure)
{
    cancel_copy(tier_copy);
    tier_copy->ended = true;
    tier_copy->done(tier_copy->arg, other, status, failure);
    if (!tier_copy->begins) {
        free(tier_copy);
    }
}

static void tier_copy_go_on(struct tier_copy *tier_copy);
static bool store_in_tier(struct tier_copy_slot *slot);

/* Goes on to the next entry of the file in the index.  Returns false if there
 * is none. */
static bool tier_copy_next_entry(struct tier_copy_slot *slot,
                                 enum tier_original_outcome outcome)
{
    struct tier_copy *tier_copy = slot->tier_copy;
    struct upload_file *file = &tier_copy->files[slot->file];
    char path[PATH_MAX];

    if (!slot->is_indexing) {
        file->shared =
            outcome == TIER_ORIGINAL_DONE ? UPLOAD_NEW : UPLOAD_SAME;
        file->is_recent =
            outcome == TIER_ORIGINAL_RECENT ||
            (outcome == TIER_ORIGINAL_OWN && !file->is_complete);
        slot->entries = 0;
    } else {
        slot->entries++;
    }
    slot->is_indexing = tier_copy->mode != TIER_ORIGINAL_LOOK &&
                        upload_index_path(path, &file->place,
                                          tier_copy->is_try, slot->entries);
    return slot->is_indexing;
}

static void tier_copy_on_stored(void *arg, enum tier_original_outcome outcome,
                                const char *detail)
{
    struct tier_copy_slot *slot = arg;
    struct tier_copy *tier_copy = slot->tier_copy;
    const struct symstore_path *place = &tier_copy->files[slot->file].place;
    char text[1400];

    slot->original = NULL;
    if (outcome == TIER_ORIGINAL_OTHER) {
        end_copy(tier_copy, &tier_copy->files[slot->file], 0, NULL);
        return;
    }
    if (outcome >= TIER_ORIGINAL_FAILED) {
        snprintf(text, sizeof(text),
                 "the tier \"%s\" does not take %s/%s/%s: %s",
                 tier_copy->config->uploads.tier->name, place->name, place->id,
                 place->file, detail);
        end_copy(tier_copy, NULL,
                 outcome == TIER_ORIGINAL_TOO_LARGE ? 413
                 : outcome == TIER_ORIGINAL_FULL ? 507
                                                    : 503,
                 text);
        return;
    }
    tier_copy->works = true;
    if (tier_copy_next_entry(slot, outcome)) {
        if (!store_in_tier(slot)) {
            end_copy(tier_copy, NULL, 503, strerror(errno));
        }
        return;
    }
    if (++tier_copy->done_files == tier_copy->n &&
        tier_copy->mode == TIER_ORIGINAL_LOOK) {
        tier_copy->mode = TIER_ORIGINAL_KEEP;
        tier_copy->next = tier_copy->done_files = 0;
    }
    tier_copy_go_on(tier_copy);
}

/* An entry counts by its name; for people, the path that it leads to is in it,
 * or its own.  Returns -1 with errno. */
static int make_entry(const struct upload_file *file, bool is_try)
{
    int fd = memfd_create("entry", MFD_CLOEXEC);
    char path[PATH_MAX];

    upload_file_path(path, &file->place, is_try);
    if (fd >= 0 && pwrite(fd, path, strlen(path), 0) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Stores the file of a slot, or its entry.  Returns false with errno. */
static bool store_in_tier(struct tier_copy_slot *slot)
{
    const struct tier_copy *tier_copy = slot->tier_copy;
    const struct upload_file *file = &tier_copy->files[slot->file];
    char path[PATH_MAX];
    int fd;

    if (slot->is_indexing) {
        (void)upload_index_path(path, &file->place, tier_copy->is_try,
                                slot->entries);
        fd = make_entry(file, tier_copy->is_try);
    } else {
        upload_file_path(path, &file->place, tier_copy->is_try);
        fd = file->tmp != NULL ? open(file->tmp, O_RDONLY | O_CLOEXEC)
                               : make_entry(file, tier_copy->is_try);
    }
    if (fd < 0) {
        return false;
    }
    slot->original = tiers_store_original(
        tier_copy->tiers, tier_copy->config, path, fd,
        slot->is_indexing ? TIER_ORIGINAL_REPLACE : tier_copy->mode,
        slot->is_indexing || file->tmp == NULL ||
                tier_copy->mode == TIER_ORIGINAL_LOOK
            ? ""
            : tier_copy->machine,
        tier_copy_on_stored, slot);
    close(fd);
    return slot->original != NULL;
}

/* Two files of one place must not be stored at a time. */
static bool is_being_stored(const struct tier_copy *tier_copy, size_t file)
{
    const struct symstore_path *place = &tier_copy->files[file].place, *other;
    size_t i;

    for (i = 0; i < SLOTS; i++) {
        other = &tier_copy->files[tier_copy->slots[i].file].place;
        if (tier_copy->slots[i].original != NULL &&
            strcmp(other->id, place->id) == 0) {
            return true;
        }
    }
    return false;
}

/* Fills the free slots. */
static void tier_copy_go_on(struct tier_copy *tier_copy)
{
    size_t i, n = tier_copy->works ? SLOTS : 1;

    if (tier_copy->done_files == tier_copy->n) {
        end_copy(tier_copy, NULL, 0, NULL);
        return;
    }
    for (i = 0; i < n && tier_copy->next < tier_copy->n; i++) {
        struct tier_copy_slot *slot = &tier_copy->slots[i];

        if (slot->original != NULL) {
            continue;
        }
        if (is_being_stored(tier_copy, tier_copy->next)) {
            return; /* its end goes on */
        }
        slot->tier_copy = tier_copy;
        slot->file = tier_copy->next++;
        slot->is_indexing = false;
        if (!store_in_tier(slot)) {
            end_copy(tier_copy, NULL, 503, strerror(errno));
            return;
        }
    }
}

struct tier_copy *tier_copy_start(struct tiers *tiers,
                                  const struct config *config,
                                  struct upload_file *files, size_t n,
                                  bool is_try, bool replace,
                                  tier_copy_done_fn done, void *arg)
{
    struct tier_copy *tier_copy = calloc(1, sizeof(*tier_copy));

    if (tier_copy == NULL) {
        done(arg, NULL, 503, "out of memory");
        return NULL;
    }
    tier_copy->tiers = tiers;
    tier_copy->config = config;
    tier_copy->files = files;
    tier_copy->n = n;
    tier_copy->is_try = is_try;
    machine_id(tier_copy->machine, config->uploads.root);
    tier_copy->mode = replace ? TIER_ORIGINAL_REPLACE
                      : n > 1 ? TIER_ORIGINAL_LOOK
                              : TIER_ORIGINAL_KEEP;
    tier_copy->done = done;
    tier_copy->arg = arg;
    tier_copy->begins = true;
    tier_copy_go_on(tier_copy);
    tier_copy->begins = false;
    if (tier_copy->ended) {
        free(tier_copy);
        return NULL;
    }
    return tier_copy;
}

void tier_copy_cancel(struct tier_copy *tier_copy)
{
    cancel_copy(tier_copy);
    free(tier_copy);
}

void tier_copy_settle(struct upload_file *files, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        files[i].has_come = files[i].fate == UPLOAD_NEW;
        if (files[i].fate != UPLOAD_REPLACED) {
            files[i].fate = files[i].shared;
        }
    }
}
