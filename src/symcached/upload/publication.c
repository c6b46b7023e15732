/*
 * Copyright (C) the ngx_symcache authors
 */
#include "publication.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include "base/task.h"
#include "base/workdir.h"
#include "retention.h"

#define SECONDS 600
#define CHUNK 65536

/* Two uploads of one key must not both find that nothing is there. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct running {
    struct publication *publication;
    void (*done)(void *arg, bool late);
    void *arg;
};

struct publication *publication_new(const char *root)
{
    struct publication *publication = calloc(1, sizeof(*publication));

    if (publication != NULL && (publication->root = strdup(root)) == NULL) {
        free(publication);
        publication = NULL;
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
    }
    free(publication->files);
    free(publication->root);
    free(publication);
}

struct upload_file *publication_add(struct publication *publication,
                                    const struct debug_place *place,
                                    const char *tmp)
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
    if (files[n].tmp == NULL) {
        return NULL;
    }
    publication->nfiles++;
    return &files[n];
}

/* the thread ------------------------------------------------------------- */

static void print_path(char path[PATH_MAX], const struct publication *p,
                       const struct upload_file *file)
{
    snprintf(path, PATH_MAX, "%.1024s/%s/%s/%s", p->root, file->place.name,
             file->place.id, file->place.file);
}

static ssize_t read_all(int fd, char *buf)
{
    ssize_t n;

    do {
        n = read(fd, buf, CHUNK);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Returns 1 if both files have the same bytes, 0, or -1 with errno. */
static int compare_bytes(int a, int b)
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
        n = read_all(a, bufs[0]);
        m = read_all(b, bufs[1]);
        if (n < 0 || m < 0) {
            return -1;
        }
        if (n != m || memcmp(bufs[0], bufs[1], (size_t)n) != 0) {
            return 0;
        }
    } while (n > 0);
    return 1;
}

/* Looks at what is there already.  Returns 0, or an errno. */
static int compare(const struct publication *p, struct upload_file *file)
{
    char path[PATH_MAX];
    int there, tmp, same;

    print_path(path, p, file);
    there = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (there < 0) {
        file->fate = UPLOAD_NEW;
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    }
    tmp = open(file->tmp, O_RDONLY | O_CLOEXEC);
    same = tmp < 0 ? -1 : compare_bytes(there, tmp);
    if (same < 0) {
        same = -errno;
    } else {
        file->fate = same      ? UPLOAD_SAME
                     : p->replace ? UPLOAD_REPLACED
                                  : UPLOAD_OTHER;
        same = 0;
    }
    close(there);
    if (tmp >= 0) {
        close(tmp);
    }
    return -same;
}

/* The folders may be removed while they are made, by who cleans. */
static int give_name(const struct publication *p,
                     const struct upload_file *file)
{
    char path[PATH_MAX];
    char *slash;
    int i;

    print_path(path, p, file);
    for (i = 0; i < 3; i++) {
        if (rename(file->tmp, path) == 0) {
            return 0;
        }
        if (errno != ENOENT) {
            return errno;
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

static int sync_all(const struct publication *p)
{
    int fd = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || syncfs(fd) != 0 ? errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

/* Compares all files, before the first of them gets its name. */
static int compare_all(struct publication *p)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < p->nfiles && rc == 0; i++) {
        rc = compare(p, &p->files[i]);
        if (rc == 0 && p->files[i].fate == UPLOAD_OTHER &&
            p->other == p->nfiles) {
            p->other = i;
        }
    }
    return rc;
}

static int publish(struct publication *p)
{
    size_t i;
    int rc = compare_all(p);

    if (rc != 0 || p->other < p->nfiles) {
        return rc;
    }
    for (i = 0; i < p->nfiles && rc == 0; i++) {
        if (p->files[i].fate == UPLOAD_SAME) {
            /* as good as new: it counts as used, and may live longer */
            char path[PATH_MAX];

            print_path(path, p, &p->files[i]);
            rc = retention_set_expires(path, p->expires);
            (void)retention_touch(path);
        } else {
            rc = retention_set_expires(p->files[i].tmp, p->expires);
            rc = rc != 0 ? rc : give_name(p, &p->files[i]);
        }
    }
    return rc;
}

static void run(void *arg)
{
    struct publication *p = ((struct running *)arg)->publication;

    /* one call for a thousand files; what else waits to be written goes along,
     * but a call for each file and folder takes many times as long */
    if (workdir_make_path(p->root) != 0) {
        p->errnum = errno;
        return;
    }
    p->errnum = sync_all(p);
    if (p->errnum != 0) {
        return;
    }
    pthread_mutex_lock(&mutex);
    p->errnum = publish(p);
    pthread_mutex_unlock(&mutex);
    if (p->errnum == 0) {
        p->errnum = sync_all(p);
    }
}

static void on_done(void *arg, bool late)
{
    struct running *running = arg;

    running->done(running->arg, late);
}

static void on_drop(void *arg)
{
    struct running *running = arg;

    publication_free(running->publication);
    free(running);
}

struct task *publication_start(struct event_base *base,
                               struct publication *publication,
                               void (*done)(void *arg, bool late), void *arg)
{
    static const struct task_calls calls = {run, on_done, on_drop};
    struct running *running = calloc(1, sizeof(*running));

    if (running == NULL) {
        publication_free(publication);
        return NULL;
    }
    running->publication = publication;
    running->done = done;
    running->arg = arg;
    publication->other = publication->nfiles;
    return task_start(base, SECONDS, &calls, running);
}
