/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a daemon gives up that faces the network and reads files made of what
 * strangers sent: no_new_privs, Landlock (where the kernel has it) and a
 * seccomp allow-list.  Afterwards it can read below some folders, accept and
 * make connections, and start threads; it can write to no file but its log,
 * start no process and execute nothing, also no code that it wrote itself.
 */
#ifndef SANDBOX_SERVE_H
#define SANDBOX_SERVE_H

#include <stddef.h>

/* What stays allowed; paths are of files in a folder, and may be NULL. */
struct sandbox_serving {
    const int *roots; /* open folders, to read below */
    size_t nroots;
    const char *config; /* its folder may be read */
    const char *log;    /* its folder may be written to */
    const char *socket; /* may be removed from its folder */
    unsigned port;      /* TCP, to connect to; 0 = none */
};

/*
 * Call once, when all is open and before the first thread.  Returns 0, or -1
 * with a sentence in error.  A kernel without Landlock is no error; one
 * without seccomp is.
 */
int sandbox_serve(const struct sandbox_serving *allowed, char *error,
                  size_t size);

#endif
