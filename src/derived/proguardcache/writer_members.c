/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer_members.h"

#include <stddef.h>
#include <string.h>

uint64_t proguardcache_marked_hash(const struct proguardcache_writer *w,
                                   const struct proguardcache_marked *key)
{
    return table_hash((uintptr_t)w, key,
                      offsetof(struct proguardcache_marked, flags));
}

struct proguardcache_marked *
proguardcache_marked_find(const struct proguardcache_writer *w,
                          const struct proguardcache_marked *key)
{
    struct proguardcache_marked *marked;
    uint64_t hash = proguardcache_marked_hash(w, key);
    uintptr_t value;
    size_t at = 0;

    while ((value = table_next(&w->marks, hash, &at)) != 0) {
        marked = &w->marked[value - 1];
        if (memcmp(marked, key,
                   offsetof(struct proguardcache_marked, flags)) == 0) {
            return marked;
        }
    }
    return NULL;
}
