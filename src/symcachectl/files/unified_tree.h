/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes a folder of Symbolicator's layout "unified", as symsorter
 * (getsentry/symbolicator, crates/symsorter) does:
 *
 *   <2 digits>/<rest of the id>/debuginfo, executable, sourcebundle
 *   <2 digits>/<rest of the id>/TYPE.meta     {"name", "arch", "file_format"}
 *   <2 digits>/<rest of the id>/refs/<bundle id>   empty
 *   bundles/<bundle id>            {"name", "timestamp", "debug_ids"}
 */
#pragma once

#include <stdbool.h>

#include "debuginfo/identity/identity.h"

struct unified_tree;

/*
 * Begins at a folder, which is made if need be.  level is that of zstd, or 0:
 * files stay as they are; bundle_id may be NULL.  Returns NULL with errno.
 */
struct unified_tree *unified_tree_new(const char *root, int level,
                                      const char *bundle_id);

/* May it be the name of a bundle? */
bool unified_tree_is_bundle_id(const char *text);

/* What became of a file. */
enum unified_put {
    UNIFIED_WRITTEN,
    UNIFIED_REPLACED, /* in the place of a worse one of this tree */
    UNIFIED_KNOWN, /* an earlier one of this tree has at least as much */
    UNIFIED_FAILED /* with errno */
};

/*
 * Adds an open file under its path; name is that of the file.  Of several
 * files with one path, one with debug information wins, then the larger one,
 * then the first.  With is_made, it was made here of another one, and one that
 * is given wins.
 */
enum unified_put unified_tree_put(struct unified_tree *tree, int fd,
                                  const char *name, bool is_made,
                                  const struct unified_path *path);

/* Has it a file of this type and id? */
bool unified_tree_has(const struct unified_tree *tree, const char *id,
                      enum unified_type type);

/* Writes what describes modules and the bundle, and frees the tree.  The time
 * of a bundle is SOURCE_DATE_EPOCH, or 1970: equal files make equal trees.
 * Returns 0, or -1 with errno. */
int unified_tree_close(struct unified_tree *tree);
