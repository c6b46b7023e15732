/*
 * Copyright (C) the ngx_symcache authors
 */
#include "short_reply.h"

#include <string.h>

void short_reply_clear(struct short_reply *reply)
{
    reply->len = 0;
    reply->text[0] = '\0';
}

size_t short_reply_write(char *data, size_t size, size_t n, void *reply)
{
    struct short_reply *r = reply;
    size_t room = sizeof(r->text) - 1 - r->len;
    size_t len = size * n < room ? size * n : room;

    memcpy(r->text + r->len, data, len);
    r->len += len;
    r->text[r->len] = '\0';
    return size * n;
}
