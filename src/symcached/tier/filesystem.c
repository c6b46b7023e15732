/*
 * Copyright (C) the ngx_symcache authors
 *
 * A folder of a file system that several machines mount, such as NFS or CephFS.
 * An object is one file: the line "symcache tier 1", the metadata, an empty
 * line, and the body.  It appears by rename, or by link where none is to be
 * replaced.  Its mtime is its age.
 *
 * The folder itself is never made: where it is missing, it is not mounted.
 *
 * Such a file system can hang, and a thread that waits for it then cannot be
 * stopped.  So all calls run in threads, and the loop never waits for one: it
 * abandons those that exceed their time.  There are never more than CALLS_MAX.
 */
#include "tier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/durable.h"
#include "base/fd_close.h"
#include "base/fd_write.h"
#include "base/task.h"
#include "base/workdir.h"
#include "symcached/space/space.h"
#include "call.h"

#define FIRST_LINE "symcache tier 1\n"
#define HEAD_MAX (sizeof(FIRST_LINE) + TIER_META_MAX + 2)
#define READ_SIZE 65536
#define CALLS_MAX 64

/* Threads that have not come back. */
static atomic_uint calls_running;

/* The data of a thread.  It shares nothing with the call, which can be freed
 * first. */
struct tier_file_write {
    struct tier_call *call; /* for the loop only */
    struct tier_names names;
    char *path;
    char *root; /* of the tier, in path; it is never made */
    char lines[TIER_META_MAX];
    int in;
    int out;
    uint64_t size; /* of what is stored; the most that is received */
    bool looks; /* at the metadata only */
    bool replace;
    bool durable; /* the folders that it lies in are synced, too */
    bool exists;
    bool absent;
    bool malformed; /* the object has no sound beginning */
    int64_t stored;
    uint64_t length; /* of the body that is there */
    uint64_t bytes;
    char head[HEAD_MAX];
    size_t head_len; /* of the body that is in it, after the metadata */
    size_t head_at;
    int errnum;
    bool is_alone; /* that is a fault of this object's path */
    bool out_failed; /* it is of a write to out */
};

static void work_drop(void *arg)
{
    struct tier_file_write *work = arg;

    fd_close(work->in);
    fd_close(work->out);
    free(work->path);
    free(work->root);
    free(work);
    atomic_fetch_sub(&calls_running, 1);
}

static struct tier_file_write *work_new(struct tier_call *call)
{
    struct tier_file_write *work;

    if (atomic_fetch_add(&calls_running, 1) >= CALLS_MAX) {
        atomic_fetch_sub(&calls_running, 1);
        errno = EBUSY;
        return NULL;
    }
    work = calloc(1, sizeof(*work));
    if (work == NULL) {
        atomic_fetch_sub(&calls_running, 1);
        return NULL;
    }
    work->call = call;
    work->in = work->out = -1;
    work->path = strdup(call->place);
    work->root = strdup(call->config->path);
    if (work->path == NULL || work->root == NULL) {
        work_drop(work);
        errno = ENOMEM;
        return NULL;
    }
    return work;
}

static void task_ends(void *task)
{
    task_cancel(task);
}

/* The task owns work in any case. */
static int start_file_task(struct tier_call *call, unsigned seconds,
                           const struct task_calls *calls,
                           struct tier_file_write *work)
{
    call->task = task_start(call->tiers->base, seconds, calls, work);
    call->task_cancel = task_ends;
    return call->task != NULL ? 0 : -1;
}

/* Ends the call if the thread has failed, or has not come back. */
static bool is_over(struct tier_file_write *work, bool late)
{
    struct tier_call *call = work->call;

    if (late) {
        tier_call_end(call, TIER_REPLY_FAULT, "does not answer");
    } else if (work->errnum == EISDIR) {
        tier_call_end(call, TIER_REPLY_FAILED, "a folder is in its place");
    } else if (work->is_alone) {
        tier_call_end(call, TIER_REPLY_FAILED, "its path: %s",
                      strerror(work->errnum));
    } else if (work->errnum != 0) {
        tier_call_end(call,
                      work->errnum == EACCES || work->errnum == EROFS ||
                              work->errnum == EPERM || work->errnum == ENOENT
                          ? TIER_REPLY_DENIED
                          : TIER_REPLY_FAULT,
                      "%s", strerror(work->errnum));
    } else {
        return false;
    }
    return true;
}

/* Takes errno.  One path may be of no use where the tier's folder, with the
 * permissions of mode, is: that says nothing of the next object. */
static void fail_path(struct tier_file_write *work, int mode)
{
    work->errnum = errno;
    work->is_alone = (errno == ENOTDIR || errno == EACCES) &&
                     access(work->root, mode) == 0;
}

/* reading ------------------------------------------------------------------ */

/* Reads the metadata, and perhaps the beginning of the body. */
static void open_object(void *arg)
{
    struct tier_file_write *work = arg;
    const size_t first = sizeof(FIRST_LINE) - 1;
    size_t len = 0;
    struct stat st;
    ssize_t n = 0;
    char *end;

    work->in =
        open(work->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (work->in < 0 && errno == ENOENT && access(work->root, F_OK) == 0) {
        work->absent = true;
        return;
    }
    if (work->in < 0 && errno == ELOOP) {
        work->malformed = true; /* a symbolic link */
        return;
    }
    if (work->in < 0 || fstat(work->in, &st) != 0) {
        fail_path(work, R_OK | X_OK);
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        work->malformed = true;
        return;
    }
    work->stored = (int64_t)st.st_mtime;
    while (len < sizeof(work->head) - 1 &&
           (n = read(work->in, work->head + len,
                     sizeof(work->head) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    if (n < 0) {
        work->errnum = errno;
        return;
    }
    end = strncmp(work->head, FIRST_LINE, first) == 0
              ? memmem(work->head, len, "\n\n", 2)
              : NULL;
    if (end == NULL ||
        (size_t)(end + 1 - work->head) - first >= sizeof(work->lines)) {
        work->malformed = true;
        return;
    }
    snprintf(work->lines, sizeof(work->lines), "%.*s",
             (int)(end + 1 - (work->head + first)), work->head + first);
    work->head_at = (size_t)(end + 2 - work->head);
    work->head_len = len - work->head_at;
    work->length = (uint64_t)st.st_size - work->head_at;
}

static void write_out(struct tier_file_write *work, const char *data,
                      size_t size)
{
    if (fd_write(work->out, data, size) != 0) {
        work->errnum = errno;
        work->out_failed = true;
    }
}

/* Copies what is left of in to out, as far as size bytes in all. */
static void copy_rest(struct tier_file_write *work)
{
    char buf[READ_SIZE];
    ssize_t n = 0;

    while (work->errnum == 0 && work->bytes <= work->size &&
           (n = read(work->in, buf, sizeof(buf))) > 0) {
        work->bytes += (uint64_t)n;
        write_out(work, buf, (size_t)n);
    }
    if (n < 0) {
        work->errnum = errno;
    }
}

static void copy_object(void *arg)
{
    struct tier_file_write *work = arg;

    work->bytes = work->head_len;
    write_out(work, work->head + work->head_at, work->head_len);
    copy_rest(work);
}

static void on_copied(void *arg, bool late)
{
    struct tier_file_write *work = arg;
    struct tier_call *call = work->call;

    if (!late && work->out_failed) {
        /* what is received lies on this machine's disk */
        tier_call_end(call, TIER_REPLY_FAILED, "here: %s",
                      strerror(work->errnum));
        return;
    }
    if (is_over(work, late)) {
        return;
    }
    call->bytes = work->bytes;
    if (work->bytes > work->size) {
        tier_call_end(call, TIER_REPLY_FAILED, "larger than %llu bytes",
                      (unsigned long long)work->size);
    } else {
        tier_call_end(call, TIER_REPLY_DONE, "found");
    }
}

static void on_opened(void *arg, bool late)
{
    static const struct task_calls copies = {copy_object, on_copied,
                                             work_drop};
    struct tier_file_write *work = arg, *next;
    struct tier_call *call = work->call;
    char reason[160];

    if (is_over(work, late)) {
        return;
    }
    if (work->absent) {
        tier_call_end(call, TIER_REPLY_ABSENT, "no such file");
        return;
    }
    if (work->malformed) {
        /* it ends in the metadata's place, and is refused for them */
        tier_call_end(call, TIER_REPLY_DONE, "no object");
        return;
    }
    memcpy(call->lines, work->lines, sizeof(call->lines));
    call->stored = work->stored;
    if (work->looks) {
        tier_call_end(call, TIER_REPLY_DONE, "found");
        return;
    }
    if (work->length <= call->max &&
        disk_space_reserve(call->fd, work->length, &call->all->cache, reason,
                           sizeof(reason)) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", reason);
        return;
    }
    next = work_new(call);
    if (next != NULL) {
        memcpy(next->head, work->head, sizeof(next->head));
        next->head_at = work->head_at;
        next->head_len = work->head_len;
        next->size = call->max;
        next->in = work->in;
        work->in = -1;
        next->out = fcntl(call->fd, F_DUPFD_CLOEXEC, 0);
    }
    if (next == NULL ||
        start_file_task(call, call->seconds, &copies, next) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", strerror(errno));
    }
}

static int read_object(struct tier_call *call, bool looks)
{
    static const struct task_calls opens = {open_object, on_opened, work_drop};
    struct tier_file_write *work = work_new(call);

    if (work == NULL) {
        return -1;
    }
    work->looks = looks;
    return start_file_task(call, TIER_FIRST, &opens, work);
}

static int get_file(struct tier_call *call)
{
    return read_object(call, false);
}

static int look_at_file(struct tier_call *call)
{
    return read_object(call, true);
}

/* writing ------------------------------------------------------------------ */

static int write_object(struct tier_file_write *work, const char *tmp)
{
    char head[HEAD_MAX];
    int n = snprintf(head, sizeof(head), FIRST_LINE "%s\n", work->lines);

    work->out = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     0644);
    if (work->out < 0) {
        return errno;
    }
    write_out(work, head, (size_t)n);
    copy_rest(work);
    if (work->errnum == 0 && work->bytes != work->size) {
        return EIO; /* cut short by somebody */
    }
    return work->errnum != 0 || durable_sync(work->out) == 0 ? work->errnum
                                                             : errno;
}

static int name_object(struct tier_file_write *work, const char *tmp)
{
    if (work->replace) {
        return rename(tmp, work->path) == 0 ? 0 : errno;
    }
    if (link(tmp, work->path) == 0) {
        return 0;
    }
    work->exists = errno == EEXIST;
    if (work->exists) {
        return 0;
    }
    /* a file system without links */
    return rename(tmp, work->path) == 0 ? 0 : errno;
}

/* How many folders an object lies in, down from that of the tier.  What is
 * above that is not ours, and need not be readable. */
static unsigned count_folders(const struct tier_file_write *work)
{
    const char *p = work->path + strlen(work->root);
    unsigned n = 0;

    while ((p = strchr(p, '/')) != NULL) {
        n++;
        p++;
    }
    return n;
}

static void put_object(void *arg)
{
    struct tier_file_write *work = arg;
    char dir[TIER_NAME_MAX + 1024], tmp[TIER_NAME_MAX + 1100];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(dir, sizeof(dir), "%.*s",
             (int)(strrchr(work->path, '/') - work->path), work->path);
    /* machines may have the same process ids, but hardly at the same time */
    snprintf(tmp, sizeof(tmp), "%s/.%ld-%lld-%09ld.tmp", dir, (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec);
    if (!work->replace && access(work->path, F_OK) == 0) {
        work->exists = true;
        return;
    }
    if (access(work->root, F_OK) != 0) {
        work->errnum = errno;
        return;
    }
    if (workdir_make_path(dir) != 0) {
        fail_path(work, W_OK | X_OK);
        return;
    }
    if (lseek(work->in, 0, SEEK_SET) != 0) {
        work->errnum = errno;
        return;
    }
    work->errnum = write_object(work, tmp);
    if (work->errnum == 0) {
        work->errnum = name_object(work, tmp);
    }
    if (work->errnum == 0 && work->durable &&
        durable_sync_folders(work->path, count_folders(work)) != 0) {
        work->errnum = errno;
    }
    (void)unlink(tmp);
    if (work->errnum == EACCES) {
        errno = EACCES;
        fail_path(work, W_OK | X_OK);
    }
}

static void on_put(void *arg, bool late)
{
    struct tier_file_write *work = arg;

    if (!is_over(work, late)) {
        tier_call_end(work->call,
                      work->exists ? TIER_REPLY_EXISTS : TIER_REPLY_DONE, "%s",
                      work->exists ? "is there" : "stored");
    }
}

static int put_file(struct tier_call *call)
{
    static const struct task_calls puts = {put_object, on_put, work_drop};
    struct tier_file_write *work = work_new(call);

    if (work == NULL) {
        return -1;
    }
    work->in = fcntl(call->fd, F_DUPFD_CLOEXEC, 0);
    if (work->in < 0) {
        work_drop(work);
        return -1;
    }
    memcpy(work->lines, call->lines, sizeof(work->lines));
    work->replace = call->replace;
    work->durable = call->is_original;
    work->size = call->size;
    return start_file_task(
        call, TIER_WRITE + (unsigned)(call->size / TIER_WRITE_RATE), &puts,
        work);
}

static int start_new_task(struct tier_call *call,
                          const struct task_calls *calls)
{
    struct tier_file_write *work = work_new(call);

    return work != NULL ? start_file_task(call, TIER_FIRST, calls, work) : -1;
}

static void touch_object(void *arg)
{
    struct tier_file_write *work = arg;

    if (utimensat(AT_FDCWD, work->path, NULL, 0) != 0) {
        work->absent = errno == ENOENT && access(work->root, F_OK) == 0;
        work->errnum = work->absent ? 0 : errno;
    }
}

static void on_touched(void *arg, bool late)
{
    struct tier_file_write *work = arg;

    if (!is_over(work, late)) {
        tier_call_end(work->call,
                      work->absent ? TIER_REPLY_ABSENT : TIER_REPLY_DONE, "%s",
                      work->absent ? "no such file" : "refreshed");
    }
}

static int refresh_file(struct tier_call *call)
{
    static const struct task_calls touches = {touch_object, on_touched,
                                              work_drop};

    return start_new_task(call, &touches);
}

static void remove_object(void *arg)
{
    struct tier_file_write *work = arg;

    if (unlink(work->path) != 0 &&
        (errno != ENOENT || access(work->root, F_OK) != 0)) {
        fail_path(work, W_OK | X_OK);
    }
}

static void on_removed(void *arg, bool late)
{
    struct tier_file_write *work = arg;

    if (!is_over(work, late)) {
        tier_call_end(work->call, TIER_REPLY_DONE, "removed");
    }
}

static int take_away(struct tier_call *call)
{
    static const struct task_calls removes = {remove_object, on_removed,
                                              work_drop};

    return start_new_task(call, &removes);
}

/* A folder that is missing has nothing in it; unless the tier's own is. */
static void list_folder(void *arg)
{
    struct tier_file_write *work = arg;
    const struct dirent *entry;
    DIR *dir = opendir(work->path);

    if (dir == NULL) {
        if (errno != ENOENT || access(work->root, F_OK) != 0) {
            fail_path(work, R_OK | X_OK);
        }
        return;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        tier_names_add(&work->names, entry->d_name);
    }
    work->errnum = errno;
    closedir(dir);
}

static void on_listed(void *arg, bool late)
{
    struct tier_file_write *work = arg;

    if (!is_over(work, late)) {
        *work->call->names = work->names;
        tier_call_end(work->call, TIER_REPLY_DONE, "listed");
    }
}

static int list_files(struct tier_call *call)
{
    static const struct task_calls lists = {list_folder, on_listed, work_drop};

    return start_new_task(call, &lists);
}

const struct tier_type tier_filesystem = {
    true,         get_file,  look_at_file, put_file,
    refresh_file, take_away, list_files,   NULL};
