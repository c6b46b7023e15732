/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* Has something failed for want of descriptors or memory, which others give
 * back? */
static inline bool is_scarce(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}
