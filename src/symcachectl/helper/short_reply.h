/*
 * Copyright (C) the ngx_symcache authors
 *
 * The beginning of what a server replies to an upload: a small JSON object, or
 * a sentence.  The rest is passed over.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

struct short_reply {
    char text[4096]; /* NUL-terminated */
    size_t len;
    char error[CURL_ERROR_SIZE]; /* what libcurl says of a failure */
};

/* Prepares a request whose reply this becomes, with how long a server may take
 * to answer, and to store what it has got. */
void short_reply_begin(struct short_reply *reply, CURL *curl, const char *url,
                       struct curl_slist *headers);

/* Why there is no reply, with the address that was tried. */
void short_reply_failure(const struct short_reply *reply, CURLcode code,
                         char *reason, size_t size);

/* What is wrong, as the server says: {"error": ..., "detail": ...}; or what is
 * likely, after a status of the web server itself. */
void short_reply_reason(const struct short_reply *reply, long status,
                        char *reason, size_t size);

/* Is it what symcached answers about a file that it has? */
bool short_reply_is_stored(const struct short_reply *reply);

/* Which machines of a fleet do not know of the file yet, with commas; or "". */
void short_reply_untold(const struct short_reply *reply, char *untold,
                        size_t size);

/* Is it what symcached answers to a token that it does not know? */
bool short_reply_is_forbidden(const struct short_reply *reply);
