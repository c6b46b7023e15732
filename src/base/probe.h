/*
 * Copyright (C) the ngx_symcache authors
 *
 * What lies at a path that may be on a share which hangs.  A process of its
 * own looks, and is left to itself when it finds no end.
 */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include <sys/types.h>

/* A path answers within so many seconds of the process that looks. */
#define PROBE_SECONDS 3

/*
 * As stat() and then access(), with how as there; *mode is what st_mode would
 * be, or 0.  Returns 0, or -1 with errno: ETIMEDOUT only if the path did not
 * answer, ECHILD if somebody else ended each process that looked.
 */
int probe(const char *path, int how, mode_t *mode);

#endif
