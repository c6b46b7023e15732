/*
 * Copyright (C) the ngx_symcache authors
 *
 * Does an errno say that there is no room?
 */
#ifndef BASE_DISK_FULL_H
#define BASE_DISK_FULL_H

#include <errno.h>
#include <stdbool.h>

/* The disk is full, or a quota on it is. */
static inline bool disk_is_full(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT;
}

#endif
