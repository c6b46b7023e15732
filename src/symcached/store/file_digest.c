/*
 * Copyright (C) the ngx_symcache authors
 */
#include "file_digest.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest_attribute.h"
#include "base/thread.h"

#define QUEUE_MAX 64
#define NICE 19
#define TRIES 3

struct file_digest_wanted {
    STAILQ_ENTRY(file_digest_wanted) next;
    char path[];
};

/* The thread takes the first path off the queue and waits while there is
 * none. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    pthread_cond_t idle;
    STAILQ_HEAD(, file_digest_wanted) queue;
    size_t n;
    bool started;
    bool works;
    atomic_bool stops;
} digest_queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .more = PTHREAD_COND_INITIALIZER,
                  .idle = PTHREAD_COND_INITIALIZER,
                  .queue = STAILQ_HEAD_INITIALIZER(digest_queue.queue)};

/* The file is read and not mapped: the process that made it may still have it
 * open, and could cut it short. */
void file_digest_note(int fd)
{
    digest_note(fd, digest_read(fd, NULL));
}

static bool digest_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

/* The file is seen by all now: what changes while it is read has no digest. */
static bool take_digest(int fd)
{
    struct stat before, after;
    struct digest *digest;

    if (lseek(fd, 0, SEEK_SET) != 0 || fstat(fd, &before) != 0) {
        return false;
    }
    digest = digest_read(fd, &digest_queue.stops);
    if (digest == NULL || fstat(fd, &after) != 0 ||
        !digest_is_same(&before, &after)) {
        digest_free(digest);
        return false;
    }
    digest_note(fd, digest);
    digest_seal(fd);
    return true;
}

static void file_digest_take_path(const char *path)
{
    int tries, fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd == -1) {
        return;
    }
    for (tries = 0; tries < TRIES && !digest_queue.stops && !take_digest(fd);
         tries++) {
        continue;
    }
    close(fd);
}

static void *run_digest(void *arg)
{
    struct sched_param none = {0};
    struct file_digest_wanted *wanted;

    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    pthread_mutex_lock(&digest_queue.mutex);
    for (;;) {
        while ((wanted = STAILQ_FIRST(&digest_queue.queue)) == NULL) {
            digest_queue.works = false;
            pthread_cond_signal(&digest_queue.idle);
            pthread_cond_wait(&digest_queue.more, &digest_queue.mutex);
        }
        STAILQ_REMOVE_HEAD(&digest_queue.queue, next);
        digest_queue.n--;
        digest_queue.works = true;
        pthread_mutex_unlock(&digest_queue.mutex);
        file_digest_take_path(wanted->path);
        free(wanted);
        pthread_mutex_lock(&digest_queue.mutex);
    }
    return NULL;
}

bool file_digest_may_wait(void)
{
    bool may;

    pthread_mutex_lock(&digest_queue.mutex);
    may = digest_queue.n < QUEUE_MAX;
    pthread_mutex_unlock(&digest_queue.mutex);
    return may;
}

void file_digest_later(const char *path)
{
    size_t size = strlen(path) + 1;
    struct file_digest_wanted *wanted = malloc(sizeof(*wanted) + size);

    if (wanted == NULL) {
        return;
    }
    memcpy(wanted->path, path, size);
    pthread_mutex_lock(&digest_queue.mutex);
    if (!digest_queue.started) {
        digest_queue.started = thread_start(run_digest, NULL) == 0;
    }
    if (digest_queue.started) {
        STAILQ_INSERT_TAIL(&digest_queue.queue, wanted, next);
        digest_queue.n++;
        wanted = NULL;
        pthread_cond_signal(&digest_queue.more);
    }
    pthread_mutex_unlock(&digest_queue.mutex);
    free(wanted);
}

/* The caller holds the mutex. */
static void await_idle(unsigned ms)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)(ms / 1000 + 1);
    while ((digest_queue.works || digest_queue.n > 0) &&
           pthread_cond_timedwait(&digest_queue.idle, &digest_queue.mutex,
                                  &end) == 0) {
        continue;
    }
}

void file_digest_settle(unsigned ms)
{
    pthread_mutex_lock(&digest_queue.mutex);
    await_idle(ms);
    digest_queue.stops = true;
    await_idle(ms);
    pthread_mutex_unlock(&digest_queue.mutex);
}
