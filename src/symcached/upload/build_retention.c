/*
 * Copyright (C) the ngx_symcache authors
 */
#include "build_retention.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/build_list.h"
#include "base/hash_table.h"
#include "base/log.h"
#include "config/config.h"
#include "publication.h"

struct build_file {
    const char *path; /* in a text of a list */
    enum build_fate fate;
};

struct builds {
    char *root;
    time_t begun; /* before the lists were read */
    struct build_lists lists;
    enum build_fate *fates; /* of each build */
    char **texts;            /* of each list */
    struct build_file *files;
    size_t nfiles, capacity;
    struct table by_path; /* to 1 + index in files */
};

/* the rules ---------------------------------------------------------------- */

static const struct uploads_keep *
find_rule(const struct uploads_config *config,
          const struct build_labels *labels)
{
    size_t i = 0;

    while (i < config->nkeep &&
           !build_pattern_matches(&config->keep[i].pattern, labels)) {
        i++;
    }
    return i < config->nkeep ? &config->keep[i] : NULL;
}

static bool is_same_branch(const struct build *a, const struct build *b)
{
    return strcmp(a->labels.product, b->labels.product) == 0 &&
           strcmp(a->labels.branch, b->labels.branch) == 0;
}

/* Builds of one branch follow each other, the newest first. */
static void judge_builds(struct builds *builds,
                         const struct uploads_config *config, time_t now)
{
    const struct build *build = builds->lists.builds;
    const struct uploads_keep *rule;
    size_t i, rank = 0;

    for (i = 0; i < builds->lists.n; i++, build++) {
        rank = i > 0 && is_same_branch(build - 1, build) ? rank + 1 : 0;
        rule = find_rule(config, &build->labels);
        if (rule == NULL) {
            builds->fates[i] = BUILD_OPEN;
        } else if ((rule->builds > 0 && rank >= rule->builds) ||
                   (rule->max_age > 0 && build->last < now &&
                    now - build->last > (time_t)rule->max_age)) {
            builds->fates[i] = BUILD_DROPPED;
        } else {
            builds->fates[i] = BUILD_KEPT;
        }
    }
}

/* the files --------------------------------------------------------------- */

static struct build_file *find_build_file(const struct builds *builds,
                                          const char *path)
{
    uint64_t hash = table_hash_text(&builds->by_path, path);
    uintptr_t value;
    size_t at = 0;

    while ((value = table_next(&builds->by_path, hash, &at)) != 0) {
        if (strcmp(builds->files[value - 1].path, path) == 0) {
            return &builds->files[value - 1];
        }
    }
    return NULL;
}

/* Returns 0, or an errno. */
static int add_build_file(struct builds *builds, const char *path,
                          enum build_fate fate)
{
    struct build_file *file = find_build_file(builds, path), *files;

    if (file != NULL) {
        file->fate = fate > file->fate ? fate : file->fate;
        return 0;
    }
    if (builds->nfiles == builds->capacity) {
        builds->capacity += builds->capacity / 2 + 1024;
        files = realloc(builds->files, builds->capacity * sizeof(files[0]));
        if (files == NULL) {
            return ENOMEM;
        }
        builds->files = files;
    }
    builds->files[builds->nfiles++] = (struct build_file){path, fate};
    return table_add(&builds->by_path, table_hash_text(&builds->by_path, path),
                     builds->nfiles) == 0
               ? 0
               : ENOMEM;
}

static int retention_read_builds(struct builds *builds, size_t i)
{
    const char *path;
    size_t size = 0, at = 0;
    int rc = 0;

    builds->texts[i] = build_list_read(builds->root,
                                       &builds->lists.builds[i].labels, &size);
    if (builds->texts[i] == NULL) {
        return errno == ENOENT ? 0 : errno; /* an operator has removed it */
    }
    while (rc == 0 &&
           (path = build_list_next(builds->texts[i], size, &at)) != NULL) {
        rc = add_build_file(builds, path, builds->fates[i]);
    }
    return rc;
}

static int read_all_builds(struct builds *builds,
                           const struct uploads_config *config, time_t now)
{
    int rc = build_lists_read(builds->root, &builds->lists);
    size_t i;

    if (rc != 0) {
        return rc;
    }
    builds->fates = calloc(builds->lists.n + 1, sizeof(builds->fates[0]));
    builds->texts = calloc(builds->lists.n + 1, sizeof(builds->texts[0]));
    if (builds->fates == NULL || builds->texts == NULL) {
        return ENOMEM;
    }
    judge_builds(builds, config, now);
    for (i = 0; i < builds->lists.n && rc == 0; i++) {
        rc = retention_read_builds(builds, i);
    }
    return rc;
}

struct builds *builds_read(const char *root,
                           const struct uploads_config *config, time_t now)
{
    struct builds *builds = calloc(1, sizeof(*builds));
    int rc;

    if (builds == NULL) {
        return NULL;
    }
    builds->root = strdup(root);
    builds->begun = now;
    rc = builds->root != NULL ? read_all_builds(builds, config, now) : ENOMEM;
    if (rc != 0) {
        builds_free(builds);
        errno = rc;
        return NULL;
    }
    return builds;
}

void builds_free(struct builds *builds)
{
    size_t i;

    if (builds == NULL) {
        return;
    }
    for (i = 0; builds->texts != NULL && i < builds->lists.n; i++) {
        free(builds->texts[i]);
    }
    table_free(&builds->by_path);
    build_lists_clear(&builds->lists);
    free(builds->files);
    free(builds->texts);
    free(builds->fates);
    free(builds->root);
    free(builds);
}

void builds_count(const struct builds *builds, size_t *kept, size_t *open)
{
    size_t i;

    for (i = 0; i < builds->lists.n; i++) {
        *kept += builds->fates[i] == BUILD_KEPT;
        *open += builds->fates[i] == BUILD_OPEN;
    }
}

enum build_fate builds_judge(const struct builds *builds, const char *path)
{
    const struct build_file *file = find_build_file(builds, path);

    return file != NULL ? file->fate : BUILD_NONE;
}

/* Removes the list of a build, unless it has changed since it was read: times
 * of lists are in seconds.  Returns false if it stays. */
static bool remove_build_list(const struct builds *builds,
                              const struct build *build)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = 1;

    if (!publication_try_lock()) {
        return false; /* the next pass tries again */
    }
    build_list_path(path, builds->root, &build->labels);
    if (build->last < builds->begun && stat(path, &st) == 0 &&
        st.st_mtime == build->last) {
        rc = build_list_remove(builds->root, &build->labels);
    }
    if (rc < 0) {
        log_warn(errno, "\"%s\" cannot be removed", path);
    }
    publication_unlock();
    return rc == 0;
}

size_t builds_remove(const struct builds *builds)
{
    const struct build *build = builds->lists.builds;
    size_t i, n = 0;

    for (i = 0; i < builds->lists.n; i++, build++) {
        if (builds->fates[i] == BUILD_DROPPED &&
            remove_build_list(builds, build)) {
            log_info(0, "clean uploads product=%s branch=%s build=%s removed",
                     build->labels.product, build->labels.branch,
                     build->labels.build);
            n++;
        }
    }
    return n;
}
