/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl uploads, of bundles of scripts: which releases and debug ids one
 * has, and removal of those of a release.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include "symcachectl/settings.h"

/* The entries of all lists below a root, by bundle. */
struct bundle_entries {
    struct bundle_entry *all;
    size_t n, room;
};

/* Returns an exit code; there may be no lists. */
int bundle_entries_read(const char *root, struct bundle_entries *entries);
void bundle_entries_clear(struct bundle_entries *entries);

/* Of these, path is that of an upload below the root; there are none unless it
 * is one of a bundle. */

/* Is it of a release that the pattern matches, with "*" and "?"? */
bool bundle_has_release(const struct bundle_entries *entries, const char *path,
                        const char *pattern);

/* Prints its releases, and how many debug ids it has. */
void bundle_print(const struct bundle_entries *entries, const char *path);

/* Adds the same to an object, with the debug ids. */
void bundle_add(cJSON *object, const struct bundle_entries *entries,
                const char *path);

/* Says what has become of a bundle, whose it is; object is of the answer. */
void bundle_tell(const struct settings *settings,
                 const struct bundle_entries *entries, const char *path,
                 cJSON *object, const char *what);

typedef int (*bundle_remove_fn)(const struct settings *settings,
                                const struct bundle_entries *entries,
                                const char *path);

/* Says of a file that was to be removed why it stays. */
void bundle_tell_kept(const struct settings *settings,
                      const struct bundle_entries *entries, const char *path,
                      const char *why);

/* Calls remove for each bundle that has a release which the pattern matches,
 * and no other one, that no build has, and that is not pinned; says of the
 * others that they are kept.  Returns an exit code. */
int bundles_forget(const struct settings *settings, const char *root,
                   const char *pattern, bundle_remove_fn remove);
