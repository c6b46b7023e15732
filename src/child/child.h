/*
 * Copyright (C) the ngx_symcache authors
 *
 * One process that the helper starts: own process group, chosen descriptors
 * and nothing else inherited, limits, the end of what it writes kept.
 *
 * Nothing here waits for the process.  One that waits in the kernel for a
 * disk that does not answer cannot be killed: it is left to itself, and reaped
 * whenever it ends.
 *
 * Knows nothing of what the process does.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "reaper.h"

struct event_base;
struct child;

/* bytes of stdout and stderr, which are one pipe, that are kept: the last */
#define CHILD_TAIL 4096

/* the first descriptor of child_options.fds, as the process sees it */
#define CHILD_FD 3

struct child_options {
    const char *program; /* a path; not looked for in PATH */
    char *const *argv;
    char *const *env;
    const char *cwd; /* NULL = / */
    const int *fds;  /* become CHILD_FD, CHILD_FD + 1, ...; stdin is
                        /dev/null */
    size_t nfds;
    uint64_t memory;  /* RLIMIT_AS, bytes; 0 = none */
    uint64_t file;    /* RLIMIT_FSIZE, bytes; 0 = none */
    unsigned seconds; /* on the wall clock; 0 = none */
    unsigned first;   /* of them, to the first byte that it writes; 0 = all */
    /*
     * Called once after a start that succeeded, when there is no process any
     * more or child_settle() gives it up, which may be long after the handle
     * has gone; or NULL.
     */
    void (*gone)(void *arg);
    void *gone_arg;
};

struct child_result {
    int error;      /* errno, if the program could not be started; or 0 */
    int status;     /* as from waitpid() */
    bool timed_out; /* killed because of options.seconds, or ... */
    bool silent;    /* ... because of options.first */
    unsigned ms;
    char *tail; /* of what it wrote, NUL-terminated; the callback may write in
                   it */
    size_t tail_len;
};

/*
 * The process is gone, or was killed and does not end; the handle is gone when
 * this has returned.
 */
typedef void (*child_done_fn)(void *arg, struct child_result *result);

/*
 * Starts a process.  done is called once, never from inside this function.
 * Returns NULL with errno when there can be no process; an unknown program or
 * directory is told by done.
 */
struct child *child_start(struct event_base *base,
                          const struct child_options *options,
                          child_done_fn done, void *arg);

/* Kills the process group; done tells of the end. */
void child_kill(struct child *child);

/* Kills the process group; no callback comes afterwards. */
void child_cancel(struct child *child);

/*
 * Waits, when the loop has ended, for what was killed, and forgets what does
 * not end within so many milliseconds.
 */
void child_settle(unsigned ms);

#endif
