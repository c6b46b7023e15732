
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The memory of a zone:
 *
 *   +-----------+---------------------------------------------------------+
 *   | slab pool | sh: one ngx_symcache_sh_t                               |
 *   | of nginx  |   buckets ---> chains of entries, by hash of the key    |
 *   |           |   queue -----> the latest first; evicted from its end   |
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
 * keys there are.  It does not move the entry in the queue but marks it as
 * used.  An entry that is marked when it reaches the end of the queue gets a
 * second turn instead of being evicted.  A chain is never longer than
 * NGX_SYMCACHE_ZONE_CHAIN, so that a client that asks for keys with the same
 * hash evicts only keys of that hash, and does not slow others down.
 *
 * The mutex of the slab pool guards buckets, queue, entries and ring.  While it
 * is held nothing is logged, hashed or allocated from another pool.  Before a
 * worker changes anything it sets "changing".  If it dies in the middle, the
 * next worker finds that set and empties the zone, the slab pool included; the
 * counters are kept.  A reload cannot change the layout, because only a new
 * master process loads new code of the module.
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
    u_char                  gzipped;     /* bits: versions with a gzip file */
    u_char                  used;        /* since it was moved to the front */

    union {
        symcache_version_t      versions[NGX_SYMCACHE_VERSIONS];

        struct {                         /* if not PRESENT */
            symcache_version_t  version;
            uint32_t            spelling;
        } asked;
    } u;

    uint16_t                retry_after;
    u_char                  name_len;
    u_char                  kind;
    u_char                  id_type;     /* guid and age have its bytes */
    u_char                  build_len;
    ngx_queue_t             queue;
    u_char                  name[1];
};


typedef struct {
    ngx_symcache_entry_t  **buckets;
    ngx_uint_t              mask;        /* number of buckets - 1 */
    ngx_queue_t             queue;
    ngx_uint_t              keys;
    ngx_uint_t              changing;    /* above, entries or pool */
    ngx_atomic_t            counters[NGX_SYMCACHE_COUNTS];
    ngx_uint_t              nrecent;
    ngx_symcache_recent_t   recent[NGX_SYMCACHE_RECENT];
} ngx_symcache_sh_t;


typedef struct {
    ngx_symcache_sh_t      *sh;
    ngx_slab_pool_t        *shpool;
    ngx_str_t              *name;
} ngx_symcache_memory_t;


/* NGX_CONF_OK, NGX_CONF_ERROR, or the end of a message on the directive. */
char *ngx_symcache_memory_declare(ngx_conf_t *cf, ngx_str_t *name,
    size_t size);

/*
 * The zone "symcache", of locations that name none: as it is declared, or of
 * eight megabytes.  NULL if there is no memory or the name is taken.
 */
ngx_shm_zone_t *ngx_symcache_memory_default(ngx_conf_t *cf);

/* Forgets all keys.  The caller holds the lock. */
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


/* Locks and unlocks for a change, which "changing" announces. */

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
