/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys of a source that say how it is asked.  Their readers are
 * config_read_fn for a struct transport_config.
 */
#pragma once

#include <stddef.h>

#include "field.h"

enum transport_auth {
    TRANSPORT_NO_AUTH,
    TRANSPORT_BASIC,
    TRANSPORT_BEARER,
    TRANSPORT_NEGOTIATE, /* needs a header of its own, see spnego.h */
    TRANSPORT_SIGV4,     /* of S3 and GCS; user and password are its keys */
    TRANSPORT_SIGN       /* by the sign function of the source's type */
};

struct curl_slist;

/*
 * Signs a request for url that is about to be sent with the given headers,
 * each "Name: value".  Returns the headers, to which some may have been added.
 * When out of memory, frees them and returns NULL.  If another URL must be
 * asked instead, stores it in *instead, and the caller frees it.
 */
typedef struct curl_slist *(*transport_sign_fn)(const void *settings,
                                                const char *method,
                                                const char *url,
                                                struct curl_slist *headers,
                                                char **instead);

/* The requests that may connect to private, loopback and link-local
 * addresses. */
enum transport_internal {
    TRANSPORT_OUTSIDE,         /* none */
    TRANSPORT_INTERNAL,        /* the source, and whom it redirects to */
    TRANSPORT_INTERNAL_ORIGIN, /* requests to the source's own origin */
};

enum transport_http {
    TRANSPORT_HTTP_ANY, /* HTTP/2 if an https server offers it */
    TRANSPORT_HTTP_1_1,
    TRANSPORT_HTTP_2 /* also over http, without an upgrade */
};

struct header_config {
    char *name;
    char *value; /* secret */
};

#define TRANSPORT_WRITTEN 3

/* How a source is asked.  All texts may be NULL. */
struct transport_config {
    struct header_config *headers;
    size_t nheaders;
    enum transport_auth auth;
    char *user;     /* basic */
    char *password; /* basic; secret */
    char *token;    /* bearer; secret */
    transport_sign_fn sign;
    const void *sign_settings; /* of the source or the tier, which owns them */
    char *sigv4; /* provider, region and service, as libcurl wants them */
    char *written[TRANSPORT_WRITTEN]; /* how the file has user, password and
                                         session token of a bucket */
    unsigned renewals; /* how often these three have changed since */
    char *ca;          /* files */
    char *certificate;
    char *key;
    char *key_password; /* secret */
    char *proxy;        /* URL; secret, as it may have a password */
    char *user_agent;
    enum transport_http http;
    enum transport_internal internal;
    unsigned long long id; /* of its connections: no other one has it or the
                              next number, in this configuration or another */
};

config_read_fn config_headers;
config_read_fn config_auth;
config_read_fn config_tls;
config_read_fn config_proxy;
config_read_fn config_http_version;
config_read_fn config_internal; /* true, false, or "origin" */

/* Gives a transport that was read its id, and refuses keys that contradict each
 * other; item is the source.  Returns 0, or -1 with error set. */
int config_transport_check(struct config_reader *r, const cJSON *item,
                           struct transport_config *transport);

/* Adds copies to headers, which have room for one more.  Returns false without
 * memory. */
bool config_transport_add_header(struct transport_config *transport,
                                 const char *name, const char *value);

/* Frees the members of the struct, and wipes secrets. */
void config_transport_clear(struct transport_config *transport);

/* The keys of a bucket: user, password and session token, or NULL. */
struct bucket_keys {
    char *text[TRANSPORT_WRITTEN];
};

/* Reads keys again from their "@file" texts, because another program may renew
 * these files.  May block.  Returns 0, or -1 with the reason in error. */
int config_keys_read(const struct bucket_keys *written,
                     struct bucket_keys *keys, char *error, size_t size);

/* Uses other keys from the next request on, and counts that in
 * transport->renewals if they are others. */
void config_keys_use(struct transport_config *transport,
                     struct bucket_keys *keys);

void config_keys_clear(struct bucket_keys *keys); /* wipes them */
