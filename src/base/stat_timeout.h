/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds out what lies at a path that may be on a network share which hangs.  A
 * separate process looks, and is abandoned if it does not answer.
 */
#pragma once

#include <sys/types.h>

/* How long the process may look at a path, once it has started. */
#define PROBE_SECONDS 3

/*
 * Calls stat() and then access() with the mode how.  *mode becomes st_mode, or
 * 0 if stat() failed.  Returns 0, or -1 with errno: ETIMEDOUT if the path
 * itself did not answer, EAGAIN if the process did not start in time, ECHILD
 * if each process that looked was killed from outside.
 */
int stat_with_timeout(const char *path, int how, mode_t *mode);
