/*
 * Copyright (C) the ngx_symcache authors
 */
#include "checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/task.h"

#define SECONDS 300
#define READ_SIZE 65536

struct work {
    int fds[CHECKSUM_FILES];
    unsigned n;
    struct checksum sum;
    checksum_done_fn done;
    void *arg;
};

static int read_all(int fd, struct digest *digest, uint64_t *size)
{
    static _Thread_local char buf[READ_SIZE];
    ssize_t n;

    while ((n = pread(fd, buf, sizeof(buf), (off_t)*size)) > 0) {
        digest_add(digest, buf, (size_t)n);
        *size += (uint64_t)n;
    }
    return n == 0 ? 0 : errno;
}

static void run(void *arg)
{
    struct work *work = arg;
    struct digest *digest;
    unsigned i;

    for (i = 0; i < work->n && work->sum.errnum == 0; i++) {
        digest = digest_new();
        if (digest == NULL) {
            work->sum.errnum = ENOMEM;
            return;
        }
        work->sum.errnum =
            read_all(work->fds[i], digest, &work->sum.size[i]);
        digest_hex(digest, work->sum.sha256[i]);
        digest_free(digest);
    }
}

static void done(void *arg, bool late)
{
    static const struct checksum none = {.errnum = ETIMEDOUT};
    struct work *work = arg;

    work->done(work->arg, late ? &none : &work->sum);
}

static void drop(void *arg)
{
    struct work *work = arg;
    unsigned i;

    for (i = 0; i < work->n; i++) {
        if (work->fds[i] >= 0) {
            close(work->fds[i]);
        }
    }
    free(work);
}

static const struct task_calls calls = {run, done, drop};

struct task *checksum_start(struct event_base *base, const int *fds,
                            unsigned n, checksum_done_fn fn, void *arg)
{
    struct work *work = calloc(1, sizeof(*work));
    bool good = true;
    unsigned i;

    if (work == NULL) {
        return NULL;
    }
    work->n = n;
    work->done = fn;
    work->arg = arg;
    for (i = 0; i < n; i++) {
        work->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        good = good && work->fds[i] >= 0;
    }
    if (!good) {
        int saved = errno;

        drop(work);
        errno = saved;
        return NULL;
    }
    return task_start(base, SECONDS, &calls, work);
}
