/*
 * Copyright (C) the ngx_symcache authors
 *
 * The server, for its pages and for who starts and ends it.
 */
#pragma once

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <time.h>
#include "rights.h"
#include "server.h"

struct server {
    struct event_base *base;
    struct scheduler *scheduler;
    struct guests *guests;                     /* or NULL */
    const struct guest_process *guest_process; /* or NULL */
    struct one_time_fetches *fetches; /* NULL: clients bring no URLs */
    const struct evict *evict;
    struct endpoint *lookups;
    struct endpoint *admin;  /* NULL: there is no such socket */
    struct endpoint *upload; /* likewise */
    struct event *drain;
    unsigned open;  /* requests that are not answered yet */
    bool is_stored; /* when it stops: what waited for a tier */
    struct daemon_reports *reports;
    struct ready *ready;
    struct uploads *uploads;
    struct symuploads *symuploads;
    struct tecken *tecken;
    struct pyroscope *pyroscope;
    struct metadata *metadata;
    struct forget_malformed *forget;
    struct evhttp_request *forgetting; /* the request that waits for it */
    char forgets[65];                  /* its store */
    unsigned forgot;                   /* entries in memory */
    time_t started;
    const char *config_stale; /* see server_config_stale() */
    void (*done)(void *arg);
    void *arg;
};

/* Finds the page of a request in the table of pages, and has it answer. */
void page_serve(struct server *server, enum rights_socket socket,
                struct evhttp_request *req);

/* A request was answered, or its connection is gone. */
void server_request_ended(void *arg);
