/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/digest_attribute.h"
#include "base/task.h"

#define LOOKS_MAX 4
#define SECONDS 600

struct stored_digest {
    char *path;
    char digest[SYMCACHE_DIGEST_TEXT + 1]; /* "" if it is not known */
    uint64_t size;
    int errnum; /* why it is not */
    stored_digest_done_fn done;
    void *arg;
};

static unsigned running; /* in the loop only */

static bool stored_read_all(int fd, char text[SYMCACHE_DIGEST_TEXT + 1])
{
    struct digest *digest = digest_read(fd, NULL);

    if (digest != NULL) {
        digest_text(digest, text);
    }
    digest_free(digest);
    return digest != NULL;
}

/* symcached replaces files and never writes to them, but a user may. */
static bool stored_is_same(const struct stat *before, int fd)
{
    struct stat now;

    return fstat(fd, &now) == 0 && now.st_size == before->st_size &&
           memcmp(&now.st_mtim, &before->st_mtim, sizeof(now.st_mtim)) == 0;
}

static void run_stored_digest(void *arg)
{
    static const struct timespec used[2] = {{.tv_nsec = UTIME_NOW},
                                            {.tv_nsec = UTIME_OMIT}};
    struct stored_digest *look = arg;
    char text[SYMCACHE_DIGEST_TEXT + 1];
    struct stat st;
    int fd = open(look->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        look->errnum = errno;
        return;
    }
    look->errnum = EIO;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (digest_sealed(fd, text) || stored_read_all(fd, text)) &&
        stored_is_same(&st, fd)) {
        (void)futimens(fd, used);
        digest_note_text(fd, text);
        digest_seal(fd);
        memcpy(look->digest, text, sizeof(text));
        look->size = (uint64_t)st.st_size;
    }
    close(fd);
}

static void stored_on_done(void *arg, bool late)
{
    struct stored_digest *look = arg;

    running--;
    if (late) {
        look->done(look->arg, NULL, 0, ETIMEDOUT);
    } else {
        look->done(look->arg, look->digest[0] != '\0' ? look->digest : NULL,
                   look->size, look->errnum);
    }
}

static void drop_stored_digest(void *arg)
{
    struct stored_digest *look = arg;

    free(look->path);
    free(look->arg);
    free(look);
}

int stored_digest_start(struct event_base *base, const char *path,
                        stored_digest_done_fn done, void *arg)
{
    static const struct task_calls calls = {run_stored_digest, stored_on_done,
                                            drop_stored_digest};
    struct stored_digest *look;

    if (running == LOOKS_MAX) {
        return EBUSY;
    }
    look = calloc(1, sizeof(*look));
    if (look == NULL || (look->path = strdup(path)) == NULL) {
        free(look);
        return ENOMEM;
    }
    look->done = done;
    if (task_start(base, SECONDS, &calls, look) == NULL) {
        return errno;
    }
    look->arg = arg;
    running++;
    return 0;
}
