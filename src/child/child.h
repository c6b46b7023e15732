/*
 * Copyright (C) the ngx_symcache authors
 *
 * One process that the helper starts: own process group, chosen descriptors
 * and nothing else inherited, limits, the end of its stderr kept.
 *
 * Knows nothing of what the process does.
 */
#ifndef SYMCACHED_CHILD_H
#define SYMCACHED_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct child;

/* bytes of stderr that are kept, the last ones */
#define CHILD_TAIL 4096

/* the first descriptor of child_options.fds, as the process sees it */
#define CHILD_FD 3

struct child_options {
    const char *program; /* a path; not looked for in PATH */
    char *const *argv;
    char *const *env;
    const char *cwd; /* NULL = / */
    const int *fds;  /* become CHILD_FD, CHILD_FD + 1, ...; stdin and stdout
                        are /dev/null */
    size_t nfds;
    uint64_t memory;  /* RLIMIT_AS, bytes; 0 = none */
    unsigned seconds; /* on the wall clock; 0 = none */
    bool own;         /* our own program: exec() is not waited for; should it
                         fail, the process ends with code 126 */
};

struct child_result {
    int status;     /* as from waitpid() */
    bool timed_out; /* killed because of options.seconds */
    unsigned ms;
    char *tail; /* of stderr, NUL-terminated; the callback may write in it */
    size_t tail_len;
};

/* The child is gone, and the handle with it, when this has returned. */
typedef void (*child_done_fn)(void *arg, struct child_result *result);

/*
 * Starts a process.  done is called once, never from inside this function.
 * Returns NULL with errno when it could not be started; an unknown program or
 * directory is seen here, unless options.own.
 */
struct child *child_start(struct event_base *base,
                          const struct child_options *options,
                          child_done_fn done, void *arg);

/* Kills the process group and reaps; no callback comes afterwards. */
void child_cancel(struct child *child);

#endif
