/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl uploads, by labels: which builds there are, their files, and
 * their removal.
 */
#pragma once

#include <stdbool.h>
#include "base/build_list.h"
#include "symcachectl/settings.h"

/* Each of these works below root, on the builds that a pattern matches, and
 * returns an exit code. */

/* Lists the builds: labels, files, bytes, time of the last upload. */
int upload_builds_show(const char *root, const struct build_pattern *pattern,
                       bool is_json);

/* Calls print for each file that they have, and that is there, once. */
int upload_builds_files(const char *root, const struct build_pattern *pattern,
                        void (*print)(void *arg, const char *path), void *arg);

/*
 * Removes the builds, and by calls of remove those of their files that no other
 * build has, that were never uploaded without labels, and that are not pinned.
 * remove returns an exit code; a build with a file that could not be removed
 * keeps its list.
 */
int upload_builds_forget(const struct settings *settings, const char *root,
                         const struct build_pattern *pattern,
                         int (*remove)(const struct settings *settings,
                                       char *path));
