/*
 * Copyright (C) the ngx_symcache authors
 *
 * The head of an HTTP/1.1 request (RFC 9112): its request line and fields.
 * Where a proxy before us could understand a head in another way than we do,
 * it is refused: lines end in CR LF, no field is folded, and one thing only
 * tells how long the body is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX 65536 /* bytes of a head */

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_OPTIONS,
    HTTP_OTHER
};

/* Texts are given by their offsets from the head's first byte. */
struct http_head {
    enum http_method method;
    uint32_t path;   /* as sent, without the query */
    uint32_t query;  /* 0: there is none */
    uint32_t fields; /* for http_head_find() */
    bool is_chunked;
    bool is_http10;  /* its client knows no "100 Continue" */
    bool closes;     /* the connection ends with the answer */
    bool is_awaited; /* the body, with a "100 Continue" */
    uint64_t length; /* of the body; UINT64_MAX: it is beyond 64 bits */
};

/*
 * Finds the end of a head in size bytes.  *seen is 0 at first, and remembers
 * how far an earlier call has come.  Returns the number of bytes, the empty
 * line included; 0 if there are not enough bytes yet, or the status of an
 * answer, negated.
 */
int http_head_find_end(const char *data, size_t size, uint32_t *seen);

/*
 * Reads a head of that many bytes, and changes them: texts become strings.
 * Returns 0, or the status of an answer.
 */
int http_head_parse(char *data, size_t size, struct http_head *head);

/* The value of the first field of that name, or NULL. */
const char *http_head_find(const char *data, const struct http_head *head,
                           const char *name);
