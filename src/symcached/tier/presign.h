/*
 * Copyright (C) the ngx_symcache authors
 *
 * URLs with which a client without keys can get one object of a bucket for
 * some time: signature version 4 in the query.  A pure function, no I/O.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

/* nginx reads it in one buffer with the rest of a header. */
#define PRESIGN_MAX 3072

struct presign {
    const char *url; /* of the object, percent-encoded, without a query */
    const char *region;
    const char *access_key;
    const char *secret_key;
    const char *session_token; /* or NULL */
    unsigned seconds;          /* it is good for so long */
    time_t now;
};

/* Writes the URL for GET into buf.  Returns false if it is too long. */
bool presign_get(char buf[PRESIGN_MAX], const struct presign *presign);
