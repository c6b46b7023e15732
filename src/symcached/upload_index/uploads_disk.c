/*
 * Copyright (C) the ngx_symcache authors
 */
#include "uploads_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "upload_index.h"

#define DISK_MS 3000

/* A call of the loop, and a copy of its data. */
struct uploads_disk_call {
    LIST_ENTRY(uploads_disk_call) entry; /* of late calls */
    void (*run)(void *data);
    void (*drop)(void *data); /* or NULL */
    bool late;
    char disk[PATH_MAX]; /* of a late one */
    max_align_t data[];
};

/* Those that have not come back: one of each disk. */
static LIST_HEAD(, uploads_disk_call) late_calls =
    LIST_HEAD_INITIALIZER(late_calls);
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;

static void run_disk_call(void *arg)
{
    struct uploads_disk_call *call = arg;

    call->run(call->data);
}

static void drop_disk_call(void *arg)
{
    struct uploads_disk_call *call = arg;

    if (call->drop != NULL) {
        call->drop(call->data);
    }
    if (call->late) {
        log_info(0, "the disk of \"%s\" answers again", call->disk);
        pthread_mutex_lock(&late_lock);
        LIST_REMOVE(call, entry);
        pthread_mutex_unlock(&late_lock);
    }
    free(call);
}

/* Folders of try builds lie on the same disk. */
static void print_disk(char disk[PATH_MAX], const char *root)
{
    char *end;

    snprintf(disk, PATH_MAX, "%s", root);
    end = strrchr(disk, '/');
    if (end != NULL && strcmp(end + 1, UPLOADS_TRY) == 0) {
        *end = '\0';
    }
}

bool uploads_disk_hangs(const char *root)
{
    const struct uploads_disk_call *call;
    char disk[PATH_MAX];

    print_disk(disk, root);
    pthread_mutex_lock(&late_lock);
    LIST_FOREACH(call, &late_calls, entry) {
        if (strcmp(disk, call->disk) == 0) {
            break;
        }
    }
    pthread_mutex_unlock(&late_lock);
    return call != NULL;
}

static int wait_for_disk(const char *root, struct uploads_disk_call *call,
                         void *data, size_t size)
{
    static const struct task_calls calls = {run_disk_call, NULL,
                                            drop_disk_call};
    bool late;
    struct task *task = task_wait(DISK_MS, &calls, call, &late);

    if (task == NULL) {
        return errno;
    }
    if (late) {
        call->late = true; /* run does not look at it */
        print_disk(call->disk, root);
        pthread_mutex_lock(&late_lock);
        LIST_INSERT_HEAD(&late_calls, call, entry);
        pthread_mutex_unlock(&late_lock);
        log_error(0, "the disk of \"%s\" does not answer: what needs it is "
                     "refused until it does", call->disk);
    } else {
        memcpy(data, call->data, size);
        call->drop = NULL;
    }
    task_cancel(task);
    return late ? ETIMEDOUT : 0;
}

int uploads_disk_call(const char *root, void (*run)(void *data),
                      void (*drop)(void *data), void *data, size_t size)
{
    struct uploads_disk_call *call = NULL;
    int rc = ETIMEDOUT;

    if (!uploads_disk_hangs(root)) {
        call = malloc(sizeof(*call) + size);
        rc = ENOMEM;
    }
    if (call == NULL) {
        if (drop != NULL) {
            drop(data);
        }
        return rc;
    }
    call->run = run;
    call->drop = drop;
    call->late = false;
    memcpy(call->data, data, size);
    return wait_for_disk(root, call, data, size);
}

/* the mark ----------------------------------------------------------------- */

struct uploads_disk_check {
    struct config *config; /* reference */
    int errnum;
};

static void run_check(void *data)
{
    struct uploads_disk_check *check = data;

    check->errnum = root_mark_check(check->config);
}

static void drop_check(void *data)
{
    config_unref(((struct uploads_disk_check *)data)->config);
}

int uploads_disk_check(const struct config *config)
{
    struct uploads_disk_check check = {
        .config = config_ref((struct config *)config)};
    int rc = uploads_disk_call(config->uploads.root, run_check, drop_check,
                               &check, sizeof(check));

    if (rc == 0) {
        drop_check(&check);
        rc = check.errnum;
    }
    return rc;
}

/* the index ---------------------------------------------------------------- */

struct uploads_disk_find {
    char root[PATH_MAX];
    char folder[SYMSTORE_ID_SIZE];
    struct upload_index_names names;
    int errnum;
};

static void run_find(void *data)
{
    struct uploads_disk_find *find = data;

    find->errnum = upload_index_find(find->root, find->folder, &find->names);
}

int uploads_disk_find(const char *root, const char *folder,
                      struct upload_index_names *names)
{
    struct uploads_disk_find find = {.names = *names};
    int rc;

    snprintf(find.root, sizeof(find.root), "%s", root);
    snprintf(find.folder, sizeof(find.folder), "%s", folder);
    rc = uploads_disk_call(root, run_find, NULL, &find, sizeof(find));
    if (rc == 0) {
        *names = find.names;
        rc = find.errnum;
    }
    return rc;
}

struct uploads_disk_note {
    char root[PATH_MAX];
    symcache_key_t key;
    symcache_key_t user;
    int errnum;
};

static void run_note_asked(void *data)
{
    struct uploads_disk_note *note = data;

    note->errnum = upload_index_note_asked(note->root, &note->key);
}

int uploads_disk_note_asked(const char *root, const symcache_key_t *key)
{
    struct uploads_disk_note note = {.errnum = 0};
    int rc;

    snprintf(note.root, sizeof(note.root), "%s", root);
    symcache_key_copy(&note.key, key);
    rc = uploads_disk_call(root, run_note_asked, NULL, &note, sizeof(note));
    return rc != 0 ? rc : note.errnum;
}

static void run_note_user(void *data)
{
    const struct uploads_disk_note *note = data;

    upload_index_note_user(note->root, &note->key, &note->user);
}

void uploads_disk_note_user(const char *root, const symcache_key_t *key,
                            const symcache_key_t *user)
{
    struct uploads_disk_note note = {.errnum = 0};

    snprintf(note.root, sizeof(note.root), "%s", root);
    symcache_key_copy(&note.key, key);
    symcache_key_copy(&note.user, user);
    (void)uploads_disk_call(root, run_note_user, NULL, &note, sizeof(note));
}

struct uploads_disk_change {
    char root[PATH_MAX];
    struct symstore_path place;
    bool is_there;
    int errnum;
};

static void run_change(void *data)
{
    struct uploads_disk_change *change = data;

    change->errnum =
        upload_index_change(change->root, &change->place, change->is_there);
}

static void run_touch(void *data)
{
    struct uploads_disk_change *change = data;

    change->errnum = upload_index_touch(change->root, &change->place);
}

static int call_for_change(const char *root, const struct symstore_path *place,
                           bool is_there, void (*run)(void *data))
{
    struct uploads_disk_change change = {.place = *place,
                                         .is_there = is_there};
    int rc;

    snprintf(change.root, sizeof(change.root), "%s", root);
    rc = uploads_disk_call(root, run, NULL, &change, sizeof(change));
    return rc != 0 ? rc : change.errnum;
}

int uploads_disk_change(const char *root, const struct symstore_path *place,
                        bool is_there)
{
    return call_for_change(root, place, is_there, run_change);
}

int uploads_disk_touch(const char *root, const struct symstore_path *place)
{
    return call_for_change(root, place, false, run_touch);
}

/* files -------------------------------------------------------------------- */

struct uploads_disk_file {
    char path[PATH_MAX];
    struct stat st;
    int rc; /* the descriptor of a file that was opened; or 0, or -1 */
    int errnum;
};

static void run_open(void *data)
{
    struct uploads_disk_file *file = data;

    file->rc =
        open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file->rc >= 0 && fstat(file->rc, &file->st) != 0) {
        file->errnum = errno;
        close(file->rc);
        file->rc = -1;
    } else if (file->rc < 0) {
        file->errnum = errno;
    }
}

static void drop_opened(void *data)
{
    fd_close(((struct uploads_disk_file *)data)->rc);
}

static void run_lstat(void *data)
{
    struct uploads_disk_file *file = data;

    file->rc = lstat(file->path, &file->st);
    file->errnum = errno;
}

static void run_unlink(void *data)
{
    struct uploads_disk_file *file = data;

    file->rc = unlink(file->path);
    file->errnum = errno;
}

static int call_for_file(const char *root, const char *path, struct stat *st,
                         void (*run)(void *data), void (*drop)(void *data))
{
    struct uploads_disk_file file = {.rc = -1};
    int rc;

    snprintf(file.path, sizeof(file.path), "%s", path);
    rc = uploads_disk_call(root, run, drop, &file, sizeof(file));
    errno = rc != 0 ? rc : file.errnum;
    if (st != NULL) {
        *st = file.st;
    }
    return rc != 0 ? -1 : file.rc;
}

int uploads_disk_open(const char *root, const char *path, struct stat *st)
{
    return call_for_file(root, path, st, run_open, drop_opened);
}

int uploads_disk_lstat(const char *root, const char *path, struct stat *st)
{
    return call_for_file(root, path, st, run_lstat, NULL);
}

int uploads_disk_unlink(const char *root, const char *path)
{
    return call_for_file(root, path, NULL, run_unlink, NULL);
}
