/*
 * Copyright (C) the ngx_symcache authors
 *
 * A list of uploaded bundles of scripts, a SHA-1 in each line: what the index
 * of this machine has.  It is stored as a file at a URL is, until a bundle is
 * uploaded that belongs there.
 */
#include "uploads.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/task.h"
#include "symcached/index/index.h"
#include "lookup_steps.h"

/* The thread's own. */
struct list {
    struct lookup *lookup;
    char root[PATH_MAX];
    char name[SYMCACHE_HINT_MAX + 1];
    struct artifacts_found found;
};

static void run(void *arg)
{
    struct list *list = arg;

    artifacts_find(list->root, list->name, &list->found);
}

/* Returns 0, or -1 with errno. */
static int write_list(struct lookup *lookup, const struct list *list)
{
    char text[ARTIFACTS_FOUND * (ARTIFACTS_SUM + 1) + 1] = "";
    char *p = text;
    size_t i;

    for (i = 0; i < list->found.n; i++) {
        p = stpcpy(stpcpy(p, list->found.sums[i]), "\n");
    }
    if (lookup_open_part(lookup) != 0 || lookup_make_folder(lookup) != 0) {
        return -1;
    }
    if (write(lookup->part_fd, text, (size_t)(p - text)) != p - text) {
        errno = errno != 0 ? errno : EIO;
        return -1;
    }
    return rename(lookup->part, lookup->file);
}

static void done(void *arg, bool late)
{
    const struct list *list = arg;
    struct lookup *lookup = list->lookup;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    if (late) {
        lookup_attempt_here(lookup, SOURCE_FAILED,
                            "the index does not answer");
    } else if (list->found.n == 0) {
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                            "no bundle is in the index");
    } else if (write_list(lookup, list) != 0) {
        lookup_fail(lookup, "the list");
        return;
    } else {
        lookup->symcache->version = (symcache_version_t){1, 0, 0};
        lookup_attempt_here(lookup, SOURCE_FOUND, "made of the index");
    }
    lookup_end(lookup);
}

void uploads_list_begin(struct lookup *lookup)
{
    static const struct task_calls calls = {run, done, free};
    struct list *list;
    struct task *task;

    snprintf(lookup->place, sizeof(lookup->place),
             "%s/" ARTIFACTS_FOLDER "/%s", lookup->source->path,
             lookup->artifacts);
    if (lookup->artifacts[0] == '\0') {
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                            "the client does not say which list");
        lookup_end(lookup);
        return;
    }
    list = calloc(1, sizeof(*list));
    if (list == NULL) {
        lookup_fail(lookup, "the list");
        return;
    }
    list->lookup = lookup;
    snprintf(list->root, sizeof(list->root), "%s", lookup->source->path);
    snprintf(list->name, sizeof(list->name), "%s", lookup->artifacts);
    task = task_start(lookup->sources->base,
                      lookup->config->limits.first_byte_time, &calls, list);
    if (task == NULL) {
        lookup_fail(lookup, "the list");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_INDEX, task);
}
