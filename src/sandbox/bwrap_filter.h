/*
 * Copyright (C) the ngx_symcache authors
 *
 * The system calls denied to programs of other projects that read untrusted
 * files.
 */
#ifndef SANDBOX_BWRAP_FILTER_H
#define SANDBOX_BWRAP_FILTER_H

#include <stdbool.h>

/*
 * Makes a filter in the form that bwrap --seccomp takes: a descriptor of a
 * file in memory, at its beginning.  It denies (EPERM) calls by which bugs of
 * the kernel are reached, other processes looked into, namespaces made, or
 * memory taken that no limit counts; and sockets, but for those that lead
 * nowhere outside (AF_UNIX) and, with network, those of IP.  Returns -1 with
 * errno.
 */
int sandbox_bwrap_filter(bool network);

/*
 * Makes both filters, which later calls of the function above copy.  Where an
 * allocation fails, libseccomp can crash, compute without end, or leave calls
 * out of a filter, so a daemon has this done when it starts.  Returns 0, or -1
 * with errno.
 */
int sandbox_bwrap_prepare(void);

#endif
