/*
 * Copyright (C) the ngx_symcache authors
 *
 * Of the addresses of a host, one may take connections and never answer, and
 * resolvers give the same one first each time: the next connection goes to
 * another one.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct host;

/* What is known of one request. */
struct address_choice {
    bool connects; /* to an address that it may use */
    bool avoids;   /* has passed over one that gave no answer */
};

/* From CURLOPT_OPENSOCKETFUNCTION: may it connect to this one?  If not, libcurl
 * goes on to the next address.  host may be NULL. */
bool address_choice_takes(struct address_choice *choice,
                          const struct host *host,
                          const struct curl_sockaddr *address);

/*
 * The request has ended without an answer.  Returns true if it has passed over
 * the only addresses that the host has: it is to be sent again, to these.
 */
bool address_choice_is_none(struct address_choice *choice, struct host *host,
                            CURLcode code);

/* The same, if that was false.  fault: of the server or of the way to it. */
void address_choice_failed(const struct address_choice *choice,
                           struct host *host, CURL *easy, CURLcode code,
                           bool fault);
