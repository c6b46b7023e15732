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
#include "base/disk_full.h"
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
    struct tier_file_write *file_write = arg;

    fd_close(file_write->in);
    fd_close(file_write->out);
    free(file_write->path);
    free(file_write->root);
    free(file_write);
    atomic_fetch_sub(&calls_running, 1);
}

static struct tier_file_write *work_new(struct tier_call *call)
{
    struct tier_file_write *file_write;

    if (atomic_fetch_add(&calls_running, 1) >= CALLS_MAX) {
        atomic_fetch_sub(&calls_running, 1);
        errno = EBUSY;
        return NULL;
    }
    file_write = calloc(1, sizeof(*file_write));
    if (file_write == NULL) {
        atomic_fetch_sub(&calls_running, 1);
        return NULL;
    }
    file_write->call = call;
    file_write->in = file_write->out = -1;
    file_write->path = strdup(call->place);
    file_write->root = strdup(call->config->path);
    if (file_write->path == NULL || file_write->root == NULL) {
        work_drop(file_write);
        errno = ENOMEM;
        return NULL;
    }
    return file_write;
}

static void task_ends(void *task)
{
    task_cancel(task);
}

/* The task owns work in any case. */
static int start_file_task(struct tier_call *call, unsigned seconds,
                           const struct task_calls *calls,
                           struct tier_file_write *file_write)
{
    call->task = task_start(call->tiers->base, seconds, calls, file_write);
    call->task_cancel = task_ends;
    return call->task != NULL ? 0 : -1;
}

/* Ends the call if the thread has failed, or has not come back. */
static bool is_over(struct tier_file_write *file_write, bool late)
{
    struct tier_call *call = file_write->call;

    if (late) {
        tier_call_end(call, TIER_REPLY_FAULT, "does not answer");
    } else if (file_write->errnum == EISDIR) {
        tier_call_end(call, TIER_REPLY_FAILED, "a folder is in its place");
    } else if (file_write->is_alone) {
        tier_call_end(call, TIER_REPLY_FAILED, "its path: %s",
                      strerror(file_write->errnum));
    } else if (file_write->errnum == ENOENT) {
        tier_call_end(call, TIER_REPLY_DENIED, "its folder %.200s is missing",
                      file_write->root);
    } else if (file_write->errnum != 0) {
        tier_call_end(
            call,
            file_write->errnum == EACCES || file_write->errnum == EROFS ||
                    file_write->errnum == EPERM
                ? TIER_REPLY_DENIED
                : TIER_REPLY_FAULT,
            "%s", strerror(file_write->errnum));
    } else {
        return false;
    }
    return true;
}

/* Takes errno.  One path may be of no use where the tier's folder, with the
 * permissions of mode, is: that says nothing of the next object. */
static void fail_path(struct tier_file_write *file_write, int mode)
{
    file_write->errnum = errno;
    file_write->is_alone = (errno == ENOTDIR || errno == EACCES) &&
                           access(file_write->root, mode) == 0;
}

/* reading ------------------------------------------------------------------ */

/* Reads the metadata, and perhaps the beginning of the body. */
static void open_object(void *arg)
{
    struct tier_file_write *file_write = arg;
    const size_t first = sizeof(FIRST_LINE) - 1;
    size_t len = 0;
    struct stat st;
    ssize_t n = 0;
    char *end;

    file_write->in =
        open(file_write->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file_write->in < 0 && errno == ENOENT &&
        access(file_write->root, F_OK) == 0) {
        file_write->absent = true;
        return;
    }
    if (file_write->in < 0 && errno == ELOOP) {
        file_write->malformed = true; /* a symbolic link */
        return;
    }
    if (file_write->in < 0 || fstat(file_write->in, &st) != 0) {
        fail_path(file_write, R_OK | X_OK);
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        file_write->malformed = true;
        return;
    }
    file_write->stored = (int64_t)st.st_mtime;
    while (len < sizeof(file_write->head) - 1 &&
           (n = read(file_write->in, file_write->head + len,
                     sizeof(file_write->head) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    if (n < 0) {
        file_write->errnum = errno;
        return;
    }
    end = strncmp(file_write->head, FIRST_LINE, first) == 0
              ? memmem(file_write->head, len, "\n\n", 2)
              : NULL;
    if (end == NULL || (size_t)(end + 1 - file_write->head) - first >=
                           sizeof(file_write->lines)) {
        file_write->malformed = true;
        return;
    }
    snprintf(file_write->lines, sizeof(file_write->lines), "%.*s",
             (int)(end + 1 - (file_write->head + first)),
             file_write->head + first);
    file_write->head_at = (size_t)(end + 2 - file_write->head);
    file_write->head_len = len - file_write->head_at;
    file_write->length = (uint64_t)st.st_size - file_write->head_at;
}

static void write_out(struct tier_file_write *file_write, const char *data,
                      size_t size)
{
    if (fd_write(file_write->out, data, size) != 0) {
        file_write->errnum = errno;
        file_write->out_failed = true;
    }
}

/* Copies what is left of in to out, as far as size bytes in all. */
static void copy_rest(struct tier_file_write *file_write)
{
    char buf[READ_SIZE];
    ssize_t n = 0;

    while (file_write->errnum == 0 && file_write->bytes <= file_write->size &&
           (n = read(file_write->in, buf, sizeof(buf))) > 0) {
        file_write->bytes += (uint64_t)n;
        write_out(file_write, buf, (size_t)n);
    }
    if (n < 0) {
        file_write->errnum = errno;
    }
}

static void copy_object(void *arg)
{
    struct tier_file_write *file_write = arg;

    file_write->bytes = file_write->head_len;
    write_out(file_write, file_write->head + file_write->head_at,
              file_write->head_len);
    copy_rest(file_write);
}

static void on_copied(void *arg, bool late)
{
    struct tier_file_write *file_write = arg;
    struct tier_call *call = file_write->call;

    if (!late && file_write->out_failed) {
        /* what is received lies on this machine's disk */
        tier_call_end(call, TIER_REPLY_FAILED, "here: %s",
                      strerror(file_write->errnum));
        return;
    }
    if (is_over(file_write, late)) {
        return;
    }
    call->bytes = file_write->bytes;
    if (file_write->bytes > file_write->size) {
        tier_call_end(call, TIER_REPLY_FAILED, "larger than %llu bytes",
                      (unsigned long long)file_write->size);
    } else {
        tier_call_end(call, TIER_REPLY_DONE, "found");
    }
}

static void on_opened(void *arg, bool late)
{
    static const struct task_calls copies = {copy_object, on_copied,
                                             work_drop};
    struct tier_file_write *file_write = arg, *next;
    struct tier_call *call = file_write->call;
    char reason[160];

    if (is_over(file_write, late)) {
        return;
    }
    if (file_write->absent) {
        tier_call_end(call, TIER_REPLY_ABSENT, "no such file");
        return;
    }
    if (file_write->malformed) {
        /* it ends in the metadata's place, and is refused for them */
        tier_call_end(call, TIER_REPLY_DONE, "no object");
        return;
    }
    memcpy(call->lines, file_write->lines, sizeof(call->lines));
    call->stored = file_write->stored;
    if (file_write->looks) {
        tier_call_end(call, TIER_REPLY_DONE, "found");
        return;
    }
    if (file_write->length <= call->max &&
        disk_space_reserve(call->fd, file_write->length, &call->all->cache,
                           reason, sizeof(reason)) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", reason);
        return;
    }
    next = work_new(call);
    if (next != NULL) {
        memcpy(next->head, file_write->head, sizeof(next->head));
        next->head_at = file_write->head_at;
        next->head_len = file_write->head_len;
        next->size = call->max;
        next->in = file_write->in;
        file_write->in = -1;
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
    struct tier_file_write *file_write = work_new(call);

    if (file_write == NULL) {
        return -1;
    }
    file_write->looks = looks;
    return start_file_task(call, TIER_FIRST, &opens, file_write);
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

static int write_object(struct tier_file_write *file_write, const char *tmp)
{
    char head[HEAD_MAX];
    int n = snprintf(head, sizeof(head), FIRST_LINE "%s\n", file_write->lines);

    file_write->out =
        open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file_write->out < 0) {
        return errno;
    }
    write_out(file_write, head, (size_t)n);
    copy_rest(file_write);
    if (file_write->errnum == 0 && file_write->bytes != file_write->size) {
        return EIO; /* cut short by somebody */
    }
    return file_write->errnum != 0 || durable_sync(file_write->out) == 0
               ? file_write->errnum
               : errno;
}

static int name_object(struct tier_file_write *file_write, const char *tmp)
{
    if (file_write->replace) {
        return rename(tmp, file_write->path) == 0 ? 0 : errno;
    }
    if (link(tmp, file_write->path) == 0) {
        return 0;
    }
    file_write->exists = errno == EEXIST;
    if (file_write->exists) {
        return 0;
    }
    /* a file system without links */
    return rename(tmp, file_write->path) == 0 ? 0 : errno;
}

/* How many folders an object lies in, down from that of the tier.  What is
 * above that is not ours, and need not be readable. */
static unsigned count_folders(const struct tier_file_write *file_write)
{
    const char *p = file_write->path + strlen(file_write->root);
    unsigned n = 0;

    while ((p = strchr(p, '/')) != NULL) {
        n++;
        p++;
    }
    return n;
}

static void put_object(void *arg)
{
    struct tier_file_write *file_write = arg;
    char dir[TIER_NAME_MAX + 1024], tmp[TIER_NAME_MAX + 1100];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(dir, sizeof(dir), "%.*s",
             (int)(strrchr(file_write->path, '/') - file_write->path),
             file_write->path);
    /* machines may have the same process ids, but hardly at the same time */
    snprintf(tmp, sizeof(tmp), "%s/.%ld-%lld-%09ld.tmp", dir, (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec);
    if (!file_write->replace && access(file_write->path, F_OK) == 0) {
        file_write->exists = true;
        return;
    }
    if (access(file_write->root, F_OK) != 0) {
        file_write->errnum = errno;
        return;
    }
    if (workdir_make_path(dir) != 0) {
        fail_path(file_write, W_OK | X_OK);
        return;
    }
    if (lseek(file_write->in, 0, SEEK_SET) != 0) {
        file_write->errnum = errno;
        return;
    }
    file_write->errnum = write_object(file_write, tmp);
    if (file_write->errnum == 0) {
        file_write->errnum = name_object(file_write, tmp);
    }
    if (file_write->errnum == 0 && file_write->durable &&
        durable_sync_folders(file_write->path, count_folders(file_write)) !=
            0) {
        file_write->errnum = errno;
    }
    (void)unlink(tmp);
    if (file_write->errnum == EACCES) {
        errno = EACCES;
        fail_path(file_write, W_OK | X_OK);
    }
}

static void on_put(void *arg, bool late)
{
    struct tier_file_write *file_write = arg;

    if (!late && disk_is_full(file_write->errnum)) {
        file_write->call->refusal = 507;
    }
    if (!is_over(file_write, late)) {
        tier_call_end(file_write->call,
                      file_write->exists ? TIER_REPLY_EXISTS : TIER_REPLY_DONE,
                      "%s", file_write->exists ? "is there" : "stored");
    }
}

static int put_file(struct tier_call *call)
{
    static const struct task_calls puts = {put_object, on_put, work_drop};
    struct tier_file_write *file_write = work_new(call);

    if (file_write == NULL) {
        return -1;
    }
    file_write->in = fcntl(call->fd, F_DUPFD_CLOEXEC, 0);
    if (file_write->in < 0) {
        work_drop(file_write);
        return -1;
    }
    memcpy(file_write->lines, call->lines, sizeof(file_write->lines));
    file_write->replace = call->replace;
    file_write->durable = call->is_original;
    file_write->size = call->size;
    return start_file_task(
        call, TIER_WRITE + (unsigned)(call->size / TIER_WRITE_RATE), &puts,
        file_write);
}

static int start_new_task(struct tier_call *call,
                          const struct task_calls *calls)
{
    struct tier_file_write *file_write = work_new(call);

    return file_write != NULL
               ? start_file_task(call, TIER_FIRST, calls, file_write)
               : -1;
}

static void touch_object(void *arg)
{
    struct tier_file_write *file_write = arg;

    if (utimensat(AT_FDCWD, file_write->path, NULL, 0) != 0) {
        file_write->absent =
            errno == ENOENT && access(file_write->root, F_OK) == 0;
        file_write->errnum = file_write->absent ? 0 : errno;
    }
}

static void on_touched(void *arg, bool late)
{
    struct tier_file_write *file_write = arg;

    if (!is_over(file_write, late)) {
        tier_call_end(file_write->call,
                      file_write->absent ? TIER_REPLY_ABSENT : TIER_REPLY_DONE,
                      "%s", file_write->absent ? "no such file" : "refreshed");
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
    struct tier_file_write *file_write = arg;

    if (unlink(file_write->path) != 0 &&
        (errno != ENOENT || access(file_write->root, F_OK) != 0)) {
        fail_path(file_write, W_OK | X_OK);
    }
}

static void on_removed(void *arg, bool late)
{
    struct tier_file_write *file_write = arg;

    if (!is_over(file_write, late)) {
        tier_call_end(file_write->call, TIER_REPLY_DONE, "removed");
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
    struct tier_file_write *file_write = arg;
    const struct dirent *entry;
    DIR *dir = opendir(file_write->path);

    if (dir == NULL) {
        if (errno != ENOENT || access(file_write->root, F_OK) != 0) {
            fail_path(file_write, R_OK | X_OK);
        }
        return;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        tier_names_add(&file_write->names, entry->d_name);
    }
    file_write->errnum = errno;
    closedir(dir);
}

static void on_listed(void *arg, bool late)
{
    struct tier_file_write *file_write = arg;

    if (!is_over(file_write, late)) {
        *file_write->call->names = file_write->names;
        tier_call_end(file_write->call, TIER_REPLY_DONE, "listed");
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
