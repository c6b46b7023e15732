/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where symcached looked for a module: its page /v1/why, read for protocols
 * that tell their clients.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include "symbolicated/api/api.h"
#include "symbolicated/files/files.h"
#include "symcached_client.h"

/* About one module: store after store, from the first to the last. */
struct why_query_question {
    STAILQ_ENTRY(why_query_question) next;
    struct why_query_queue *queue;
    struct api_module *module;
    size_t store;
    size_t last;
    uint64_t left_out; /* of the first 64 stores, a set */
    uint64_t absence;  /* its number at the store when that was asked about; or
                        * 0: there was none */
    struct symcached_client *client;
    void *arg;
};

STAILQ_HEAD(attempts_questions, why_query_question);

/* The questions of a search. */
struct why_query_queue {
    struct event_base *base;
    const struct symcached_client_address *address;
    const struct store_config *const *stores; /* NULL: those of a tenant */
    const char *const *names;                 /* of these */
    struct module_cache *cache;               /* NULL: nothing is remembered */
    const int *roots;                         /* of the stores */
    struct module_asker asker;
    void (*fn)(void *arg);
    void *arg;
    unsigned running;
    struct attempts_questions waiting;
    struct attempts_questions asked;
    struct attempts_questions ended;
};

/* fn will be called with arg when a question has been answered.  What is
 * pointed to must outlive the queue. */
void why_query_begin(struct why_query_queue *queue, struct event_base *base,
                     const struct symcached_client_address *address,
                     const struct store_config *const *stores,
                     void (*fn)(void *arg), void *arg);

/*
 * What is answered about files that a store does not have is remembered with
 * their absence, and not asked for again as long as that is.  Not for tenants,
 * whose stores may have the same number.  roots: the folders of the stores,
 * which stay open and outlive the queue.
 */
void why_query_remember(struct why_query_queue *queue,
                        struct module_cache *cache, const int *roots,
                        const struct module_asker *asker);

/* Puts a question about a module into the queue, which asks about the stores
 * up to the last but those that are left out, and ends with the module's
 * attempts as far as they are known.  It must live until then. */
void why_query_ask(struct why_query_queue *queue,
                   struct why_query_question *question,
                   struct api_module *module, size_t last, void *arg);

/* Sends what waits, a few questions at a time.  Returns one that has ended, or
 * NULL; to be called until then, after why_query_ask() and in fn. */
struct why_query_question *why_query_ended(struct why_query_queue *queue);

/*
 * Adds what is known without a question: the array attempts of json, which
 * must live as long as the list.  Returns false without memory.
 */
bool why_query_note(struct api_attempts **list,
                    const struct store_config *store, const struct json *json,
                    uint32_t attempts);

/* Ends all questions; fn is not called any more. */
void why_query_cancel(struct why_query_queue *queue);

/* Frees all of a list, which is empty then. */
void why_query_free(struct api_attempts **list);
