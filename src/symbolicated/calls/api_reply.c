/*
 * Copyright (C) the ngx_symcache authors
 */
#include "api_reply.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of large answers that clients have not taken yet, of all threads. */
static atomic_uint_least64_t unsent;

static void on_taken(char *data, size_t size)
{
    atomic_fetch_sub(&unsent, size);
    free(data);
}

bool api_reply_send_large(struct api_reply *from, uint64_t most,
                          struct http_reply *reply)
{
    struct json_writer *writer = from->body;
    uint64_t others = atomic_fetch_add(&unsent, writer->size);

    if (others > 0 && others + writer->size > most) {
        atomic_fetch_sub(&unsent, writer->size);
        return false;
    }
    reply->release = on_taken;
    memset(writer, 0, sizeof(*writer));
    return true;
}

void api_reply_set_failed(struct api_reply *reply)
{
    reply->status = 503;
    reply->type = NULL;
    reply->nheaders = 0;
    api_reply_header(reply, "Retry-After", "1");
    json_write_reset(reply->body);
}

struct http_reply api_reply_http(const struct api_reply *reply,
                                 struct http_field *fields)
{
    unsigned i;

    for (i = 0; i < reply->nheaders; i++) {
        fields[i].name = reply->headers[i].name;
        fields[i].value = reply->headers[i].value;
    }
    return (struct http_reply){.status = reply->status,
                               .type = reply->type,
                               .fields = fields,
                               .nfields = reply->nheaders,
                               .body = reply->body->data,
                               .size = reply->body->size};
}
