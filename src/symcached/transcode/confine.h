/*
 * Copyright (C) the ngx_symcache authors
 *
 * The profile of a transcoder: its permissions besides computing.  A confined
 * transcoder is run by bwrap (bubblewrap), in namespaces of its own: it sees
 * the system's programs and libraries, the paths of "read", its PDB and its
 * work folder, and of these only the last is writable; no other process; and
 * no network, unless "network" says so.  None of its processes outlives it.
 *
 *   strict   is denied calls of the kernel that converters do not need, too
 *   wine     may make namespaces again, as symcachegen-wine does
 *   none     is not confined
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "command_line.h"

/* Processes and threads of a confined transcoder, if Linux counts them for each
 * namespace (since 5.14); otherwise of all processes of the user. */
#define CONFINE_TASKS 256

struct confine {
    int fds[2]; /* for the child, from CHILD_FD on: what bwrap tells of the
                   run, and a filter of system calls */
    size_t nfds;
    bool is_other; /* it runs as uid and gid, and not as we do */
    uid_t uid;
    gid_t gid;
};

/*
 * Makes the resources of a run; confine must be all zeroes.  Call
 * confine_clear() even after an error.  Returns 0, or -1 with a sentence in
 * error.
 */
int confine_begin(struct confine *confine,
                  const struct transcoder_config *transcoder, char *error,
                  size_t size);

void confine_clear(struct confine *confine);

/* Gives a path to the user that the transcoder runs as.  Returns 0, or -1 with
 * errno. */
int confine_give(const struct confine *confine, const char *path);

/* Takes a file that the transcoder made, at which it is not to write again. */
void confine_take(const struct confine *confine, const char *path);

/*
 * Has a command that command_fill() has filled run by bwrap.  Returns 0, or -1
 * with a sentence in error.
 */
int confine_command(const struct confine *confine, struct command *command,
                    const struct transcoder_config *transcoder,
                    const struct command_paths *paths, char *error,
                    size_t size);

/* Did the transcoder run, so that the exit code is its own and not that of
 * bwrap?  To be asked when the process has ended by itself. */
bool confine_ran(const struct confine *confine);

/* Returns the status of the transcoder for that of bwrap, which tells of a
 * signal by an exit code, as shells do.  Both are as from waitpid(). */
int confine_status(int status);

/*
 * Returns a pidfd that is readable when all processes of the namespace have
 * ended, shortly after bwrap has; or -1 if there is none left.
 */
int confine_processes(const struct confine *confine);
