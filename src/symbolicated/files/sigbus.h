/*
 * Copyright (C) the ngx_symcache authors
 *
 * Mapped files that are cut short while they are read.  The kernel answers a
 * read after the new end with SIGBUS; here zeros take the place of the whole
 * mapping, and whoever maps is told.  So a read of mapped memory always comes
 * to an end, in any thread and any function; what was read means nothing then.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#define SIGBUS_MAX 1000000 /* mappings at a time */

/* Takes SIGBUS over, for the process.  Returns 0, or -1 with errno. */
int sigbus_start(void);

/*
 * Guards a mapping of size bytes; *broken becomes true when it was replaced.
 * Returns a number for sigbus_remove(), or -1: there are SIGBUS_MAX.
 */
int sigbus_add(void *base, size_t size, atomic_bool *broken);

/* Before the mapping goes. */
void sigbus_remove(int number);
