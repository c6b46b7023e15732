/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which builds of uploads are kept (base/build_list.h), and so which of their
 * files.  A file is removed with the last build that has it, and only if it was
 * never uploaded without labels.
 */
#pragma once

#include <stddef.h>
#include <time.h>

struct builds;
struct uploads_config;

enum build_fate {
    BUILD_NONE,    /* nothing is said about the file */
    BUILD_DROPPED, /* it is in lists, each of a build that is kept no longer */
    BUILD_OPEN,    /* it is of a build that no rule names */
    BUILD_KEPT     /* it is of a build that a rule keeps */
};

/*
 * Reads the lists below a root and judges them by the rules "keep" of the
 * configuration.  This takes long, and memory for all lists.  Returns NULL with
 * errno: nothing can be told, so nothing may be removed.
 */
struct builds *builds_read(const char *root,
                           const struct uploads_config *config, time_t now);
void builds_free(struct builds *builds); /* NULL is allowed */

/* Adds the builds that a rule keeps, and those that no rule names. */
void builds_count(const struct builds *builds, size_t *kept, size_t *open);

/* What becomes of a file, by its path below the root. */
enum build_fate builds_judge(const struct builds *builds, const char *path);

/* Their files are gone: removes their lists, unless something has been uploaded
 * to one since.  Logs them, and returns how many there were. */
size_t builds_remove(const struct builds *builds);
