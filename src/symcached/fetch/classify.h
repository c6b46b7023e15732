/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides what the end of a request means: for the lookup, for another try,
 * and for the host's circuit breaker.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include "source_outcome.h"

struct classification {
    enum source_outcome outcome;
    bool transient;       /* another try may succeed */
    bool fault;           /* counts as a failure of the host */
    unsigned retry_after; /* seconds that the server asked for, or 0 */
    int errnum;           /* why a connection failed, or 0 */
    char detail[CURL_ERROR_SIZE + 64];
};

void classify_say(struct classification *class, enum source_outcome outcome,
                  bool transient, const char *detail);

/*
 * A complete answer with a status other than 200.  retry_after is the number
 * of seconds that it asks for, or 0.
 */
void classify_status(struct classification *class, long status,
                     unsigned retry_after);

/* The answer has a Retry-After: what is absent now may exist later. */
void classify_again(struct classification *class);

/*
 * A request that was not completed; text is libcurl's message.  With CURLE_OK,
 * libcurl has accepted a header that was cut off as if it were complete.
 * status is that of the answer, or 0 if none arrived.
 */
void classify_error(struct classification *class, CURLcode code,
                    const char *text, long status);

/* Notes why there was no connection, if there was none. */
void classify_connection(struct classification *class, CURLcode code,
                         CURL *easy);

/*
 * Returns why a redirect between two URLs must not be followed, or NULL.
 * secure: an earlier hop used https.
 */
const char *classify_redirect(const char *from, const char *to, bool secure);
