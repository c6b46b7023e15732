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
 * The folder of a release also has its name (ARTIFACTS_RELEASE).
 * They are of this machine alone.  One whose bundle is gone is ignored.  In a
 * tier of uploads the last part of the path has the time in front, so that the
 * newest entries of a list are the first ones by their names:
 *
 *   <tier>/uploads/.artifacts/<list>/<16 digits>-<SHA-1>
 *
 * The digits are 9999999999999999 less the microseconds since 1970.
 * An entry stays when its bundle has gone; it is then passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include "base/artifact_list.h"
#include "config/config.h"

/* The file of a bundle, in the folder _/hash-<SHA-1>. */
#define ARTIFACTS_FILE SYMCACHE_NAME_NONE UPLOADS_BUNDLE_END

#define ARTIFACTS_FOUND 20 /* bundles, the newest ones */

struct artifacts_found {
    char sums[ARTIFACTS_FOUND][ARTIFACTS_SUM + 1]; /* the newest first */
    struct timespec noted[ARTIFACTS_FOUND];        /* when each was */
    size_t n;
};

/* Notes a bundle in these lists (base/artifact_list.h), a line each.  Takes
 * its time, for a thread.  Returns 0, or an errno. */
int artifacts_note(const char *root, const char *sum, const char *lists);

/* Writes the name of a release into the folder of its list; dist may be NULL.
 * For a thread.  Returns 0, or an errno. */
int artifacts_name_release(const char *root, const char *release,
                           const char *dist);

/* Writes the name of an entry in the tier. */
void artifacts_print_shared(char *name, size_t size,
                            const struct timespec *noted, const char *sum);

/* Adds what such a name says to what was found, in its place.  Returns false
 * if it is none. */
bool artifacts_take_shared(struct artifacts_found *found, const char *name);

/* Removes the files that lead to bundles that are gone.  Can run in a
 * thread. */
void artifacts_clean(const char *root);

/* The bundles of a list (base/artifact_list.h).  Returns 0, or an errno: then
 * it is not known what is there. */
int artifacts_find(const char *root, const char *list,
                   struct artifacts_found *found);

/* The bundles that have a debug id, 8-4-4-4-12 hex digits in any case.  Returns
 * as artifacts_find() does. */
int artifacts_by_debug_id(const char *root, const char *debug_id,
                          struct artifacts_found *found);

/* Those of a release; dist may be NULL. */
int artifacts_by_release(const char *root, const char *release,
                         const char *dist, struct artifacts_found *found);
