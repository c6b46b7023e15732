/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evict_for_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Of the files that may be removed, this share is where inodes lack. */
#define INODES_SHARE 16

/* Chooses the trees of one store, or of all those on a device. */
static size_t choose_store(struct eviction *eviction, const char *store,
                           const dev_t *device, bool downloads)
{
    struct evict_tree *tree;
    size_t i, n = 0;

    for (i = 0; i < eviction->ntrees; i++) {
        tree = &eviction->trees[i];
        if (tree->downloads == downloads && tree->part->there &&
            (store == NULL || strcmp(tree->store, store) == 0) &&
            (device == NULL || tree->part->device == *device)) {
            eviction->chosen[n] = tree;
            eviction->age_histogram[n++] = &tree->part->age_histogram;
        }
    }
    return n;
}

/* Marks the least recently used bytes of the chosen trees.  Returns how
 * many. */
static uint64_t mark_wanted(struct eviction *eviction, size_t n,
                            uint64_t wanted, enum evict_pass_reason reason)
{
    struct evict_pass_part *part;
    uint64_t marked;
    size_t i;

    for (i = 0; i < n; i++) {
        part = eviction->chosen[i]->part;
        part->quota[reason] -= part->age_histogram.marked;
    }
    marked = age_histogram_mark(eviction->age_histogram, n, wanted);
    for (i = 0; i < n; i++) {
        part = eviction->chosen[i]->part;
        part->quota[reason] += part->age_histogram.marked;
    }
    return marked;
}

/* Marks downloads first, because files made from them are worth more. */
static void mark_both(struct eviction *eviction, const char *store,
                      const dev_t *device, uint64_t wanted,
                      enum evict_pass_reason reason)
{
    size_t n = choose_store(eviction, store, device, true);
    uint64_t marked = mark_wanted(eviction, n, wanted, reason);

    if (marked < wanted) {
        n = choose_store(eviction, store, device, false);
        mark_wanted(eviction, n, wanted - marked, reason);
    }
}

static void keep_size(struct eviction *eviction)
{
    const struct evict_pass_rules *rules = eviction->rules;
    uint64_t used, max = rules->max_size, most = rules->downloads_max_size;
    const struct evict_tree *trees = eviction->trees;
    size_t i, n;

    for (i = 0; i + 1 < eviction->ntrees; i += 2) {
        used = trees[i].part->disk + trees[i + 1].part->disk;
        if (most > 0 && trees[i].part->disk > most) {
            n = choose_store(eviction, trees[i].store, NULL, true);
            used -= mark_wanted(eviction, n, trees[i].part->disk - most,
                                EVICT_MAX_SIZE);
        }
        if (max > 0 && used > max) {
            mark_both(eviction, trees[i].store, NULL, used - max,
                      EVICT_MAX_SIZE);
        }
    }
}

/* The bytes that will be free on the file system of a tree once everything
 * marked is removed. */
static uint64_t bytes_free(const struct eviction *eviction,
                           const struct evict_tree *tree, uint64_t *wanted)
{
    const struct evict_pass_rules *rules = eviction->rules;
    const struct evict_pass_part *part;
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

    if (rules->request.is_elsewhere &&
        rules->request.device == tree->part->device) {
        *wanted += rules->request.bytes;
    }

    bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    for (i = 0; i < eviction->ntrees; i++) {
        part = eviction->trees[i].part;
        if (part->there && part->device == tree->part->device) {
            bytes += part->age_histogram.marked;
            bytes += rules->dry_run ? part->freed : 0;
        }
    }
    return bytes;
}

/* Adds everything that is under way on a device, in the work folders of all
 * roots. */
static void look_under_way(const struct eviction *eviction, dev_t device,
                           struct space_usage *space)
{
    const struct evict_tree *tree;
    struct stat st;
    size_t i;

    if (stat(eviction->downloads, &st) == 0 && st.st_dev == device) {
        space_request_look(eviction->downloads, space);
    }
    for (i = 0; i < eviction->ntrees; i++) {
        tree = &eviction->trees[i];
        if (!tree->downloads && tree->part->there &&
            tree->part->device == device) {
            space_request_look(tree->path, space);
        }
    }
}

/* Decides how much space a request gets on the device of a tree beyond
 * cache.min_free. */
static void grant_space(struct eviction *eviction,
                        const struct evict_tree *tree, uint64_t bytes)
{
    struct evict_pass_space *space = &eviction->spaces[eviction->nspaces++];
    const struct space_request *request = &eviction->rules->request;
    struct space_usage there = {.free = bytes};
    dev_t device = tree->part->device;
    uint64_t target;
    size_t i, n;
    int d;

    for (d = 0; d < 2; d++) {
        n = choose_store(eviction, NULL, &device, d == 0);
        for (i = 0; i < n; i++) {
            there.removable += age_histogram_left(eviction->age_histogram[i]);
        }
    }
    look_under_way(eviction, device, &there);

    memset(space, 0, sizeof(*space));
    space->device = device;
    space->path = tree->path;
    space->share[SPACE_ANNOUNCED] =
        space_request_share(&there, SPACE_ANNOUNCED);
    space->share[SPACE_ARRIVED] = space_request_share(&there, SPACE_ARRIVED);
    if (!request->is_elsewhere && request->device == device &&
        request->bytes > bytes) {
        target = space_request_grant(&there, request->kind, request->bytes);
        space->refused = target == 0;
        mark_both(eviction, NULL, &device,
                  target > bytes ? target - bytes : 0, EVICT_MIN_FREE);
    }
}

/* Has a file found no room for want of inodes, as there are `bytes` for it
 * beyond cache.min_free? */
static bool wants_inodes(const struct eviction *eviction,
                         const struct evict_tree *tree, uint64_t bytes)
{
    const struct space_request *request = &eviction->rules->request;
    struct statvfs fs;

    return request->bytes > 0 && request->bytes <= bytes &&
           request->device == tree->part->device &&
           statvfs(tree->path, &fs) == 0 && disk_space_lacks_inodes(&fs);
}

/* Marks a share of the downloads and one of the other files: each file has an
 * inode or some, whatever its size. */
static void mark_for_inodes(struct eviction *eviction, const dev_t *device)
{
    uint64_t left;
    size_t i, n;
    int d;

    for (d = 0; d < 2; d++) {
        n = choose_store(eviction, NULL, device, d == 0);
        for (i = 0, left = 0; i < n; i++) {
            left += age_histogram_left(eviction->age_histogram[i]);
        }
        mark_wanted(eviction, n, (left + INODES_SHARE - 1) / INODES_SHARE,
                    EVICT_MIN_FREE);
    }
}

static bool has_space(const struct eviction *eviction, dev_t device)
{
    size_t i;

    for (i = 0; i < eviction->nspaces; i++) {
        if (eviction->spaces[i].device == device) {
            return true;
        }
    }
    return false;
}

static void keep_free(struct eviction *eviction)
{
    const struct evict_tree *tree;
    uint64_t there, wanted;
    size_t i;

    for (i = 0; i < eviction->ntrees; i++) {
        tree = &eviction->trees[i];
        if (!tree->part->there || has_space(eviction, tree->part->device)) {
            continue;
        }
        there = bytes_free(eviction, tree, &wanted);
        if (there < wanted) {
            mark_both(eviction, NULL, &tree->part->device, wanted - there,
                      EVICT_MIN_FREE);
            there = bytes_free(eviction, tree, &wanted);
        }
        there = there > wanted ? there - wanted : 0;
        if (wants_inodes(eviction, tree, there)) {
            mark_for_inodes(eviction, &tree->part->device);
        }
        grant_space(eviction, tree, there);
    }
}

void eviction_mark(struct eviction *eviction)
{
    eviction->nspaces = 0;
    keep_size(eviction);
    keep_free(eviction);
}

int eviction_fit(struct eviction *eviction, size_t n)
{
    void *spaces =
        reallocarray(eviction->spaces, n, sizeof(eviction->spaces[0]));
    void *chosen =
        reallocarray(eviction->chosen, n, sizeof(eviction->chosen[0]));
    void *age_histogram = reallocarray(eviction->age_histogram, n,
                                       sizeof(eviction->age_histogram[0]));

    eviction->spaces = spaces != NULL ? spaces : eviction->spaces;
    eviction->chosen = chosen != NULL ? chosen : eviction->chosen;
    eviction->age_histogram =
        age_histogram != NULL ? age_histogram : eviction->age_histogram;
    return spaces != NULL && chosen != NULL && age_histogram != NULL ? 0 : -1;
}

void eviction_drop(struct eviction *eviction)
{
    free(eviction->spaces);
    free(eviction->chosen);
    free(eviction->age_histogram);
}
