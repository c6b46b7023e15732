/*
 * Copyright (C) the ngx_symcache authors
 */
#include "input_buffer.h"

#include <stdlib.h>
#include <string.h>

/* Behind what follows a request. */
#define REST_ROOM 1024

bool http_input_resize(struct http_input **input, size_t room)
{
    struct http_input *in = realloc(*input, sizeof(*in) + room);

    if (in == NULL) {
        return false;
    }
    if (*input == NULL) {
        in->begin = in->size = 0;
    }
    in->room = room;
    *input = in;
    return true;
}

void http_input_free(struct http_input *input)
{
    free(input);
}

bool http_input_spool(struct http_input *input, size_t at, size_t size,
                      struct spool *spool)
{
    if (spool_write(spool, input->data + at, size) != 0) {
        return false;
    }
    memmove(input->data + at, input->data + at + size,
            input->size - at - size);
    input->size -= size;
    return true;
}

struct http_input *http_input_split(struct http_input **input, size_t at)
{
    struct http_input *former = *input, *rest = NULL;
    size_t size = former->size - at;

    if (!http_input_resize(&rest, size + REST_ROOM)) {
        return NULL;
    }
    memcpy(rest->data, former->data + at, size);
    rest->size = size;
    *input = rest;
    return former;
}
