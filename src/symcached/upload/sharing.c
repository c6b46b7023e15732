/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sharing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "config/config.h"
#include "symcached/tier/tier.h"

struct sharing {
    struct tiers *tiers;
    const struct config *config;
    struct upload_file *files;
    size_t n;
    size_t next;
    bool is_try;
    size_t entries; /* of the file, which are stored behind it, so far */
    bool is_indexing; /* one of them is being stored */
    enum tier_original_mode mode;
    struct tier_original *original;
    bool begins; /* sharing_start() has not returned */
    bool ended;
    sharing_done_fn done;
    void *arg;
};

bool sharing_is_wanted(const struct config *config)
{
    return config->uploads.tier != NULL && !config->uploads.tier->read_only;
}

static void end(struct sharing *sharing, const struct upload_file *other,
                const char *failure)
{
    sharing->done(sharing->arg, other, failure);
    sharing->ended = true;
    if (!sharing->begins) {
        free(sharing);
    }
}

static void go_on(struct sharing *sharing);

static void on_stored(void *arg, enum tier_original_outcome outcome,
                      const char *detail)
{
    struct sharing *sharing = arg;
    struct upload_file *file = &sharing->files[sharing->next];
    char path[PATH_MAX], text[700];

    sharing->original = NULL;
    if (outcome == TIER_ORIGINAL_OTHER) {
        end(sharing, file, NULL);
        return;
    }
    if (outcome == TIER_ORIGINAL_FAILED) {
        snprintf(text, sizeof(text), "the tier \"%s\" does not take it: %s",
                 sharing->config->uploads.tier->name, detail);
        end(sharing, NULL, text);
        return;
    }
    if (!sharing->is_indexing) {
        file->shared =
            outcome == TIER_ORIGINAL_DONE ? UPLOAD_NEW : UPLOAD_SAME;
        file->is_recent = outcome == TIER_ORIGINAL_RECENT;
        sharing->entries = 0;
    } else {
        sharing->entries++;
    }
    sharing->is_indexing =
        sharing->mode != TIER_ORIGINAL_LOOK &&
        upload_index_path(path, &file->place, sharing->is_try,
                          sharing->entries);
    if (sharing->is_indexing) {
        go_on(sharing);
        return;
    }
    if (++sharing->next == sharing->n && sharing->mode == TIER_ORIGINAL_LOOK) {
        sharing->mode = TIER_ORIGINAL_KEEP;
        sharing->next = 0;
    }
    go_on(sharing);
}

/* An entry counts by its name; for people, the path that it leads to is in it.
 * Returns -1 with errno. */
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

static void go_on(struct sharing *sharing)
{
    const struct upload_file *file;
    char path[PATH_MAX];
    int fd;

    if (sharing->next == sharing->n) {
        end(sharing, NULL, NULL);
        return;
    }
    file = &sharing->files[sharing->next];
    if (sharing->is_indexing) {
        (void)upload_index_path(path, &file->place, sharing->is_try,
                                sharing->entries);
        fd = make_entry(file, sharing->is_try);
    } else {
        upload_file_path(path, &file->place, sharing->is_try);
        fd = open(file->tmp, O_RDONLY | O_CLOEXEC);
    }
    if (fd >= 0) {
        sharing->original = tiers_store_original(
            sharing->tiers, sharing->config, path, fd,
            sharing->is_indexing ? TIER_ORIGINAL_REPLACE : sharing->mode,
            on_stored, sharing);
        close(fd);
    }
    if (sharing->original == NULL) {
        end(sharing, NULL, strerror(errno));
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
    if (sharing->original != NULL) {
        tiers_original_cancel(sharing->original);
    }
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
