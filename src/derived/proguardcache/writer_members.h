/*
 * Copyright (C) the ngx_symcache authors
 *
 * The members of a writer, and those of them that are marked.
 */
#ifndef DERIVED_PROGUARDCACHE_WRITER_MEMBERS_H
#define DERIVED_PROGUARDCACHE_WRITER_MEMBERS_H

#include "writer.h"

#define PROGUARDCACHE_PIECE 16384 /* members that are allocated at once */

/* Among the flags of a record; not written. */
#define PROGUARDCACHE_INLINED 0x80000000u
#define PROGUARDCACHE_HAS_CLASS 0x40000000u /* the mapping has it */

static inline struct proguardcache_record *
proguardcache_record(const struct proguardcache_writer *writer, uint32_t index)
{
    return &writer->members[index / PROGUARDCACHE_PIECE]
                           [index % PROGUARDCACHE_PIECE];
}

/* The marks of a member; no flags are set. */
static inline struct proguardcache_marked
proguardcache_marked_key(const struct proguardcache_record *record)
{
    struct proguardcache_marked key = {record->class, record->name,
                                       record->arguments, 0};

    return key;
}

uint64_t proguardcache_marked_hash(const struct proguardcache_writer *writer,
                                   const struct proguardcache_marked *key);

/* Returns what has this key, or NULL. */
struct proguardcache_marked *
proguardcache_marked_find(const struct proguardcache_writer *writer,
                          const struct proguardcache_marked *key);

#endif
