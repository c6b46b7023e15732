/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fetcher.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/event.h"
#include "fetch.h"

/* A pool without transfers is dropped after this time, which is the longest
 * that libcurl uses a kept connection.  It has descriptors of its own, too. */
#define POOL_IDLE_MS 118000

/* How often sockets are looked at that the event loop cannot watch. */
static const struct timeval fetcher_look_again = {0, 100000};

static const struct timeval fetcher_pool_idle = {POOL_IDLE_MS / 1000, 0};

/* Idle connections that a pool keeps: there is one for each transport, twice,
 * and a reload makes new ones. */
#define POOL_CONNECTIONS 4L

/* Pools that are kept without transfers, of all fetchers.  One has 47 KB and
 * up to five descriptors, and each tenant has a fetcher and pools of its own.
 */
#define POOLS_IDLE_MAX 64

#ifndef CURL_IGNORE_DEPRECATION /* before libcurl 7.87 */
#define CURL_IGNORE_DEPRECATION(statement) statement
#endif

struct fetcher_pool {
    LIST_ENTRY(fetcher_pool) entry;
    TAILQ_ENTRY(fetcher_pool) by_idle; /* while it has no transfers */
    struct fetcher *fetcher;
    CURLM *multi;
    struct event *timer;
    struct event *go_on; /* see fetcher_go_on() */
    bool unwatched;      /* a socket is not watched, for want of memory */
    unsigned long long transport; /* its id */
    bool credentials;
    bool is_left; /* it gets no more transfers */
    unsigned transfers;
    uint64_t idle; /* clock_ms() when the last one ended */
};

/* The pools without transfers, of all fetchers; those that had none for the
 * longest first. */
static struct {
    TAILQ_HEAD(, fetcher_pool) list;
    unsigned n;
} idle = {TAILQ_HEAD_INITIALIZER(idle.list), 0};

struct fetcher {
    struct event_base *base;
    struct hosts *hosts;
    LIST_HEAD(, fetcher_pool) pools;
    struct event *dropper; /* pending if there is a pool */
    unsigned long long oldest; /* id of a transport of the configuration */
};

/*
 * Calls the owners of finished transfers, who may add and remove transfers in
 * turn.
 */
static void fetcher_collect(struct fetcher_pool *pool)
{
    struct fetcher_slot *slot;
    CURLMsg *message;
    CURLcode code;
    CURL *easy;
    int left;

    while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }

        /* The message is freed when the handle is removed. */
        easy = message->easy_handle;
        code = message->data.result;
        slot = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
        fetcher_remove(slot, easy);
        slot->done(slot->arg, code);
    }
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher_pool *pool = arg;
    int running, flags = 0;

    flags |= (what & EV_READ) != 0 ? CURL_CSELECT_IN : 0;
    flags |= (what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0;
    curl_multi_socket_action(pool->multi, fd, flags, &running);
    fetcher_collect(pool);
}

static void fetcher_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher_pool *pool = arg;
    int running;

    curl_multi_socket_action(pool->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    fetcher_collect(pool);
}

/* curl_multi_perform() would not say which sockets are to be watched then: of
 * a transfer that it takes on, an answer could come and wake nobody. */
static void on_go_on(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher_pool *pool = arg;
    int running;

    CURL_IGNORE_DEPRECATION(curl_multi_socket_all(pool->multi, &running);)
    fetcher_collect(pool);
    if (pool->unwatched) {
        evtimer_add(pool->go_on, &fetcher_look_again);
    }
}

/* Has a transfer no connection yet? */
static bool fetcher_is_connecting(CURL *easy)
{
    curl_off_t connected = 0; /* microseconds */

    curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
    return connected == 0;
}

static int fetcher_set_timer(CURLM *multi, long ms, void *arg)
{
    struct fetcher_pool *pool = arg;
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    if (ms < 0) {
        return evtimer_del(pool->timer);
    }
    return evtimer_add(pool->timer, &delay);
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                      void *socket_arg)
{
    static const struct timeval at_once;
    struct fetcher_pool *pool = arg;
    struct event *event = socket_arg;
    short flags = EV_PERSIST;

    if (event != NULL) {
        event_free(event);
        event = NULL;
    }

    if (what != CURL_POLL_REMOVE) {
        flags |= (what & CURL_POLL_IN) != 0 ? EV_READ : 0;
        flags |= (what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0;
        event =
            event_new(pool->fetcher->base, fd, flags, on_socket, pool);
        if (event == NULL || event_add(event, NULL) != 0) {
            /* libcurl would keep a pointer to the transfer after its end, if
             * this failed */
            event_drop(event);
            event = NULL;
            pool->unwatched = true;
            evtimer_add(pool->go_on, &fetcher_look_again);
        }
    } else if (fetcher_is_connecting(easy)) {
        /* an address did not answer, and there may be another one */
        evtimer_add(pool->go_on, &at_once);
    }

    curl_multi_assign(pool->multi, fd, event);
    return 0;
}

static void become_idle(struct fetcher_pool *pool)
{
    pool->idle = clock_ms();
    pool->unwatched = false;
    TAILQ_INSERT_TAIL(&idle.list, pool, by_idle);
    idle.n++;
}

static void fetcher_become_busy(struct fetcher_pool *pool)
{
    TAILQ_REMOVE(&idle.list, pool, by_idle);
    idle.n--;
}

static void pool_free(struct fetcher_pool *pool)
{
    LIST_REMOVE(pool, entry);
    if (pool->transfers == 0) {
        fetcher_become_busy(pool);
    }
    if (pool->multi != NULL) {
        curl_multi_cleanup(pool->multi);
    }
    event_drop(pool->timer);
    event_drop(pool->go_on);
    free(pool);
}

/* Returns NULL when out of memory. */
static struct fetcher_pool *pool_new(struct fetcher *fetcher,
                                     unsigned long long transport,
                                     bool credentials)
{
    struct fetcher_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL) {
        return NULL;
    }
    LIST_INSERT_HEAD(&fetcher->pools, pool, entry);
    become_idle(pool);
    pool->fetcher = fetcher;
    pool->transport = transport;
    pool->credentials = credentials;
    pool->multi = curl_multi_init();
    pool->timer = evtimer_new(fetcher->base, fetcher_on_timer, pool);
    pool->go_on = evtimer_new(fetcher->base, on_go_on, pool);
    if (pool->multi == NULL || pool->timer == NULL || pool->go_on == NULL) {
        pool_free(pool);
        return NULL;
    }

    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, POOL_CONNECTIONS);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, fetcher_set_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    if (!evtimer_pending(fetcher->dropper, NULL)) {
        evtimer_add(fetcher->dropper, &fetcher_pool_idle);
    }
    return pool;
}

/* From the loop alone, as a pool is in use while it calls owners of transfers,
 * also after its last transfer. */
static void fetcher_on_drop(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher *fetcher = arg;
    struct fetcher_pool *pool, *next;

    while (idle.n > POOLS_IDLE_MAX) {
        pool_free(TAILQ_FIRST(&idle.list));
    }
    for (pool = LIST_FIRST(&fetcher->pools); pool != NULL; pool = next) {
        next = LIST_NEXT(pool, entry);
        if (pool->transfers == 0 &&
            (pool->is_left || pool->transport < fetcher->oldest ||
             clock_since(pool->idle) >= POOL_IDLE_MS)) {
            pool_free(pool);
        }
    }
    if (!LIST_EMPTY(&fetcher->pools)) {
        evtimer_add(fetcher->dropper, &fetcher_pool_idle);
    }
}

static struct fetcher_pool *pool_get(struct fetcher *fetcher,
                                     unsigned long long transport,
                                     bool credentials)
{
    struct fetcher_pool *pool;

    LIST_FOREACH(pool, &fetcher->pools, entry)
    {
        if (pool->transport == transport && pool->credentials == credentials &&
            !pool->is_left) {
            return pool;
        }
    }
    return pool_new(fetcher, transport, credentials);
}

struct fetcher *fetcher_new(struct event_base *base, void (*freed)(void *arg),
                            void *arg)
{
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));

    if (fetcher == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        free(fetcher);
        return NULL;
    }

    LIST_INIT(&fetcher->pools);
    fetcher->base = base;
    fetcher->hosts = hosts_new(base, freed, arg);
    fetcher->dropper = evtimer_new(base, fetcher_on_drop, fetcher);
    if (fetcher->hosts == NULL || fetcher->dropper == NULL) {
        fetcher_free(fetcher);
        return NULL;
    }
    return fetcher;
}

void fetcher_free(struct fetcher *fetcher)
{
    struct fetcher_pool *pool;

    if (fetcher == NULL) {
        return;
    }
    while ((pool = LIST_FIRST(&fetcher->pools)) != NULL) {
        pool_free(pool);
    }
    event_drop(fetcher->dropper);
    hosts_free(fetcher->hosts);
    free(fetcher);
    curl_global_cleanup();
}

void fetcher_keep(struct fetcher *fetcher, const struct config *config)
{
    static const struct timeval at_once;
    size_t i;

    fetcher->oldest = ULLONG_MAX;
    for (i = 0; i < config->nsources; i++) {
        fetcher->oldest =
            MIN(fetcher->oldest, config->sources[i].transport.id);
    }
    for (i = 0; i < config->ntiers; i++) {
        fetcher->oldest = MIN(fetcher->oldest, config->tiers[i].transport.id);
    }
    evtimer_add(fetcher->dropper, &at_once);
}

struct event_base *fetcher_base(const struct fetcher *fetcher)
{
    return fetcher->base;
}

struct hosts *fetcher_hosts(const struct fetcher *fetcher)
{
    return fetcher->hosts;
}

int fetcher_add(struct fetcher *fetcher, CURL *easy, struct fetcher_slot *slot,
                const struct transport_config *transport, bool credentials)
{
    struct fetcher_pool *pool = pool_get(fetcher, transport->id, credentials);

    if (pool == NULL || curl_multi_add_handle(pool->multi, easy) != CURLM_OK) {
        return -1;
    }
    if (pool->transfers++ == 0) {
        fetcher_become_busy(pool);
    }
    slot->pool = pool;
    return 0;
}

void fetcher_go_on(struct fetcher_slot *slot)
{
    static const struct timeval at_once;

    evtimer_add(slot->pool->go_on, &at_once);
}

/* Its descriptors are of no use any more. */
static void drop_soon(struct fetcher *fetcher)
{
    static const struct timeval at_once;

    evtimer_add(fetcher->dropper, &at_once);
}

void fetcher_was_silent(struct fetcher_slot *slot)
{
    slot->pool->is_left = true;
    drop_soon(slot->pool->fetcher);
}

void fetcher_remove(struct fetcher_slot *slot, CURL *easy)
{
    struct fetcher_pool *pool = slot->pool;

    curl_multi_remove_handle(pool->multi, easy);
    if (--pool->transfers == 0) {
        become_idle(pool);
        if (idle.n > POOLS_IDLE_MAX || pool->is_left) {
            drop_soon(pool->fetcher);
        }
    }
}
