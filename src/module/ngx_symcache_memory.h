
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The memory of a zone:
 *
 *   +-----------+---------------------------------------------------------+
 *   | slab pool | sh: one ngx_symcache_sh_t                               |
 *   | of nginx  |   buckets ---> chains of entries, by hash of the key    |
 *   |           |   queue -----> the latest first, the last goes first    |
 *   |           |   counters     atomic, without the lock                 |
 *   |           |   recent[16]   a ring of requests that got no file      |
 *   |           +---------------------------------------------------------+
 *   |           | buckets: a pointer for each 256 bytes of the zone       |
 *   |           +---------------------------------------------------------+
 *   |           | entries, 80 bytes and the PDB name each: 128 for names  |
 *   |           | up to 48 bytes, 256 for the others                      |
 *   |           |   next | scope | guid age | until | hash | what, n, ... |
 *   |           |   versions | retry_after | queue | name...              |
 *   +-----------+---------------------------------------------------------+
 *
 * A hit touches a bucket and the two cache lines of its entry, however many
 * keys there are.  It does not move the entry in the queue but marks it, and
 * what is marked when it comes to be the last gets a second turn.  A chain is
 * never longer than NGX_SYMCACHE_ZONE_CHAIN: who asks for keys with the same
 * hash pushes out his own.
 *
 * The mutex of the slab pool guards buckets, queue, entries and ring; nothing
 * is logged, hashed or allocated from another pool while it is held.  Who
 * changes something says so first: where a worker has died in the middle, the
 * next one finds that and empties the zone, the slab pool included, and keeps
 * the counters.  The layout may not change at a reload, and does not: module
 * code is only loaded by a new master process.
 */


#ifndef _NGX_SYMCACHE_MEMORY_H_INCLUDED_
#define _NGX_SYMCACHE_MEMORY_H_INCLUDED_


#include "ngx_symcache_zone.h"


typedef struct ngx_symcache_entry_s  ngx_symcache_entry_t;


struct ngx_symcache_entry_s {
    ngx_symcache_entry_t   *next;        /* in the bucket */
    uint64_t                scope;
    u_char                  guid[16];
    uint32_t                age;
    uint32_t                until;       /* ngx_symcache_zone_now() */
    uint32_t                hash;
    u_char                  what;
    u_char                  n;
    u_char                  gzipped;     /* bits: versions with a sidecar */
    u_char                  used;        /* since it was put in front */

    union {
        symcache_version_t      versions[NGX_SYMCACHE_VERSIONS];

        struct {                         /* if not PRESENT */
            symcache_version_t  version;
            uint32_t            spelling;
        } asked;
    } u;

    uint16_t                retry_after;
    u_char                  name_len;
    ngx_queue_t             queue;
    u_char                  name[1];
};


typedef struct {
    ngx_symcache_entry_t  **buckets;
    ngx_uint_t              mask;        /* of buckets, a power of two */
    ngx_queue_t             queue;
    ngx_uint_t              keys;
    ngx_uint_t              changing;    /* the above, entries, the pool */
    ngx_atomic_t            counters[NGX_SYMCACHE_COUNTS];
    ngx_uint_t              nrecent;
    ngx_symcache_recent_t   recent[NGX_SYMCACHE_RECENT];
} ngx_symcache_sh_t;


typedef struct {
    ngx_symcache_sh_t      *sh;
    ngx_slab_pool_t        *shpool;
    ngx_str_t              *name;
} ngx_symcache_memory_t;


/* A phrase for the directive if that is not possible. */
char *ngx_symcache_memory_declare(ngx_conf_t *cf, ngx_str_t *name,
    size_t size);

/* All keys are forgotten.  The lock is held. */
void ngx_symcache_memory_empty(ngx_symcache_memory_t *memory);


static ngx_inline void
ngx_symcache_memory_lock(ngx_symcache_memory_t *memory)
{
    ngx_shmtx_lock(&memory->shpool->mutex);

    if (memory->sh->changing) {
        ngx_symcache_memory_empty(memory);
    }
}


static ngx_inline void
ngx_symcache_memory_unlock(ngx_symcache_memory_t *memory)
{
    ngx_shmtx_unlock(&memory->shpool->mutex);
}


/* the same for who changes something of what "changing" is about */

static ngx_inline void
ngx_symcache_memory_change(ngx_symcache_memory_t *memory)
{
    ngx_symcache_memory_lock(memory);

    memory->sh->changing = 1;
    ngx_memory_barrier();
}


static ngx_inline void
ngx_symcache_memory_changed(ngx_symcache_memory_t *memory)
{
    ngx_memory_barrier();
    memory->sh->changing = 0;

    ngx_symcache_memory_unlock(memory);
}


#endif /* _NGX_SYMCACHE_MEMORY_H_INCLUDED_ */
