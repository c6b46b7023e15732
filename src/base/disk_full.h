/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tells whether an errno means that there is no room on a disk.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* Returns whether the disk is full, or a quota on it is used up. */
static inline bool disk_is_full(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT;
}
