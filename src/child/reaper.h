/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process that outlives the helper by a moment: when the helper is gone,
 * however that came about, it kills the process groups that the helper had
 * started.
 */
#ifndef SYMCACHED_GUARD_H
#define SYMCACHED_GUARD_H

#include <sys/types.h>

/* Starts it, early: it inherits what is open.  Returns 0, or -1 with errno. */
int guard_start(void);

/* A group to kill when the helper is gone, and one that ended before. */
void guard_add(pid_t group);
void guard_drop(pid_t group);

#endif
