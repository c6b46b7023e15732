/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stores of sources that clients of symbolicated bring: one for each scope and
 * list of sources, a tenant.  Each is a symcached of its own, which is started
 * when it is asked for and ends when nobody has asked for some time, with a
 * configuration that is written for it.  So nothing is shared among tenants or
 * with the operator's stores: no file, no connection, no breaker, no queue.
 *
 * A URL from a client may lead anywhere.  So a tenant connects to no private,
 * loopback or link-local address, unless the configuration names the host, and
 * reads no files but its own; sources of other types than HTTP servers and
 * buckets are refused.
 *
 * A client's credentials are in the memory of symcached and of its tenant, and
 * are sent to the client's host; they are on no disk.  They are a part of what
 * the tenant is named by, so whoever has others has another store.
 */
#ifndef SYMCACHED_TENANT_H
#define SYMCACHED_TENANT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

struct event_base;
struct tenants;

/* The name of a tenant is the beginning of an HMAC-SHA-256 in hex. */
#define TENANT_NAME 32

struct tenant_answer {
    int status;         /* as of HTTP: 200, or an error */
    const char *name;   /* 200: folder below the root, with the socket "sock"
                           and the folder "store" */
    const char *detail; /* of an error: a sentence */
};

typedef void (*tenant_fn)(void *arg, const struct tenant_answer *answer);

/*
 * Makes the folder of tenants, and removes what is left in it of those of a
 * former process.  NULL with errno.
 */
struct tenants *tenants_new(struct event_base *base,
                            const struct tenants_config *config,
                            const struct limits_config *limits);

/*
 * Asks for the tenant of a text: {"scope": ..., "sources": [...]}, of which
 * each byte counts.  A source has "name", "type", "layout", "casing" and
 * "modules" ("all", "pdb", "other"), and the keys of the configuration for its
 * place and credentials, of a "gcs" one "token".  fn is called once,
 * when the tenant takes questions, or with an error; perhaps from inside this
 * function.
 */
void tenants_ask(struct tenants *tenants, const char *text, size_t size,
                 tenant_fn fn, void *arg);

/*
 * A list of them, to be deleted: {"name", "scope", "listen", the address of its
 * symcached, "sources", how many, "started", "asked"}; times are Unix times.
 * tenants may be NULL.
 */
cJSON *tenants_json(const struct tenants *tenants);

/* Ends all of them; who waits for one is answered. */
void tenants_free(struct tenants *tenants); /* NULL is allowed */

#endif
