/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/sandbox.h"
#include "symcache/symfile_verify.h"

#define INSPECT_FD CHILD_FD
#define INSPECT_SECONDS 60 /* of the processor */
#define INSPECT_WAIT 300   /* on the wall clock, with the fsync() */
#define INSPECT_MEMORY (256ull * 1024 * 1024) /* beside the mapping */

static const char inspect_magic[4] = {'S', 'Y', 'M', 'C'};

struct child *inspect_start(struct event_base *base, const char *file,
                            child_done_fn done, void *arg)
{
    static const char *argv[] = {"symcached", "--inspect", NULL};
    static char *env[] = {NULL};
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), saved;
    struct child_options options = {
        .program = "/proc/self/exe",
        .argv = (char *const *)argv,
        .env = env,
        .fds = &fd,
        .nfds = 1,
        .seconds = INSPECT_WAIT,
        .own = true,
    };
    struct child *child;

    if (fd < 0) {
        return NULL;
    }

    child = child_start(base, &options, done, arg);
    saved = errno;
    close(fd);
    errno = saved;
    return child;
}

static int inspect_say(int code, const char *what)
{
    fprintf(stderr, "%s\n", what);
    return code;
}

int inspect_main(void)
{
    struct sandbox_limits limits = {0, 0, INSPECT_SECONDS};
    struct symfile_reader reader;
    struct stat st;
    char error[512];
    void *map;

    if (fstat(INSPECT_FD, &st) != 0 || st.st_size <= 0) {
        return inspect_say(2, "nothing to inspect");
    }
    map =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, INSPECT_FD, 0);
    if (map == MAP_FAILED) {
        return inspect_say(2, strerror(errno));
    }

    /*
     * Here, so that the helper's own fsync() does not hold its loop up; and
     * who is told of a failure is the only one who is.
     */
    if (fsync(INSPECT_FD) != 0 && errno != EINVAL) {
        return inspect_say(2, strerror(errno));
    }

    limits.memory = (uint64_t)st.st_size + INSPECT_MEMORY;
    if (sandbox_enter(&limits, error, sizeof(error)) != 0) {
        return inspect_say(2, error);
    }

    if ((size_t)st.st_size < sizeof(inspect_magic) ||
        memcmp(map, inspect_magic, sizeof(inspect_magic)) != 0) {
        return 0;
    }
    if (symfile_reader_open(&reader, map, (size_t)st.st_size, error,
                            sizeof(error)) != SYMFILE_OPENED) {
        return inspect_say(1, error);
    }

    switch (symfile_verify(&reader, error, sizeof(error))) {
    case SYMFILE_SOUND:
        return 0;
    case SYMFILE_VIOLATED:
        return inspect_say(1, error);
    default:
        return inspect_say(2, "out of memory");
    }
}
