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
struct filesystem_call {
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

static void filesystem_drop(void *arg)
{
    struct filesystem_call *filesystem = arg;

    fd_close(filesystem->in);
    fd_close(filesystem->out);
    free(filesystem->path);
    free(filesystem->root);
    free(filesystem);
    atomic_fetch_sub(&calls_running, 1);
}

static struct filesystem_call *filesystem_new(struct tier_call *call)
{
    struct filesystem_call *filesystem;

    if (atomic_fetch_add(&calls_running, 1) >= CALLS_MAX) {
        atomic_fetch_sub(&calls_running, 1);
        errno = EBUSY;
        return NULL;
    }
    filesystem = calloc(1, sizeof(*filesystem));
    if (filesystem == NULL) {
        atomic_fetch_sub(&calls_running, 1);
        return NULL;
    }
    filesystem->call = call;
    filesystem->in = filesystem->out = -1;
    filesystem->path = strdup(call->place);
    filesystem->root = strdup(call->config->path);
    if (filesystem->path == NULL || filesystem->root == NULL) {
        filesystem_drop(filesystem);
        errno = ENOMEM;
        return NULL;
    }
    return filesystem;
}

static void filesystem_ends(void *task)
{
    task_cancel(task);
}

/* The task owns work in any case. */
static int filesystem_start(struct tier_call *call, unsigned seconds,
                            const struct task_calls *calls,
                            struct filesystem_call *filesystem)
{
    call->task = task_start(call->tiers->base, seconds, calls, filesystem);
    call->task_cancel = filesystem_ends;
    return call->task != NULL ? 0 : -1;
}

/* Ends the call if the thread has failed, or has not come back. */
static bool filesystem_is_over(struct filesystem_call *filesystem, bool late)
{
    struct tier_call *call = filesystem->call;

    if (late) {
        tier_call_end(call, TIER_REPLY_FAULT, "does not answer");
    } else if (filesystem->errnum == EISDIR) {
        tier_call_end(call, TIER_REPLY_FAILED, "a folder is in its place");
    } else if (filesystem->is_alone) {
        tier_call_end(call, TIER_REPLY_FAILED, "its path: %s",
                      strerror(filesystem->errnum));
    } else if (filesystem->errnum == ENOENT) {
        tier_call_end(call, TIER_REPLY_DENIED, "its folder %.200s is missing",
                      filesystem->root);
    } else if (filesystem->errnum != 0) {
        tier_call_end(call,
                      filesystem->errnum == EACCES ||
                              filesystem->errnum == EROFS ||
                              filesystem->errnum == EPERM
                          ? TIER_REPLY_DENIED
                          : TIER_REPLY_FAULT,
                      "%s", strerror(filesystem->errnum));
    } else {
        return false;
    }
    return true;
}

/* Takes errno.  One path may be of no use where the tier's folder, with the
 * permissions of mode, is: that says nothing of the next object. */
static void filesystem_fail(struct filesystem_call *filesystem, int mode)
{
    filesystem->errnum = errno;
    filesystem->is_alone = (errno == ENOTDIR || errno == EACCES) &&
                           access(filesystem->root, mode) == 0;
}

/* reading ------------------------------------------------------------------ */

/* Reads the metadata, and perhaps the beginning of the body. */
static void filesystem_open(void *arg)
{
    struct filesystem_call *filesystem = arg;
    const size_t first = sizeof(FIRST_LINE) - 1;
    size_t len = 0;
    struct stat st;
    ssize_t n = 0;
    char *end;

    filesystem->in =
        open(filesystem->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (filesystem->in < 0 && errno == ENOENT &&
        access(filesystem->root, F_OK) == 0) {
        filesystem->absent = true;
        return;
    }
    if (filesystem->in < 0 && errno == ELOOP) {
        filesystem->malformed = true; /* a symbolic link */
        return;
    }
    if (filesystem->in < 0 || fstat(filesystem->in, &st) != 0) {
        filesystem_fail(filesystem, R_OK | X_OK);
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        filesystem->malformed = true;
        return;
    }
    filesystem->stored = (int64_t)st.st_mtime;
    while (len < sizeof(filesystem->head) - 1 &&
           (n = read(filesystem->in, filesystem->head + len,
                     sizeof(filesystem->head) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    if (n < 0) {
        filesystem->errnum = errno;
        return;
    }
    end = strncmp(filesystem->head, FIRST_LINE, first) == 0
              ? memmem(filesystem->head, len, "\n\n", 2)
              : NULL;
    if (end == NULL || (size_t)(end + 1 - filesystem->head) - first >=
                           sizeof(filesystem->lines)) {
        filesystem->malformed = true;
        return;
    }
    snprintf(filesystem->lines, sizeof(filesystem->lines), "%.*s",
             (int)(end + 1 - (filesystem->head + first)),
             filesystem->head + first);
    filesystem->head_at = (size_t)(end + 2 - filesystem->head);
    filesystem->head_len = len - filesystem->head_at;
    filesystem->length = (uint64_t)st.st_size - filesystem->head_at;
}

static void filesystem_write_out(struct filesystem_call *filesystem,
                                 const char *data, size_t size)
{
    if (fd_write(filesystem->out, data, size) != 0) {
        filesystem->errnum = errno;
        filesystem->out_failed = true;
    }
}

/* Copies what is left of in to out, as far as size bytes in all. */
static void copy_rest(struct filesystem_call *filesystem)
{
    char buf[READ_SIZE];
    ssize_t n = 0;

    while (filesystem->errnum == 0 && filesystem->bytes <= filesystem->size &&
           (n = read(filesystem->in, buf, sizeof(buf))) > 0) {
        filesystem->bytes += (uint64_t)n;
        filesystem_write_out(filesystem, buf, (size_t)n);
    }
    if (n < 0) {
        filesystem->errnum = errno;
    }
}

static void filesystem_copy(void *arg)
{
    struct filesystem_call *filesystem = arg;

    filesystem->bytes = filesystem->head_len;
    filesystem_write_out(filesystem, filesystem->head + filesystem->head_at,
                         filesystem->head_len);
    copy_rest(filesystem);
}

static void filesystem_on_copied(void *arg, bool late)
{
    struct filesystem_call *filesystem = arg;
    struct tier_call *call = filesystem->call;

    if (!late && filesystem->out_failed) {
        /* what is received lies on this machine's disk */
        tier_call_end(call, TIER_REPLY_FAILED, "here: %s",
                      strerror(filesystem->errnum));
        return;
    }
    if (filesystem_is_over(filesystem, late)) {
        return;
    }
    call->bytes = filesystem->bytes;
    if (filesystem->bytes > filesystem->size) {
        tier_call_end(call, TIER_REPLY_FAILED, "larger than %llu bytes",
                      (unsigned long long)filesystem->size);
    } else {
        tier_call_end(call, TIER_REPLY_DONE, "found");
    }
}

static void filesystem_on_opened(void *arg, bool late)
{
    static const struct task_calls copies = {
        filesystem_copy, filesystem_on_copied, filesystem_drop};
    struct filesystem_call *filesystem = arg, *next;
    struct tier_call *call = filesystem->call;
    char reason[160];

    if (filesystem_is_over(filesystem, late)) {
        return;
    }
    if (filesystem->absent) {
        tier_call_end(call, TIER_REPLY_ABSENT, "no such file");
        return;
    }
    if (filesystem->malformed) {
        /* it ends in the metadata's place, and is refused for them */
        tier_call_end(call, TIER_REPLY_DONE, "no object");
        return;
    }
    memcpy(call->lines, filesystem->lines, sizeof(call->lines));
    call->stored = filesystem->stored;
    if (filesystem->looks) {
        tier_call_end(call, TIER_REPLY_DONE, "found");
        return;
    }
    if (filesystem->length <= call->max &&
        disk_space_reserve(call->fd, filesystem->length, &call->all->cache,
                           reason, sizeof(reason)) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", reason);
        return;
    }
    next = filesystem_new(call);
    if (next != NULL) {
        memcpy(next->head, filesystem->head, sizeof(next->head));
        next->head_at = filesystem->head_at;
        next->head_len = filesystem->head_len;
        next->size = call->max;
        next->in = filesystem->in;
        filesystem->in = -1;
        next->out = fcntl(call->fd, F_DUPFD_CLOEXEC, 0);
    }
    if (next == NULL ||
        filesystem_start(call, call->seconds, &copies, next) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", strerror(errno));
    }
}

static int filesystem_read(struct tier_call *call, bool looks)
{
    static const struct task_calls opens = {
        filesystem_open, filesystem_on_opened, filesystem_drop};
    struct filesystem_call *filesystem = filesystem_new(call);

    if (filesystem == NULL) {
        return -1;
    }
    filesystem->looks = looks;
    return filesystem_start(call, TIER_FIRST, &opens, filesystem);
}

static int get_file(struct tier_call *call)
{
    return filesystem_read(call, false);
}

static int look_at_file(struct tier_call *call)
{
    return filesystem_read(call, true);
}

/* writing ------------------------------------------------------------------ */

static int filesystem_write(struct filesystem_call *filesystem,
                            const char *tmp)
{
    char head[HEAD_MAX];
    int n = snprintf(head, sizeof(head), FIRST_LINE "%s\n", filesystem->lines);

    filesystem->out =
        open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (filesystem->out < 0) {
        return errno;
    }
    filesystem_write_out(filesystem, head, (size_t)n);
    copy_rest(filesystem);
    if (filesystem->errnum == 0 && filesystem->bytes != filesystem->size) {
        return EIO; /* cut short by somebody */
    }
    return filesystem->errnum != 0 || durable_sync(filesystem->out) == 0
               ? filesystem->errnum
               : errno;
}

static int name_object(struct filesystem_call *filesystem, const char *tmp)
{
    if (filesystem->replace) {
        return rename(tmp, filesystem->path) == 0 ? 0 : errno;
    }
    if (link(tmp, filesystem->path) == 0) {
        return 0;
    }
    filesystem->exists = errno == EEXIST;
    if (filesystem->exists) {
        return 0;
    }
    /* a file system without links */
    return rename(tmp, filesystem->path) == 0 ? 0 : errno;
}

/* How many folders an object lies in, down from that of the tier.  What is
 * above that is not ours, and need not be readable. */
static unsigned count_folders(const struct filesystem_call *filesystem)
{
    const char *p = filesystem->path + strlen(filesystem->root);
    unsigned n = 0;

    while ((p = strchr(p, '/')) != NULL) {
        n++;
        p++;
    }
    return n;
}

static void filesystem_put(void *arg)
{
    struct filesystem_call *filesystem = arg;
    char dir[TIER_NAME_MAX + 1024], tmp[TIER_NAME_MAX + 1100];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(dir, sizeof(dir), "%.*s",
             (int)(strrchr(filesystem->path, '/') - filesystem->path),
             filesystem->path);
    /* machines may have the same process ids, but hardly at the same time */
    snprintf(tmp, sizeof(tmp), "%s/.%ld-%lld-%09ld.tmp", dir, (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec);
    if (!filesystem->replace && access(filesystem->path, F_OK) == 0) {
        filesystem->exists = true;
        return;
    }
    if (access(filesystem->root, F_OK) != 0) {
        filesystem->errnum = errno;
        return;
    }
    if (workdir_make_path(dir) != 0) {
        filesystem_fail(filesystem, W_OK | X_OK);
        return;
    }
    if (lseek(filesystem->in, 0, SEEK_SET) != 0) {
        filesystem->errnum = errno;
        return;
    }
    filesystem->errnum = filesystem_write(filesystem, tmp);
    if (filesystem->errnum == 0) {
        filesystem->errnum = name_object(filesystem, tmp);
    }
    if (filesystem->errnum == 0 && filesystem->durable &&
        durable_sync_folders(filesystem->path, count_folders(filesystem)) !=
            0) {
        filesystem->errnum = errno;
    }
    (void)unlink(tmp);
    if (filesystem->errnum == EACCES) {
        errno = EACCES;
        filesystem_fail(filesystem, W_OK | X_OK);
    }
}

static void on_put(void *arg, bool late)
{
    struct filesystem_call *filesystem = arg;

    if (!late && disk_is_full(filesystem->errnum)) {
        filesystem->call->refusal = 507;
    }
    if (!filesystem_is_over(filesystem, late)) {
        tier_call_end(filesystem->call,
                      filesystem->exists ? TIER_REPLY_EXISTS : TIER_REPLY_DONE,
                      "%s", filesystem->exists ? "is there" : "stored");
    }
}

static int put_file(struct tier_call *call)
{
    static const struct task_calls puts = {filesystem_put, on_put,
                                           filesystem_drop};
    struct filesystem_call *filesystem = filesystem_new(call);

    if (filesystem == NULL) {
        return -1;
    }
    filesystem->in = fcntl(call->fd, F_DUPFD_CLOEXEC, 0);
    if (filesystem->in < 0) {
        filesystem_drop(filesystem);
        return -1;
    }
    memcpy(filesystem->lines, call->lines, sizeof(filesystem->lines));
    filesystem->replace = call->replace;
    filesystem->durable = call->is_original;
    filesystem->size = call->size;
    return filesystem_start(
        call, TIER_WRITE + (unsigned)(call->size / TIER_WRITE_RATE), &puts,
        filesystem);
}

static int start_new_task(struct tier_call *call,
                          const struct task_calls *calls)
{
    struct filesystem_call *filesystem = filesystem_new(call);

    return filesystem != NULL
               ? filesystem_start(call, TIER_FIRST, calls, filesystem)
               : -1;
}

static void touch_object(void *arg)
{
    struct filesystem_call *filesystem = arg;

    if (utimensat(AT_FDCWD, filesystem->path, NULL, 0) != 0) {
        filesystem->absent =
            errno == ENOENT && access(filesystem->root, F_OK) == 0;
        filesystem->errnum = filesystem->absent ? 0 : errno;
    }
}

static void on_touched(void *arg, bool late)
{
    struct filesystem_call *filesystem = arg;

    if (!filesystem_is_over(filesystem, late)) {
        tier_call_end(filesystem->call,
                      filesystem->absent ? TIER_REPLY_ABSENT : TIER_REPLY_DONE,
                      "%s", filesystem->absent ? "no such file" : "refreshed");
    }
}

static int refresh_file(struct tier_call *call)
{
    static const struct task_calls touches = {touch_object, on_touched,
                                              filesystem_drop};

    return start_new_task(call, &touches);
}

static void remove_object(void *arg)
{
    struct filesystem_call *filesystem = arg;

    if (unlink(filesystem->path) != 0 &&
        (errno != ENOENT || access(filesystem->root, F_OK) != 0)) {
        filesystem_fail(filesystem, W_OK | X_OK);
    }
}

static void on_removed(void *arg, bool late)
{
    struct filesystem_call *filesystem = arg;

    if (!filesystem_is_over(filesystem, late)) {
        tier_call_end(filesystem->call, TIER_REPLY_DONE, "removed");
    }
}

static int take_away(struct tier_call *call)
{
    static const struct task_calls removes = {remove_object, on_removed,
                                              filesystem_drop};

    return start_new_task(call, &removes);
}

/* A folder that is missing has nothing in it; unless the tier's own is. */
static void list_folder(void *arg)
{
    struct filesystem_call *filesystem = arg;
    const struct dirent *entry;
    DIR *dir = opendir(filesystem->path);

    if (dir == NULL) {
        if (errno != ENOENT || access(filesystem->root, F_OK) != 0) {
            filesystem_fail(filesystem, R_OK | X_OK);
        }
        return;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        tier_names_add(&filesystem->names, entry->d_name);
    }
    filesystem->errnum = errno;
    closedir(dir);
}

static void on_listed(void *arg, bool late)
{
    struct filesystem_call *filesystem = arg;

    if (!filesystem_is_over(filesystem, late)) {
        *filesystem->call->names = filesystem->names;
        tier_call_end(filesystem->call, TIER_REPLY_DONE, "listed");
    }
}

static int list_files(struct tier_call *call)
{
    static const struct task_calls lists = {list_folder, on_listed,
                                            filesystem_drop};

    return start_new_task(call, &lists);
}

const struct tier_type tier_filesystem = {
    true,         get_file,  look_at_file, put_file,
    refresh_file, take_away, list_files,   NULL};
