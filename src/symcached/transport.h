/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a source is talked to: what is sent along, who we say that we are, whom
 * we trust, and the way there.
 */
#ifndef SYMCACHED_TRANSPORT_H
#define SYMCACHED_TRANSPORT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

enum transport_auth {
    TRANSPORT_NO_AUTH,
    TRANSPORT_BASIC,
    TRANSPORT_BEARER,
    TRANSPORT_NEGOTIATE, /* needs a header of its own, see ticket.h */
    TRANSPORT_SIGV4      /* of S3 and GCS; user and password are its keys */
};

enum transport_http {
    TRANSPORT_HTTP_ANY, /* 2 where an https server offers it */
    TRANSPORT_HTTP_1_1,
    TRANSPORT_HTTP_2 /* on http without asking first */
};

struct header_config {
    char *name;
    char *value; /* secret */
};

/* All texts may be NULL. */
struct transport_config {
    struct header_config *headers;
    size_t nheaders;
    enum transport_auth auth;
    char *user;     /* basic */
    char *password; /* basic; secret */
    char *token;    /* bearer; secret */
    char *sigv4;    /* provider, region and service, as libcurl wants them */
    char *ca;       /* files */
    char *certificate;
    char *key;
    char *key_password; /* secret */
    char *proxy;        /* URL; secret, as it may have a password */
    char *user_agent;
    enum transport_http http;
    bool internal; /* may connect to private and loopback addresses */
};

/* Sets what is the same for every request of ours. */
void transport_prepare(CURL *easy);

/*
 * Sets everything but the headers for the next request to url.  home: url is
 * of the source's own origin, and gets its credentials; otherwise those of an
 * earlier request are taken from the handle.  The texts must live as long as
 * the handle.
 */
CURLcode transport_apply(const struct transport_config *transport, CURL *easy,
                         const char *url, bool home);

/*
 * Appends n headers to list.  Returns the new list, or NULL when out of
 * memory; list is freed then.
 */
struct curl_slist *transport_headers(const struct header_config *headers,
                                     size_t n, struct curl_slist *list);

/* Frees what the struct points to, secrets wiped. */
void transport_clear(struct transport_config *transport);

#endif
