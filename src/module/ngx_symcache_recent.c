
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The record of a request that got no file, for the status page.
 */


#include "ngx_symcache_zone.h"


void
ngx_symcache_recent_fill(ngx_symcache_recent_t *recent,
    ngx_symcache_ctx_t *ctx)
{
    size_t  i, len;

    /* cleared, as it is copied to shared memory as a whole */

    ngx_memzero(recent, sizeof(ngx_symcache_recent_t));

    recent->time = ngx_time();
    recent->status = ctx->status;
    recent->version = ctx->ask.version;

    symcache_id_print((char *) recent->id, &ctx->asked.key);

    len = ngx_min(ctx->asked.key.name_len, NGX_SYMCACHE_RECENT_NAME);

    /* a name that is cut must not end in the middle of a character */

    while (len && len < ctx->asked.key.name_len
           && (ctx->asked.key.name[len] & 0xc0) == 0x80)
    {
        len--;
    }

    ngx_memcpy(recent->name, ctx->asked.key.name, len);

    len = ngx_min(ctx->reason.len, NGX_SYMCACHE_RECENT_REASON);

    for (i = 0; i < len; i++) {
        recent->reason[i] = (ctx->reason.data[i] >= ' '
                             && ctx->reason.data[i] < 0x7f)
                            ? ctx->reason.data[i] : '?';
    }
}
