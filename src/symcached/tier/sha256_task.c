/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sha256_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/task.h"

#define SECONDS 300 /* and more for more bytes than so many each second */
#define READ_RATE (10 * 1024 * 1024)
#define READ_SIZE 65536

struct sha256_work {
    int fds[CHECKSUM_FILES];
    unsigned n;
    uint64_t from, most; /* of each file */
    struct checksum sum;
    checksum_done_fn done;
    void *arg;
};

static int sha256_read_all(const struct sha256_work *work, int fd,
                           struct digest *digest, uint64_t *size)
{
    static _Thread_local char buf[READ_SIZE];
    uint64_t left;
    ssize_t n = 1;

    while (n > 0 && (left = work->most - *size) > 0) {
        n = pread(fd, buf, left < sizeof(buf) ? (size_t)left : sizeof(buf),
                  (off_t)(work->from + *size));
        digest_add(digest, buf, n > 0 ? (size_t)n : 0);
        *size += n > 0 ? (uint64_t)n : 0;
    }
    return n >= 0 ? 0 : errno;
}

static void run_checksum(void *arg)
{
    struct sha256_work *work = arg;
    struct digest *digest;
    unsigned i;

    for (i = 0; i < work->n && work->sum.errnum == 0; i++) {
        digest = digest_new();
        if (digest == NULL) {
            work->sum.errnum = ENOMEM;
            return;
        }
        work->sum.errnum =
            sha256_read_all(work, work->fds[i], digest, &work->sum.size[i]);
        digest_hex(digest, work->sum.sha256[i]);
        digest_free(digest);
    }
}

static void checksum_done(void *arg, bool late)
{
    static const struct checksum none = {.errnum = ETIMEDOUT};
    struct sha256_work *work = arg;

    work->done(work->arg, late ? &none : &work->sum);
}

static void sha256_drop(void *arg)
{
    struct sha256_work *work = arg;
    unsigned i;

    for (i = 0; i < work->n; i++) {
        fd_close(work->fds[i]);
    }
    free(work);
}

static const struct task_calls calls = {run_checksum, checksum_done,
                                        sha256_drop};

static struct task *start_checksum(struct event_base *base, const int *fds,
                                   unsigned n, uint64_t from, uint64_t most,
                                   checksum_done_fn fn, void *arg)
{
    struct sha256_work *work = calloc(1, sizeof(*work));
    uint64_t bytes = 0;
    bool good = true;
    struct stat st;
    unsigned i;

    if (work == NULL) {
        return NULL;
    }
    work->n = n;
    work->from = from;
    work->most = most;
    work->done = fn;
    work->arg = arg;
    for (i = 0; i < n; i++) {
        work->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        good = good && work->fds[i] >= 0;
        bytes += fstat(fds[i], &st) == 0 ? (uint64_t)st.st_size : 0;
    }
    if (!good) {
        int saved = errno;

        sha256_drop(work);
        errno = saved;
        return NULL;
    }
    return task_start(base, SECONDS + (unsigned)(bytes / READ_RATE), &calls,
                      work);
}

struct task *checksum_start(struct event_base *base, const int *fds,
                            unsigned n, checksum_done_fn fn, void *arg)
{
    return start_checksum(base, fds, n, 0, UINT64_MAX, fn, arg);
}

struct task *checksum_part_start(struct event_base *base, int fd,
                                 uint64_t from, uint64_t size,
                                 checksum_done_fn fn, void *arg)
{
    return start_checksum(base, &fd, 1, from, size, fn, arg);
}
