/*
 * Copyright (C) the ngx_symcache authors
 *
 * An index of bundles of scripts and source maps (artifacts) by debug id and
 * by release.  A bundle is an upload under its SHA-1, and is found by empty
 * files next to the uploads:
 *
 *   <root>/.artifacts/<debug id>/<SHA-1>
 *   <root>/.artifacts/release-<SHA-256 of release, NUL and dist>/<SHA-1>
 *
 * They are of this machine alone.  One whose bundle is gone is ignored.
 */
#ifndef SYMCACHED_INDEX_ARTIFACTS_H
#define SYMCACHED_INDEX_ARTIFACTS_H

#include <stddef.h>
#include "config/config.h"

/* The file of a bundle, in the folder _/hash-<SHA-1>. */
#define ARTIFACTS_FILE SYMCACHE_NAME_NONE UPLOADS_BUNDLE_END

#define ARTIFACTS_FOLDER ".artifacts" /* below the root of uploads */
#define ARTIFACTS_SUM 40              /* hex digits */
#define ARTIFACTS_FOUND 20            /* bundles, the newest ones */

struct artifacts_found {
    char sums[ARTIFACTS_FOUND][ARTIFACTS_SUM + 1]; /* the newest first */
    size_t n;
};

/*
 * Notes a bundle of these debug ids, a line each, and of a release; these may
 * be NULL.  Takes its time, for a thread.  Returns 0, or an errno.
 */
int artifacts_note(const char *root, const char *sum, const char *debug_ids,
                   const char *release, const char *dist);

/* Removes the files that lead to bundles that are gone.  Can run in a
 * thread. */
void artifacts_clean(const char *root);

/* The bundles of a list (base/artifact_list.h). */
void artifacts_find(const char *root, const char *list,
                    struct artifacts_found *found);

/* The bundles that have a debug id, 8-4-4-4-12 hex digits in any case. */
void artifacts_by_debug_id(const char *root, const char *debug_id,
                           struct artifacts_found *found);

/* Those of a release; dist may be NULL. */
void artifacts_by_release(const char *root, const char *release,
                          const char *dist, struct artifacts_found *found);

#endif
