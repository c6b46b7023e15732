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

#include "body.h"
#include "sandbox/sandbox.h"
#include "symcache/symfile_verify.h"

#define INSPECT_FD CHILD_FD
#define INSPECT_SECONDS 60 /* of the processor */
#define INSPECT_WAIT 300   /* on the wall clock, with the fsync() */
#define INSPECT_HEAD 512
#define INSPECT_MEMORY (256ull * 1024 * 1024) /* beside the mapping */

static const char inspect_magic[4] = {'S', 'Y', 'M', 'C'};

struct child *inspect_start(struct event_base *base, const char *file,
                            bool received, child_done_fn done, void *arg)
{
    const char *argv[] = {"symcached", "--inspect",
                          received ? INSPECT_RECEIVED : NULL, NULL};
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

/*
 * What servers send in the place of a file, by mistake.  Not told: what it is,
 * if it is none of this.
 */
static bool inspect_is_other(const uint8_t *p, size_t len, const char **what)
{
    size_t i, n = len < INSPECT_HEAD ? len : INSPECT_HEAD;

    switch (body_sniff(p, len, what)) {
    case BODY_PDB:
    case BODY_CABINET:
    case BODY_GZIP:
    case BODY_ZSTD:
        return true;
    case BODY_ZLIB: /* two bytes that a file of another format may have */
    case BODY_OTHER:
        break;
    }
    if (strcmp(*what, "not a PDB") != 0 && strcmp(*what, "zlib data") != 0) {
        return true;
    }

    for (i = 0; i < n; i++) {
        if ((p[i] < ' ' && (p[i] < '\t' || p[i] > '\r')) || p[i] == 0x7f) {
            return false;
        }
    }
    *what = "text";
    return true;
}

int inspect_main(bool received)
{
    struct sandbox_limits limits = {0, 0, INSPECT_SECONDS};
    struct symfile_reader reader;
    struct stat st;
    const char *what;
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
        if (received && inspect_is_other(map, (size_t)st.st_size, &what)) {
            return inspect_say(1, what);
        }
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
