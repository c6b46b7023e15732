/*
 * Copyright (C) the ngx_symcache authors
 */
#include "list.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int walk_folder(const struct tier_config *tier, FTS *fts,
                       tier_listed_fn fn, void *arg, char *error, size_t size)
{
    struct tier_listed listed;
    const FTSENT *entry;

    while ((entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
            (entry->fts_info == FTS_NS && entry->fts_level == 0)) {
            snprintf(error, size, "%.600s: %s", entry->fts_path,
                     strerror(entry->fts_errno));
            return -1;
        }
        if (entry->fts_info == FTS_F && entry->fts_level > 0) {
            listed.name = entry->fts_path + strlen(tier->path) + 1;
            listed.size = (uint64_t)entry->fts_statp->st_size;
            listed.stored = (int64_t)entry->fts_statp->st_mtime;
            fn(arg, &listed);
        }
    }
    return 0;
}

static int list_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int tier_list_folder(const struct tier_config *tier, tier_listed_fn fn,
                            void *arg, char *error, size_t size)
{
    char *paths[] = {tier->path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, list_by_name);
    int rc;

    if (fts == NULL) {
        snprintf(error, size, "%.600s: %s", tier->path, strerror(errno));
        return -1;
    }
    rc = walk_folder(tier, fts, fn, arg, error, size);
    fts_close(fts);
    return rc;
}

int tier_list(struct tiers *tiers, const struct tier_config *tier,
              tier_listed_fn fn, void *arg, char *error, size_t size)
{
    switch (tier->kind) {
    case TIER_S3:
    case TIER_GCS:
        return tier_list_s3(tiers, tier, fn, arg, error, size);
    case TIER_FILESYSTEM:
        return tier_list_folder(tier, fn, arg, error, size);
    default:
        snprintf(error, size, "a SymCache server has no list of its files");
        return -1;
    }
}
