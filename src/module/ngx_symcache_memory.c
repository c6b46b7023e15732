
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The memory of a zone: it is declared, laid out in the slab pool, and emptied.
 */


#include "ngx_symcache_memory.h"


/* there is one bucket for so many bytes of the zone */

#define NGX_SYMCACHE_MEMORY_BUCKET   256

#define NGX_SYMCACHE_MEMORY_DEFAULT  (8 * 1024 * 1024)


static ngx_int_t ngx_symcache_memory_init(ngx_shm_zone_t *shm_zone,
    void *data);
static ngx_int_t ngx_symcache_memory_lay_out(ngx_symcache_memory_t *memory);


char *
ngx_symcache_memory_declare(ngx_conf_t *cf, ngx_str_t *name, size_t size)
{
    ngx_shm_zone_t         *shm_zone;
    ngx_symcache_memory_t  *memory;

    shm_zone = ngx_shared_memory_add(cf, name, size, &ngx_symcache_module);
    if (shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (shm_zone->data) {
        return "is duplicate";
    }

    memory = ngx_pcalloc(cf->pool, sizeof(ngx_symcache_memory_t));
    if (memory == NULL) {
        return NGX_CONF_ERROR;
    }

    shm_zone->init = ngx_symcache_memory_init;
    shm_zone->data = memory;

    return NGX_CONF_OK;
}


ngx_shm_zone_t *
ngx_symcache_memory_default(ngx_conf_t *cf)
{
    static ngx_str_t  name = ngx_string("symcache");

    ngx_shm_zone_t  *shm_zone;

    shm_zone = ngx_shared_memory_add(cf, &name, 0, &ngx_symcache_module);

    if (shm_zone == NULL || shm_zone->shm.size) {
        return shm_zone;
    }

    if (ngx_symcache_memory_declare(cf, &name, NGX_SYMCACHE_MEMORY_DEFAULT)
        != NGX_CONF_OK)
    {
        return NULL;
    }

    return shm_zone;
}


static ngx_int_t
ngx_symcache_memory_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_symcache_memory_t *old = data;

    ngx_symcache_memory_t  *memory;

    memory = shm_zone->data;
    memory->name = &shm_zone->shm.name;

    if (old) {
        memory->sh = old->sh;
        memory->shpool = old->shpool;
        return NGX_OK;
    }

    memory->shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (shm_zone->shm.exists) {
        memory->sh = memory->shpool->data;
        return NGX_OK;
    }

    if (ngx_symcache_memory_lay_out(memory) != NGX_OK) {
        return NGX_ERROR;
    }

    memory->sh->changing = 0;

    return NGX_OK;
}


/*
 * In an empty pool.  The allocations and their order are always the same, so
 * that what has fitted once fits again.
 */

static ngx_int_t
ngx_symcache_memory_lay_out(ngx_symcache_memory_t *memory)
{
    size_t              n, size;
    ngx_slab_pool_t    *shpool;
    ngx_symcache_sh_t  *sh;

    shpool = memory->shpool;

    sh = ngx_slab_alloc_locked(shpool, sizeof(ngx_symcache_sh_t));
    if (sh == NULL) {
        return NGX_ERROR;
    }

    sh->changing = 1;
    ngx_memory_barrier();

    size = shpool->end - (u_char *) shpool;

    for (n = 1; n <= size / NGX_SYMCACHE_MEMORY_BUCKET / 2; n *= 2) {
        /* void */
    }

    sh->mask = n - 1;
    sh->buckets = ngx_slab_calloc_locked(shpool,
                                         n * sizeof(ngx_symcache_entry_t *));
    if (sh->buckets == NULL) {
        return NGX_ERROR;
    }

    ngx_queue_init(&sh->queue);

    sh->keys = 0;
    sh->nrecent = 0;
    ngx_memzero((void *) sh->counters, sizeof(sh->counters));

    size = sizeof(" in symcache_zone \"\"") + memory->name->len;

    shpool->log_ctx = ngx_slab_alloc_locked(shpool, size);
    if (shpool->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(shpool->log_ctx, " in symcache_zone \"%V\"%Z", memory->name);

    /* a full zone is normal: a key that was not used for long is evicted */

    shpool->log_nomem = 0;

    shpool->data = sh;
    memory->sh = sh;

    return NGX_OK;
}


void
ngx_symcache_memory_empty(ngx_symcache_memory_t *memory)
{
    ngx_atomic_t  counters[NGX_SYMCACHE_COUNTS];

    ngx_memcpy((void *) counters, (void *) memory->sh->counters,
               sizeof(counters));

    ngx_slab_init(memory->shpool);

    /* it cannot fail, as it had room in this pool before */

    (void) ngx_symcache_memory_lay_out(memory);

    ngx_memcpy((void *) memory->sh->counters, (void *) counters,
               sizeof(counters));

    ngx_memory_barrier();
    memory->sh->changing = 0;
}
