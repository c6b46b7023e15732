/*
 * Copyright (C) the ngx_symcache authors
 *
 * A sandbox for a daemon that serves the network and reads files which were
 * made from untrusted input: no_new_privs, Landlock (where the kernel has it)
 * and a seccomp allow-list.  Afterwards it can read below some folders, accept
 * and make connections, and start threads.  It can write only to files in the
 * folders of its log and of large bodies, and cannot start a process, execute
 * a file, or make memory executable.
 */
#ifndef SANDBOX_DAEMON_SANDBOX_H
#define SANDBOX_DAEMON_SANDBOX_H

#include <stddef.h>

/* The access that stays allowed.  The paths are those of files, and may be
 * NULL. */
struct daemon_sandbox {
    const int *roots; /* open folders, below which files may be read */
    size_t nroots;
    const char *config; /* files in its folder may be read */
    const char *log;    /* files in its folder may be made and written */
    const char *socket; /* files in its folder may be removed */
    int spool; /* an open folder, in which files without names may be made; -1:
                  none */
    unsigned port; /* TCP port to connect to; 0 = none */
};

/*
 * Enters the sandbox.  To be called once, when all is open and before the
 * first thread starts.  Returns 0; 1 if the kernel has no Landlock, so that it
 * can read all that its user can read; or -1 with a sentence in error.  It is
 * an error if the kernel has no seccomp.
 */
int daemon_sandbox_enter(const struct daemon_sandbox *allowed, char *error,
                         size_t size);

#endif
