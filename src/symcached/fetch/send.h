/*
 * Copyright (C) the ngx_symcache authors
 *
 * One HTTP request that fetches no file: PUT or POST with a body or without
 * one, HEAD, or DELETE.  There is one try, redirects are not followed, and the
 * state of the host does not matter: the caller has a breaker of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "response.h"

struct fetcher;
struct send;

struct send_request {
    const char *method; /* "PUT", "HEAD", "DELETE" or "POST" */
    const char *socket; /* path of a Unix socket to connect to, or NULL */
    const char *url;
    const struct transport_config *transport; /* with its credentials */
    const struct header_config *extra;        /* headers of this request */
    size_t nextra;
    int fd;           /* has the body, which is read with pread(): */
    uint64_t from;    /* its first byte, */
    uint64_t size;    /* and how many; 0: none, and fd is not used */
    unsigned connect; /* time limits in seconds: of one connection, */
    unsigned seconds; /* and of everything; */
    unsigned stall;   /* of a time without a byte; 0 = none */
};

struct send_result {
    const char *detail; /* the status, or one line of why there is none */
    const struct fetch_response *response; /* with status 0: there was none */
};

/* The texts and answer are valid during the call only. */
typedef void (*send_done_fn)(void *arg, const struct send_result *result);

/*
 * transport and fd must live until the end; the headers are copied.  done is
 * called once, never from inside this function; the handle is invalid then.
 * Returns NULL when out of memory or if the URL is none.
 */
struct send *send_start(struct fetcher *fetcher,
                        const struct send_request *request, send_done_fn done,
                        void *arg);

/* Ends the request; done is not called any more. */
void send_cancel(struct send *send);
