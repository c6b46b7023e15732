/*
 * Copyright (C) the ngx_symcache authors
 *
 * Asks the processor for memory that is read soon.  Of records that tell where
 * the next one is, it cannot know that itself, and no more what is behind the
 * end of a page.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How far a walk through records looks ahead: half a page. */
#define PREFETCH_AHEAD 2048

/* The memory so many bytes after p, where none need be. */
static inline void prefetch(const void *p, size_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)p + ahead));
}
