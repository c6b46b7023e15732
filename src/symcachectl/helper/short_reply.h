/*
 * Copyright (C) the ngx_symcache authors
 *
 * The beginning of what a server replies to an upload: a small JSON object, or
 * a sentence.  The rest is passed over.
 */
#ifndef SYMCACHECTL_HELPER_SHORT_REPLY_H
#define SYMCACHECTL_HELPER_SHORT_REPLY_H

#include <stddef.h>

struct short_reply {
    char text[4096]; /* NUL-terminated */
    size_t len;
};

void short_reply_clear(struct short_reply *reply);

/* The CURLOPT_WRITEFUNCTION whose CURLOPT_WRITEDATA is the reply. */
size_t short_reply_write(char *data, size_t size, size_t n, void *reply);

#endif
