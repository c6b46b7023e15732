/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a search is made of; for search.c only.
 */
#pragma once

#include "batch_request.h"
#include "why_query.h"
#include "search.h"
#include "tenant.h"

/*
 * One module on its way:
 *
 *   SEEK_DISK, store after store, each of which may need a look
 *      |-> found
 *      v
 *   SEEK_ASK, symcached about store after store
 *      |-> what it has published is looked at, and found
 *      v
 *   missing, malformed, failed, late
 *
 * At the end, SEEK_WHY: symcached is asked where it was looked for, store
 * after store, if the call wants to know and that is not remembered.
 *
 * For a tenant, SEEK_TENANT comes first.  Its stores are sources in the order
 * of a client's list: each is looked into, and asked, before the next one; and
 * nothing is remembered, as they may go at any time.
 */
enum seek_step { SEEK_TENANT, SEEK_DISK, SEEK_ASK, SEEK_WHY, SEEK_ENDED };

struct seek {
    struct search *search;
    struct api_module *wanted;
    enum seek_step step;
    size_t store;
    enum api_module_state worst; /* of the stores that do not have it */
    bool to_look;
    bool to_ask;
    bool unsure; /* symcached is to be asked */
    char *hints; /* of a tenant, for the store at which it is; or NULL */
    struct module *module;

    /* of SEEK_WHY */
    enum api_module_state settled; /* what has become of the module */
    struct why_query_question why;
};

struct search {
    struct searcher *searcher;
    struct settings *settings;
    size_t nstores; /* that are searched */
    const int *roots;
    const struct symcached_client_address *address;
    struct api_call *call;
    struct api_round *round;
    struct search *before; /* of the round before, or NULL */
    void (*done)(void *arg);
    void *arg;
    uint64_t begun;   /* microseconds: when the call was */
    uint64_t started; /* microseconds: when this round was */
    size_t open;      /* seeks that have not ended */
    const struct seek *failed; /* that call->failure is of, or NULL */
    size_t to_look;
    size_t to_ask;
    struct search_disk_lookups *disk_lookups; /* the newest */
    struct search_batch *batches;             /* the newest */
    struct why_query_queue whys; /* of seeks */
    struct tenant *tenant; /* NULL: the configured stores, or not there yet */
    struct symcached_client *client; /* by which it is asked for, or NULL */
    struct seek seeks[];
};

/* Files that a thread looks at.  The search may be gone when it is through. */
struct search_disk_lookups {
    struct search_disk_lookups *next;
    struct search *search;
    struct task *task;
    struct mapped_modules *mapped;
    struct tenant *tenant; /* kept open for the thread; or NULL */
    size_t n;
    struct search_disk_lookup {
        struct seek *seek;
        int root;
        symcache_key_t key;
        struct module_sight sight;
    } items[];
};

/* Seeks that symcached is asked for together. */
struct search_batch {
    struct search_batch *next;
    struct search *search;
    struct batch_request *ask;
    size_t n;
    struct seek *seeks[BATCH_KEYS_MAX];
};

/* Its tenant, which the next round of the call need not ask for; or NULL. */
static inline struct tenant *search_tenant(const struct search *search)
{
    return search != NULL ? search->tenant : NULL;
}
