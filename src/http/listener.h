/*
 * Copyright (C) the ngx_symcache authors
 *
 * The listening socket of a daemon, and the file of a Unix socket.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct listener {
    int fd;
    char *path; /* of a Unix socket that was made here, or NULL */
    dev_t device;
    ino_t inode;
};

/*
 * Listens on "unix:/path", whose file gets the mode, or on "address:port"; on
 * the socket that the service manager has there, if there is one
 * (base/service_manager.h).  Returns 0, or -1 with a sentence in error; an
 * address that is in use costs half a second.
 */
int listener_open(struct listener *listener, const char *address, mode_t mode,
                  char *error, size_t size);

/* Removes the socket's file if it is still the one that was made here: another
 * process may have replaced it. */
void listener_unlink(struct listener *listener);
