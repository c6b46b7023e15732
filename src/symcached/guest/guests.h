/*
 * Copyright (C) the ngx_symcache authors
 *
 * The stores that the guest helper has, and the slots for them.
 *
 * A list of sources is split: each source that is public has a store of its
 * own, which is the same for all scopes; the others of a list together have
 * one, for this scope and these sources only.  So files of a public source are
 * only served to clients that name that source with the same keys and the same
 * credentials.
 *
 * There are at most so many stores as the configuration says; for another one
 * the one goes that was not asked for the longest.  It takes a slot of the
 * scope that asked for it, until another scope asks for it as well; a scope
 * has at most a quarter, and drives out its own stores when it has more.
 * Stores that several scopes have asked for are counted by themselves.  So a
 * client cannot drive out the stores of others by making up lists.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include "config/config.h"

struct event_base;
struct guests;
struct scheduler;
struct tiers;

/*
 * Finds the stores that are in the folder of tenants; those of a release that
 * did not keep its names are removed.  config is the helper's, and tenants as
 * the operator's configuration has it.  NULL with errno.
 */
struct guests *guests_new(struct event_base *base, struct tiers *tiers,
                          struct config *config,
                          const struct tenants_config *tenants);

/*
 * Asks for the stores of a text: {"scope": ..., "sources": [...]}.  A source
 * has "name", "type", "layout", "casing", perhaps "public": true, and the keys
 * of the configuration for its place and credentials, of a "gcs" one "token";
 * one of the type "web" perhaps "scraped_headers", an object of texts, which
 * are sent for URLs that a client names directly (SYMCACHE_HINT_SCRAPED).
 * Parts of one public source have one name, behind which one may have "-sym".
 *
 * Returns {"tenants": [{"name": of a store, "sources": [their names]}]} in the
 * order of the list, to be deleted; or NULL with a status of HTTP and a
 * sentence.
 */
cJSON *guests_ask(struct guests *guests, const char *text, size_t size,
                  int *status, const char **detail);

/* The scheduler of the store of that name, which is in use thereby; or NULL.
 */
struct scheduler *guests_find(struct guests *guests, const char *name);

/*
 * Of the stores that were asked for last, to be deleted: {"name", "scope",
 * "listen", where they are asked, "sources", how many, "started", "asked"};
 * times are Unix times.
 */
cJSON *guests_json(const struct guests *guests);

/* The same: {"name", "scope", "jobs": scheduler_json()} of those with jobs. */
cJSON *guests_jobs(const struct guests *guests);

/* Adds to an array what get() tells of them, arrays, too. */
void guests_add(const struct guests *guests, cJSON *array,
                cJSON *(*get)(const struct scheduler *scheduler));

/* Sends the counts and guests_json() to a socket when they change, as one
 * message; takes it over. */
int guests_report(struct guests *guests, int fd);

/* Ends all jobs and answers their waiters.  No store is found any more. */
void guests_stop(struct guests *guests);

void guests_free(struct guests *guests); /* NULL is allowed */
