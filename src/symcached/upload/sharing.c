/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sharing.h"

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

/* Files that are stored at a time: a store takes its time for each, and most of
 * it is waiting. */
#define SLOTS 8

/* One file, and then its entries in the index. */
struct slot {
    struct sharing *sharing;
    size_t file;
    size_t entries; /* of the file, so far */
    bool is_indexing; /* one of them is being stored */
    struct tier_original *original; /* NULL: the slot is free */
};

struct sharing {
    struct tiers *tiers;
    const struct config *config;
    struct upload_file *files;
    size_t n;
    size_t next;
    size_t done_files;
    bool is_try;
    enum tier_original_mode mode;
    struct slot slots[SLOTS];
    bool works; /* the tier has taken one: after a failure, it lets only one
                   try whether it works again */
    bool begins; /* sharing_start() has not returned */
    bool ended;
    sharing_done_fn done;
    void *arg;
};

bool sharing_is_wanted(const struct config *config)
{
    return config->uploads.tier != NULL && !config->uploads.tier->read_only;
}

static void cancel(struct sharing *sharing)
{
    size_t i;

    for (i = 0; i < SLOTS; i++) {
        if (sharing->slots[i].original != NULL) {
            tiers_original_cancel(sharing->slots[i].original);
            sharing->slots[i].original = NULL;
        }
    }
}

static void end(struct sharing *sharing, const struct upload_file *other,
                const char *failure)
{
    cancel(sharing);
    sharing->ended = true;
    sharing->done(sharing->arg, other, failure);
    if (!sharing->begins) {
        free(sharing);
    }
}

static void go_on(struct sharing *sharing);
static bool store(struct slot *slot);

/* Goes on to the next entry of the file in the index.  Returns false if there
 * is none. */
static bool next_entry(struct slot *slot, enum tier_original_outcome outcome)
{
    struct sharing *sharing = slot->sharing;
    struct upload_file *file = &sharing->files[slot->file];
    char path[PATH_MAX];

    if (!slot->is_indexing) {
        file->shared =
            outcome == TIER_ORIGINAL_DONE ? UPLOAD_NEW : UPLOAD_SAME;
        file->is_recent = outcome == TIER_ORIGINAL_RECENT;
        slot->entries = 0;
    } else {
        slot->entries++;
    }
    slot->is_indexing = sharing->mode != TIER_ORIGINAL_LOOK &&
                        upload_index_path(path, &file->place, sharing->is_try,
                                          slot->entries);
    return slot->is_indexing;
}

static void on_stored(void *arg, enum tier_original_outcome outcome,
                      const char *detail)
{
    struct slot *slot = arg;
    struct sharing *sharing = slot->sharing;
    char text[700];

    slot->original = NULL;
    if (outcome == TIER_ORIGINAL_OTHER) {
        end(sharing, &sharing->files[slot->file], NULL);
        return;
    }
    if (outcome == TIER_ORIGINAL_FAILED) {
        snprintf(text, sizeof(text), "the tier \"%s\" does not take it: %s",
                 sharing->config->uploads.tier->name, detail);
        end(sharing, NULL, text);
        return;
    }
    sharing->works = true;
    if (next_entry(slot, outcome)) {
        if (!store(slot)) {
            end(sharing, NULL, strerror(errno));
        }
        return;
    }
    if (++sharing->done_files == sharing->n &&
        sharing->mode == TIER_ORIGINAL_LOOK) {
        sharing->mode = TIER_ORIGINAL_KEEP;
        sharing->next = sharing->done_files = 0;
    }
    go_on(sharing);
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
static bool store(struct slot *slot)
{
    const struct sharing *sharing = slot->sharing;
    const struct upload_file *file = &sharing->files[slot->file];
    char path[PATH_MAX];
    int fd;

    if (slot->is_indexing) {
        (void)upload_index_path(path, &file->place, sharing->is_try,
                                slot->entries);
        fd = make_entry(file, sharing->is_try);
    } else {
        upload_file_path(path, &file->place, sharing->is_try);
        fd = file->tmp != NULL ? open(file->tmp, O_RDONLY | O_CLOEXEC)
                               : make_entry(file, sharing->is_try);
    }
    if (fd < 0) {
        return false;
    }
    slot->original = tiers_store_original(
        sharing->tiers, sharing->config, path, fd,
        slot->is_indexing ? TIER_ORIGINAL_REPLACE : sharing->mode, on_stored,
        slot);
    close(fd);
    return slot->original != NULL;
}

/* Two files of one place must not be stored at a time. */
static bool is_being_stored(const struct sharing *sharing, size_t file)
{
    const struct symstore_path *place = &sharing->files[file].place, *other;
    size_t i;

    for (i = 0; i < SLOTS; i++) {
        other = &sharing->files[sharing->slots[i].file].place;
        if (sharing->slots[i].original != NULL &&
            strcmp(other->id, place->id) == 0) {
            return true;
        }
    }
    return false;
}

/* Fills the free slots. */
static void go_on(struct sharing *sharing)
{
    size_t i, n = sharing->works ? SLOTS : 1;

    if (sharing->done_files == sharing->n) {
        end(sharing, NULL, NULL);
        return;
    }
    for (i = 0; i < n && sharing->next < sharing->n; i++) {
        struct slot *slot = &sharing->slots[i];

        if (slot->original != NULL) {
            continue;
        }
        if (is_being_stored(sharing, sharing->next)) {
            return; /* its end goes on */
        }
        slot->sharing = sharing;
        slot->file = sharing->next++;
        slot->is_indexing = false;
        if (!store(slot)) {
            end(sharing, NULL, strerror(errno));
            return;
        }
    }
}

struct sharing *sharing_start(struct tiers *tiers, const struct config *config,
                              struct upload_file *files, size_t n, bool is_try,
                              bool replace, sharing_done_fn done, void *arg)
{
    struct sharing *sharing = calloc(1, sizeof(*sharing));

    if (sharing == NULL) {
        done(arg, NULL, "out of memory");
        return NULL;
    }
    sharing->tiers = tiers;
    sharing->config = config;
    sharing->files = files;
    sharing->n = n;
    sharing->is_try = is_try;
    sharing->mode = replace ? TIER_ORIGINAL_REPLACE
                    : n > 1 ? TIER_ORIGINAL_LOOK
                            : TIER_ORIGINAL_KEEP;
    sharing->done = done;
    sharing->arg = arg;
    sharing->begins = true;
    go_on(sharing);
    sharing->begins = false;
    if (sharing->ended) {
        free(sharing);
        return NULL;
    }
    return sharing;
}

void sharing_cancel(struct sharing *sharing)
{
    cancel(sharing);
    free(sharing);
}

void sharing_settle(struct upload_file *files, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        files[i].has_come = files[i].fate == UPLOAD_NEW;
        if (files[i].fate != UPLOAD_REPLACED) {
            files[i].fate = files[i].shared;
        }
    }
}
