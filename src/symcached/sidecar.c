/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sidecar.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "child.h"
#include "log.h"
#include "metrics.h"
#include "sandbox/sandbox.h"
#include "store.h"
#include "workdir.h"

#define SIDECARS_WAITING 1000 /* more come back with their next use */
#define SIDECAR_SECONDS 600
#define SIDECAR_MEMORY (64ull * 1024 * 1024)
#define SIDECAR_BUFFER 65536

#define SIDECAR_IN CHILD_FD
#define SIDECAR_OUT (CHILD_FD + 1)

struct sidecar {
    TAILQ_ENTRY(sidecar) next;
    char *root;
    struct workdir *workdir;
    symcache_key_t key;
    symcache_version_t version;
    struct stat plain; /* the file that is being compressed */
    char tmp[WORKDIR_PATH_MAX];
};

struct sidecars {
    struct event_base *base;
    struct event *pump;
    TAILQ_HEAD(, sidecar) waiting;
    unsigned nwaiting;
    struct sidecar *running;
    struct child *child;
    bool stopping;
};

static void sidecar_free(struct sidecar *sidecar)
{
    if (sidecar->tmp[0] != '\0') {
        (void)unlink(sidecar->tmp); /* gone after a rename */
    }
    free(sidecar->root);
    free(sidecar);
}

/* the child ---------------------------------------------------------------
 */

static int sidecar_write(const unsigned char *buf, size_t len)
{
    ssize_t n;

    for (; len > 0; buf += n, len -= (size_t)n) {
        n = write(SIDECAR_OUT, buf, len);
        if (n < 0 && errno == EINTR) {
            n = 0;
        } else if (n <= 0) {
            return -1;
        }
    }
    return 0;
}

/* Compresses what is in the buffer; at the end of the input all the rest. */
static int sidecar_deflate(z_stream *z, bool end)
{
    static unsigned char out[SIDECAR_BUFFER];
    int rc;

    do {
        z->next_out = out;
        z->avail_out = sizeof(out);
        rc = deflate(z, end ? Z_FINISH : Z_NO_FLUSH);
        if (rc == Z_STREAM_ERROR ||
            sidecar_write(out, sizeof(out) - z->avail_out) != 0) {
            return -1;
        }
    } while (z->avail_out == 0);

    return 0;
}

static int sidecar_compress(void)
{
    static unsigned char in[SIDECAR_BUFFER];
    z_stream z = {0};
    ssize_t n;

    /* 16: a gzip header, which has no name and no time: bytes that depend on
       the file alone */
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }

    do {
        n = read(SIDECAR_IN, in, sizeof(in));
        if (n < 0) {
            if (errno == EINTR) {
                n = 1;
                continue;
            }
            return -1;
        }
        z.next_in = in;
        z.avail_in = (uInt)n;
        if (sidecar_deflate(&z, n == 0) != 0) {
            return -1;
        }
    } while (n > 0);

    (void)deflateEnd(&z);
    return fsync(SIDECAR_OUT);
}

int sidecar_main(void)
{
    struct sandbox_limits limits = {SIDECAR_MEMORY, 0, SIDECAR_SECONDS};
    char error[512];

    /* jobs that somebody waits for come first */
    (void)setpriority(PRIO_PROCESS, 0, 10);

    if (sandbox_enter(&limits, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    if (sidecar_compress() != 0) {
        fprintf(stderr, "%s\n", strerror(errno));
        return 1;
    }
    return 0;
}

/* the parent --------------------------------------------------------------
 */

static void sidecar_path(const struct sidecar *sidecar, symcache_file_e kind,
                         char path[PATH_MAX])
{
    store_path(path, sidecar->root, &sidecar->key, &sidecar->version, kind);
}

/* Is there a file, and no sidecar that may be believed? */
static bool sidecar_needed(struct sidecar *sidecar)
{
    char path[PATH_MAX];
    struct stat gzip;

    sidecar_path(sidecar, SYMCACHE_FILE_PLAIN, path);
    if (lstat(path, &sidecar->plain) != 0 ||
        !S_ISREG(sidecar->plain.st_mode) || sidecar->plain.st_size == 0) {
        return false;
    }

    sidecar_path(sidecar, SYMCACHE_FILE_GZIP, path);
    return lstat(path, &gzip) != 0 || !S_ISREG(gzip.st_mode) ||
           gzip.st_mtime < sidecar->plain.st_mtime;
}

/* Gives it its name, if the file is still the one that was compressed. */
static int sidecar_publish(const struct sidecar *sidecar)
{
    char path[PATH_MAX];
    struct timespec times[2];
    struct stat now;

    sidecar_path(sidecar, SYMCACHE_FILE_PLAIN, path);
    if (stat(path, &now) != 0 || now.st_ino != sidecar->plain.st_ino ||
        now.st_dev != sidecar->plain.st_dev ||
        now.st_size != sidecar->plain.st_size) {
        errno = ESTALE;
        return -1;
    }

    times[0] = times[1] = now.st_mtim;
    if (stat(sidecar->tmp, &now) != 0 ||
        utimensat(AT_FDCWD, sidecar->tmp, times, 0) != 0) {
        return -1;
    }

    sidecar_path(sidecar, SYMCACHE_FILE_GZIP, path);
    if (rename(sidecar->tmp, path) != 0) {
        return -1;
    }
    metrics_add(METRIC_GZIP_MADE, 1);
    metrics_add(METRIC_GZIP_BYTES, (uint64_t)now.st_size);
    return 0;
}

static void sidecar_log(const struct sidecar *sidecar, int errnum,
                        const char *what)
{
    char path[PATH_MAX];

    metrics_add(METRIC_GZIP_FAILED, 1);
    sidecar_path(sidecar, SYMCACHE_FILE_GZIP, path);
    log_warn(errnum, "\"%s\" was not made: %s; the file itself is served",
             path, what);
}

static void sidecar_on_exit(void *arg, struct child_result *result)
{
    struct sidecars *sidecars = arg;
    struct sidecar *sidecar = sidecars->running;

    sidecars->running = NULL;
    sidecars->child = NULL;

    if (result->timed_out || !WIFEXITED(result->status) ||
        WEXITSTATUS(result->status) != 0) {
        result->tail[strcspn(result->tail, "\n")] = '\0';
        sidecar_log(sidecar, 0,
                    result->timed_out            ? "it took too long"
                    : !WIFEXITED(result->status) ? "its process was killed"
                                                 : result->tail);
    } else if (sidecar_publish(sidecar) != 0) {
        if (errno == ESTALE) {
            log_debug(0, "the file of a sidecar has changed meanwhile");
        } else {
            sidecar_log(sidecar, errno, "rename");
        }
    }

    sidecar_free(sidecar);
    event_active(sidecars->pump, 0, 0);
}

static struct child *sidecar_spawn(struct sidecars *sidecars, int in, int out)
{
    static const char *argv[] = {"symcached", "--gzip", NULL};
    static char *env[] = {NULL};
    int fds[2] = {in, out};
    struct child_options options = {
        .program = "/proc/self/exe",
        .argv = (char *const *)argv,
        .env = env,
        .fds = fds,
        .nfds = 2,
        .seconds = SIDECAR_SECONDS,
        .own = true,
    };

    return child_start(sidecars->base, &options, sidecar_on_exit, sidecars);
}

static int sidecar_start(struct sidecars *sidecars, struct sidecar *sidecar)
{
    char path[PATH_MAX];
    int in, out = -1, saved;

    sidecar_path(sidecar, SYMCACHE_FILE_PLAIN, path);
    in = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in != -1 && fstat(in, &sidecar->plain) == 0) {
        workdir_file(sidecar->workdir, sidecar->tmp);
        out =
            open(sidecar->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    }
    if (out != -1) {
        sidecars->child = sidecar_spawn(sidecars, in, out);
    }

    saved = errno;
    if (in != -1) {
        close(in);
    }
    if (out != -1) {
        close(out);
    }
    errno = saved;
    return sidecars->child != NULL ? 0 : -1;
}

static void sidecars_on_pump(evutil_socket_t fd, short events, void *arg)
{
    struct sidecars *sidecars = arg;
    struct sidecar *sidecar;

    while (sidecars->running == NULL &&
           (sidecar = TAILQ_FIRST(&sidecars->waiting)) != NULL) {
        TAILQ_REMOVE(&sidecars->waiting, sidecar, next);
        sidecars->nwaiting--;

        if (!sidecar_needed(sidecar)) {
            sidecar_free(sidecar);
        } else if (sidecar_start(sidecars, sidecar) != 0) {
            sidecar_log(sidecar, errno, "it cannot be started");
            sidecar_free(sidecar);
        } else {
            sidecars->running = sidecar;
        }
    }
}

static bool sidecar_is(const struct sidecar *sidecar, const char *root,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    return symcache_version_cmp(&sidecar->version, version) == 0 &&
           sidecar->key.age == key->age &&
           memcmp(sidecar->key.guid, key->guid, sizeof(key->guid)) == 0 &&
           strcmp(sidecar->key.name, key->name) == 0 &&
           strcmp(sidecar->root, root) == 0;
}

static bool sidecars_has(const struct sidecars *sidecars, const char *root,
                         const symcache_key_t *key,
                         const symcache_version_t *version)
{
    const struct sidecar *sidecar;

    TAILQ_FOREACH(sidecar, &sidecars->waiting, next)
    {
        if (sidecar_is(sidecar, root, key, version)) {
            return true;
        }
    }
    return false;
}

void sidecars_want(struct sidecars *sidecars, const char *root,
                   struct workdir *workdir, const symcache_key_t *key,
                   const symcache_version_t *version)
{
    struct sidecar *sidecar;

    if (sidecars->stopping || workdir == NULL ||
        sidecars_has(sidecars, root, key, version)) {
        return;
    }
    if (sidecars->nwaiting >= SIDECARS_WAITING) {
        metrics_add(METRIC_GZIP_SKIPPED, 1);
        return;
    }

    sidecar = calloc(1, sizeof(*sidecar));
    if (sidecar == NULL) {
        return;
    }
    sidecar->root = strdup(root);
    sidecar->workdir = workdir;
    symcache_key_copy(&sidecar->key, key);
    sidecar->version = *version;
    if (sidecar->root == NULL || !sidecar_needed(sidecar)) {
        sidecar_free(sidecar);
        return;
    }

    TAILQ_INSERT_TAIL(&sidecars->waiting, sidecar, next);
    sidecars->nwaiting++;
    event_active(sidecars->pump, 0, 0);
}

/* life ---------------------------------------------------------------------
 */

struct sidecars *sidecars_new(struct event_base *base)
{
    struct sidecars *sidecars = calloc(1, sizeof(*sidecars));

    if (sidecars == NULL) {
        return NULL;
    }
    TAILQ_INIT(&sidecars->waiting);
    sidecars->base = base;
    sidecars->pump = event_new(base, -1, 0, sidecars_on_pump, sidecars);
    if (sidecars->pump == NULL) {
        free(sidecars);
        return NULL;
    }
    return sidecars;
}

void sidecars_stop(struct sidecars *sidecars)
{
    struct sidecar *sidecar;

    sidecars->stopping = true;
    while ((sidecar = TAILQ_FIRST(&sidecars->waiting)) != NULL) {
        TAILQ_REMOVE(&sidecars->waiting, sidecar, next);
        sidecar_free(sidecar);
    }
    if (sidecars->running != NULL) {
        child_cancel(sidecars->child);
        sidecar_free(sidecars->running);
        sidecars->running = NULL;
    }
}

void sidecars_free(struct sidecars *sidecars)
{
    if (sidecars == NULL) {
        return;
    }
    sidecars_stop(sidecars);
    event_free(sidecars->pump);
    free(sidecars);
}
