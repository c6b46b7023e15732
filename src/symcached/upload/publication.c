/*
 * Copyright (C) the ngx_symcache authors
 */
#include "publication.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/task.h"
#include "base/workdir.h"
#include "config/config.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/tier/tier.h"
#include "write_ahead_log.h"

#define SECONDS 600
#define COMPLETION_SECONDS 10 /* the client waits, and all is done */
#define CHUNK 65536

/* Two uploads of one key must not both find that nothing is there. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct publication_running {
    struct publication *publication;
    void (*done)(void *arg, bool late);
    void *arg;
};

/* What remains to be done once the other machines have been told. */
struct completion {
    struct intent *intent;
    void (*done)(void *arg);
    void *arg;
    size_t n;
    struct {
        char *path; /* or NULL */
        char version[RETENTION_VERSION_SIZE];
    } files[];
};

void upload_file_path(char path[PATH_MAX], const struct symstore_path *place,
                      bool is_try)
{
    snprintf(path, PATH_MAX, "%s%s/%s/%s", is_try ? UPLOADS_TRY "/" : "",
             place->name, place->id, place->file);
}

bool upload_index_path(char path[PATH_MAX], const struct symstore_path *place,
                       bool is_try, size_t i)
{
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE];

    if (i >= upload_index_entries(entries, place)) {
        return false;
    }
    snprintf(path, PATH_MAX, "%s" UPLOADS_INDEX "/%s",
             is_try ? UPLOADS_TRY "/" : "", entries[i]);
    return true;
}

void publication_lock(void)
{
    pthread_mutex_lock(&mutex);
}

bool publication_try_lock(void)
{
    return pthread_mutex_trylock(&mutex) == 0;
}

void publication_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

struct publication *publication_new(const char *root)
{
    struct publication *publication = calloc(1, sizeof(*publication));

    if (publication != NULL && (publication->root = strdup(root)) == NULL) {
        free(publication);
        publication = NULL;
    }
    if (publication != NULL) {
        publication->disk = -1;
    }
    return publication;
}

void publication_free(struct publication *publication)
{
    size_t i;

    if (publication == NULL) {
        return;
    }
    for (i = 0; i < publication->nfiles; i++) {
        free(publication->files[i].tmp);
        free(publication->files[i].member);
    }
    write_ahead_log_leave(publication->intent);
    fd_close(publication->disk);
    free(publication->conflict);
    free(publication->user);
    free(publication->files);
    free(publication->root);
    free(publication);
}

struct publication *publication_take_over(struct publication *publication)
{
    struct publication *mine = publication_new(publication->root);

    if (mine != NULL) {
        mine->files = publication->files;
        mine->nfiles = publication->nfiles;
        mine->intent = publication->intent;
        mine->disk = publication->disk;
        publication->disk = -1;
        publication->files = NULL;
        publication->nfiles = 0;
        publication->intent = NULL;
    }
    return mine;
}

void publication_settled(struct publication *publication)
{
    write_ahead_log_settle(publication->intent);
    publication->intent = NULL;
}

struct upload_file *publication_add(struct publication *publication,
                                    const struct symstore_path *place,
                                    const char *tmp, const char *member)
{
    size_t n = publication->nfiles;
    struct upload_file *files = publication->files;

    if (n % 64 == 0) {
        files = realloc(files, (n + 64) * sizeof(files[0]));
        if (files == NULL) {
            return NULL;
        }
        publication->files = files;
    }
    memset(&files[n], 0, sizeof(files[n]));
    files[n].place = *place;
    files[n].tmp = strdup(tmp);
    files[n].member = strdup(member);
    publication->nfiles++;
    if (files[n].tmp == NULL || files[n].member == NULL) {
        return NULL;
    }
    return &files[n];
}

/* the thread ------------------------------------------------------------- */

static void publication_print_path(char path[PATH_MAX],
                                   const struct publication *publication,
                                   const struct upload_file *file)
{
    snprintf(path, PATH_MAX, "%.1024s/%s/%s/%s", publication->root,
             file->place.name, file->place.id, file->place.file);
}

static ssize_t publication_read_all(int fd, char *buf)
{
    ssize_t n;

    do {
        n = read(fd, buf, CHUNK);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Returns 1 if both files have the same bytes, 0, or -1 with errno. */
static int publication_compare_bytes(int a, int b)
{
    static char bufs[2][CHUNK]; /* under the mutex */
    struct stat st[2];
    ssize_t n, m;

    if (fstat(a, &st[0]) != 0 || fstat(b, &st[1]) != 0) {
        return -1;
    }
    if (st[0].st_size != st[1].st_size) {
        return 0;
    }
    do {
        n = publication_read_all(a, bufs[0]);
        m = publication_read_all(b, bufs[1]);
        if (n < 0 || m < 0) {
            return -1;
        }
        if (n != m || memcmp(bufs[0], bufs[1], (size_t)n) != 0) {
            return 0;
        }
    } while (n > 0);
    return 1;
}

/* Compares a file with that of a path.  Returns 1 if both have the same bytes,
 * 0, or -1 with errno. */
static int publication_compare_with(const struct upload_file *file,
                                    const char *path)
{
    int other = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int tmp = other < 0 ? -1 : open(file->tmp, O_RDONLY | O_CLOEXEC);
    int same = tmp < 0 ? -1 : publication_compare_bytes(other, tmp);

    fd_close(tmp);
    fd_close(other);
    return same;
}

/* The first reason is the one that is told. */
static int refuse_publication(struct publication *publication,
                              const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse_publication(struct publication *publication,
                              const char *format, ...)
{
    va_list args;
    int n = 0;

    if (publication->conflict == NULL) {
        va_start(args, format);
        n = vasprintf(&publication->conflict, format, args);
        va_end(args);
    }
    if (n < 0) {
        publication->conflict = NULL;
        return ENOMEM;
    }
    return 0;
}

/* Compares with the file that is already there.  Returns 0, or an errno. */
static int compare_published(struct publication *publication,
                             struct upload_file *file)
{
    char path[PATH_MAX];
    struct stat st;
    int same;

    publication_print_path(path, publication, file);
    same = publication_compare_with(file, path);
    if (same < 0) {
        file->fate = UPLOAD_NEW;
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    }
    file->fate = same ? UPLOAD_SAME : UPLOAD_REPLACED;
    if (stat(path, &st) == 0 &&
        time(NULL) - st.st_mtime < TIER_RECENT_SECONDS) {
        retention_print_version(file->version, &st);
        file->is_complete =
            (file->is_complete && !publication->compares) ||
            retention_is_complete(path, file->version);
        if (same && publication->compares) {
            /* the tier can be changed before others are told */
            retention_unset_complete(path);
        }
        file->is_recent = file->is_recent || !file->is_complete;
    }
    return same || publication->replace
               ? 0
               : refuse_publication(
                     publication, "%s/%s/%s is there with other content",
                     file->place.name, file->place.id, file->place.file);
}

static int publication_cmp_places(const struct symstore_path *a,
                                  const struct symstore_path *b)
{
    int diff = strcmp(a->name, b->name);

    diff = diff != 0 ? diff : strcmp(a->id, b->id);
    return diff != 0 ? diff : strcmp(a->file, b->file);
}

/* Files for the same place keep their order, so that a duplicate refers to an
 * earlier file, which already has its name. */
static int by_place(const void *a, const void *b)
{
    const struct upload_file *one = *(struct upload_file *const *)a;
    const struct upload_file *other = *(struct upload_file *const *)b;
    int diff = publication_cmp_places(&one->place, &other->place);

    return diff != 0 ? diff : one < other ? -1 : one > other;
}

/* Returns NULL when out of memory. */
static struct upload_file **
publication_sort_files(const struct publication *publication)
{
    struct upload_file **files =
        calloc(publication->nfiles + 1, sizeof(files[0]));
    size_t i;

    for (i = 0; files != NULL && i < publication->nfiles; i++) {
        files[i] = &publication->files[i];
    }
    if (files != NULL) {
        qsort(files, publication->nfiles, sizeof(files[0]), by_place);
    }
    return files;
}

bool publications_overlap(const struct publication *a,
                          const struct publication *b)
{
    struct upload_file **ones = publication_sort_files(a),
                       **others = publication_sort_files(b);
    bool found = ones == NULL || others == NULL;
    size_t i = 0, j = 0;
    int diff;

    while (!found && i < a->nfiles && j < b->nfiles) {
        diff = publication_cmp_places(&ones[i]->place, &others[j]->place);
        found = diff == 0;
        i += diff < 0;
        j += diff > 0;
    }
    free(ones);
    free(others);
    return found;
}

/* Finds files for one place.  Returns 0, or an errno. */
static int compare_publications(struct publication *publication)
{
    struct upload_file **files = publication_sort_files(publication);
    size_t i;
    int same, rc = 0;

    if (files == NULL) {
        return ENOMEM;
    }
    for (i = 1; i < publication->nfiles && rc == 0; i++) {
        if (publication_cmp_places(&files[i - 1]->place, &files[i]->place) !=
            0) {
            continue;
        }
        same = publication_compare_with(files[i], files[i - 1]->tmp);
        if (same < 0) {
            rc = errno;
        } else if (same == 0) {
            rc = refuse_publication(
                publication, "%s and %s are one file with different content",
                files[i - 1]->member, files[i]->member);
        }
        files[i]->fate = UPLOAD_SAME;
    }
    free(files);
    return rc;
}

/* Other machines can have the same root: where a file was not there and must
 * not be replaced, one that they have stored meanwhile stays. */
static int publication_move_file(const struct publication *publication,
                                 const struct upload_file *file,
                                 const char *path)
{
    if (file->fate == UPLOAD_NEW && !publication->replace) {
        if (link(file->tmp, path) == 0) {
            (void)unlink(file->tmp);
            return 0;
        }
        if (errno == EEXIST || errno == ENOENT) {
            return errno;
        }
    }
    /* or the file system has no links */
    return rename(file->tmp, path) == 0 ? 0 : errno;
}

/* Creates the folders again if a cleaner removes them meanwhile. */
static int publication_give_name(const struct publication *publication,
                                 const struct upload_file *file)
{
    char path[PATH_MAX];
    char *slash;
    int i, rc;

    publication_print_path(path, publication, file);
    for (i = 0; i < 3; i++) {
        rc = publication_move_file(publication, file, path);
        if (rc != ENOENT) {
            return rc;
        }
        slash = strrchr(path, '/');
        *slash = '\0';
        if (workdir_make_path(path) != 0) {
            return errno;
        }
        *slash = '/';
    }
    return ENOENT;
}

static int publication_sync_all(const struct publication *publication)
{
    return syncfs(publication->disk) == 0 ? 0 : errno;
}

/* Compares all files, before the first of them gets its name. */
static int publication_compare_all(struct publication *publication)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < publication->nfiles && rc == 0; i++) {
        rc = compare_published(publication, &publication->files[i]);
    }
    return rc != 0 ? rc : compare_publications(publication);
}

/* Enters all files into the list of their build, before the first one gets its
 * name: no file must be removable that no list has.  Returns 0, or an errno. */
static int publication_list_build(const struct publication *publication)
{
    char **paths = calloc(publication->nfiles + 1, sizeof(paths[0]));
    bool checks = false;
    size_t i, n = 0;
    int rc = paths != NULL ? 0 : ENOMEM;

    for (i = 0; i < publication->nfiles && rc == 0; i++, n++) {
        const struct symstore_path *place = &publication->files[i].place;

        checks = checks || publication->files[i].fate != UPLOAD_NEW;
        if (asprintf(&paths[i], "%s/%s/%s", place->name, place->id,
                     place->file) < 0) {
            paths[i] = NULL;
            rc = ENOMEM;
        }
    }
    if (rc == 0) {
        rc = build_list_add(publication->root, &publication->labels, paths, n,
                            checks);
    }
    while (n > 0) {
        free(paths[--n]);
    }
    free(paths);
    return rc;
}

/* Gives a new file its name, or notes of one that is there that it was sent
 * again.  Returns 0, or an errno. */
static int publish_file(const struct publication *publication,
                        struct upload_file *file)
{
    bool is_new = file->fate != UPLOAD_SAME;
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (is_new) {
        snprintf(path, sizeof(path), "%s", file->tmp);
    } else {
        publication_print_path(path, publication, file);
    }
    rc = retention_set_labelled(path, is_new,
                                publication->labels.build[0] != '\0');
    if (rc != 0) {
        return rc;
    }
    if (is_new) {
        retention_set_user(path, publication->user);
        rc = retention_set_expires(path, publication->expires);
        if (rc == 0 && stat(path, &st) == 0) {
            retention_print_version(file->version, &st);
        }
        return rc != 0 ? rc : publication_give_name(publication, file);
    }
    /* as good as new: it counts as used, and may live longer */
    rc = publication->shortens
             ? retention_set_expires(path, publication->expires)
             : retention_extend(path, publication->expires);
    retention_touch(path);
    return rc;
}

static int publish_files(struct publication *publication)
{
    size_t i;
    int rc = publication_compare_all(publication);

    if (rc != 0 || publication->conflict != NULL || publication->compares) {
        return rc;
    }
    if (publication->labels.build[0] != '\0') {
        rc = publication_list_build(publication);
    }
    for (i = 0; i < publication->nfiles && rc == 0; i++) {
        rc = publish_file(publication, &publication->files[i]);
        if (rc == 0 && publication->index_errnum == 0) {
            publication->index_errnum = upload_index_change(
                publication->root, &publication->files[i].place, true);
        }
    }
    return rc;
}

static void run_publication(void *arg)
{
    struct publication *publication =
        ((struct publication_running *)arg)->publication;

    /* one call for a thousand files; what else waits to be written goes along,
     * but a call for each file and folder takes many times as long */
    if (workdir_make_path(publication->root) != 0) {
        publication->errnum = errno;
        return;
    }
    if (publication->intent == NULL) {
        publication->errnum = write_ahead_log_write(
            &publication->intent, publication->root, false, publication->files,
            publication->nfiles);
    }
    if (publication->errnum == 0 && !publication->compares) {
        publication->errnum = publication_sync_all(publication);
    }
    if (publication->errnum != 0) {
        return;
    }
    pthread_mutex_lock(&mutex);
    publication->errnum = publish_files(publication);
    pthread_mutex_unlock(&mutex);
    if (publication->errnum == 0 && !publication->compares) {
        publication->errnum = publication_sync_all(publication);
    }
}

static void publication_on_done(void *arg, bool late)
{
    struct publication_running *running = arg;

    running->done(running->arg, late);
}

static void publication_on_drop(void *arg)
{
    struct publication_running *running = arg;

    publication_free(running->publication);
    free(running);
}

static void run_completion(void *arg)
{
    struct completion *completion = arg;
    size_t i;

    for (i = 0; i < completion->n; i++) {
        if (completion->files[i].path != NULL) {
            retention_set_complete(completion->files[i].path,
                                   completion->files[i].version);
        }
    }
    write_ahead_log_drop(completion->intent);
    completion->intent = NULL;
}

static void on_completed(void *arg, bool late)
{
    const struct completion *completion = arg;

    completion->done(completion->arg);
}

static void drop_completion(void *arg)
{
    struct completion *completion = arg;

    while (completion->n > 0) {
        free(completion->files[--completion->n].path);
    }
    write_ahead_log_leave(completion->intent);
    free(completion);
}

struct task *publication_complete(struct event_base *base,
                                  struct publication *publication,
                                  bool all_know, void (*done)(void *arg),
                                  void *arg)
{
    static const struct task_calls calls = {run_completion, on_completed,
                                            drop_completion};
    size_t n = all_know ? publication->nfiles : 0, i;
    struct completion *completion =
        calloc(1, sizeof(*completion) + n * sizeof(completion->files[0]));
    const struct upload_file *file;
    char path[PATH_MAX];

    if (completion == NULL) {
        return NULL;
    }
    for (i = 0; i < n; i++) {
        file = &publication->files[i];
        if (file->version[0] != '\0') {
            publication_print_path(path, publication, file);
            completion->files[i].path = strdup(path);
            memcpy(completion->files[i].version, file->version,
                   sizeof(file->version));
        }
    }
    completion->n = n;
    completion->intent = publication->intent;
    publication->intent = NULL;
    completion->done = done;
    completion->arg = arg;
    return task_start(base, COMPLETION_SECONDS, &calls, completion);
}

struct task *publication_start(struct event_base *base,
                               struct publication *publication,
                               void (*done)(void *arg, bool late), void *arg)
{
    static const struct task_calls calls = {
        run_publication, publication_on_done, publication_on_drop};
    struct publication_running *running = calloc(1, sizeof(*running));

    if (running == NULL) {
        publication_free(publication);
        return NULL;
    }
    running->publication = publication;
    running->done = done;
    running->arg = arg;
    return task_start(base, SECONDS, &calls, running);
}
