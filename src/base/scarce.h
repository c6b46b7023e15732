/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_SCARCE_H
#define BASE_SCARCE_H

#include <errno.h>
#include <stdbool.h>

/* Has something failed for want of descriptors or memory, which others give
 * back? */
static inline bool is_scarce(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

#endif
