/*
 * Copyright (C) the ngx_symcache authors
 *
 * The head of an answer of a server.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "server.h"

#define HTTP_REPLY_HEAD_MAX 4096

/* How long the body is. */
enum http_framing {
    HTTP_SIZED,
    HTTP_IN_CHUNKS,
    HTTP_UNTIL_CLOSED
};

/*
 * Prints it, with its empty line, to HTTP_REPLY_HEAD_MAX bytes.  Returns its
 * size, or 0 if there is too much in it, or a line end in a value.
 */
size_t http_reply_head(char *head, const struct http_reply *reply,
                       const char *date, enum http_framing framing,
                       bool closes);
