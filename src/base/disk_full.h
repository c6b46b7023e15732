/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tells whether an errno means that there is no room on a disk.
 */
#ifndef BASE_DISK_FULL_H
#define BASE_DISK_FULL_H

#include <errno.h>
#include <stdbool.h>

/* Returns whether the disk is full, or a quota on it is used up. */
static inline bool disk_is_full(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT;
}

#endif
