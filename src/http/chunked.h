/*
 * Copyright (C) the ngx_symcache authors
 *
 * A body in chunks (RFC 9112, 7.1), as strictly read as a head.  Extensions
 * and trailing fields are passed over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct http_chunked {
    size_t size;     /* bytes of the body, which are put together */
    uint64_t left;   /* bytes of the chunk */
    uint32_t over;   /* bytes of extensions and trailing fields */
    uint32_t digits; /* of the chunk's size */
    int state;
};

enum http_chunked_result {
    HTTP_CHUNKED_MORE, /* is needed */
    HTTP_CHUNKED_DONE,
    HTTP_CHUNKED_MALFORMED
};

/*
 * Reads on at data + chunked->size, where *size bytes end.  The parts of the
 * body are moved together there.  Unread bytes follow them within *size: the
 * data after the body once it is complete, or else nothing.
 */
enum http_chunked_result http_chunked_read(struct http_chunked *chunked,
                                           char *data, size_t *size);
