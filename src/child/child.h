/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process that the helper starts.  It has its own process group and limits,
 * inherits only chosen descriptors, and the last bytes that it writes are kept.
 *
 * Nothing here blocks until the process ends.  A process that waits in the
 * kernel for a disk cannot be killed; it is abandoned, and reaped whenever it
 * ends.
 *
 * This room knows nothing of what the process does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct child;

/* how many of the last bytes of stdout and stderr, which are one pipe, are
   kept */
#define CHILD_TAIL 4096

/* the first descriptor of child_options.fds, as the process sees it */
#define CHILD_FD 3

struct child_options {
    const char *program; /* a path, PATH is not searched; NULL =
                            SANDBOX_PROGRAM */
    char *const *argv;
    char *const *env;
    const char *cwd; /* NULL = / */
    bool is_near; /* program and cwd are on disks that the caller waits for
                     anyway, so it may wait until the program is loaded */
    const int *fds;  /* become CHILD_FD, CHILD_FD + 1, ...; stdin is
                        /dev/null */
    size_t nfds;
    uint64_t memory;  /* that is the process's own, bytes; 0 = no limit */
    uint64_t mapped;  /* address space beside it, for files that it maps */
    uint64_t file;    /* RLIMIT_FSIZE, bytes; 0 = none */
    unsigned seconds; /* that it may run; 0 = no limit */
    unsigned first;   /* seconds until its first byte; 0 = no such limit */
    /*
     * If not NULL, called once after a successful start: when the process has
     * ended, or when child_settle() abandons it.  This may be long after the
     * handle became invalid.
     */
    void (*gone)(void *arg);
    void *gone_arg;
};

struct child_result {
    int error;      /* errno, if the program could not be started; or 0 */
    int status;     /* as from waitpid() */
    bool timed_out; /* killed because of options.seconds or options.first */
    bool silent;    /* if timed_out: it was options.first */
    unsigned ms;
    char *tail; /* the last that it wrote, NUL-terminated; the callback may
                   change it */
    size_t tail_len;
};

#define CHILD_END_SIZE 96

/* Prints how it ended, as people say it: "exit code 1", "signal 9 (Killed)".
 */
void child_end_print(char text[CHILD_END_SIZE],
                     const struct child_result *result);

/*
 * Called when the process has ended, or was killed and does not end.  The
 * handle is invalid when this returns.
 */
typedef void (*child_done_fn)(void *arg, struct child_result *result);

/*
 * Starts a process.  done is called once, never from inside this function.
 * Returns NULL with errno if no process can be made.  That the program or the
 * directory cannot be used is reported by done, in result.error.
 */
struct child *child_start(struct event_base *base,
                          const struct child_options *options,
                          child_done_fn done, void *arg);

pid_t child_pid(const struct child *child);

/* Kills the process group; done is still called at its end. */
void child_kill(struct child *child);

/* Kills the process group; done is not called any more.  NULL is allowed. */
void child_cancel(struct child *child);

/*
 * Waits after the loop's end for processes that were killed, and abandons
 * those that do not end within so many milliseconds.
 */
void child_settle(unsigned ms);

/*
 * The program that the helper starts for work in a sandbox.  It is not the
 * helper itself, because loading the helper's libraries would take most of the
 * time of such a process, which uses none of them.
 */

#define SANDBOX_PROGRAM "symcached-sandboxed"

/*
 * Opens the program, which lies next to the running one or in ../libexec from
 * there.  To be called once, at the start: a helper that goes on while another
 * version is installed keeps the program that speaks its language.  Returns 0,
 * or -1 with a sentence in error.
 */
int sandbox_program_open(char *error, size_t size);

/* The descriptor of the program, which can only be executed. */
int sandbox_program_fd(void);

/*
 * A process that kills the process groups that the helper has started when the
 * helper ends, also when that was killed itself.
 */

/* Starts the process.  To be called early, as it is a copy of the helper by
 * fork().  Returns 0, or -1 with errno. */
int reaper_start(void);

/* Adds a group to those to kill, in its first process before anything runs in
 * it, and removes one that has ended. */
void reaper_add(pid_t group);
void reaper_drop(pid_t group);
