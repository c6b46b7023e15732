/*
 * Copyright (C) the ngx_symcache authors
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "base/origin.h"
#include "base/hash_table.h"

/*
 * Redirects may lead to ever new names, so hosts of which nothing special is
 * known are dropped when there are more than this.
 */
#define HOSTS_MAX 1000

/* A process that still exists so long after it was killed is stuck. */
#define STUCK_MS 5000

/* A lookup that has taken so long is slow. */
#define SLOW_MS 2000

struct host {
    LIST_ENTRY(host) all;
    struct hosts *hosts;
    struct breaker breaker;
    uint64_t quiet_until; /* milliseconds */
    uint64_t heard;       /* milliseconds: the latest first byte; or 0 */
    bool silent;          /* it was not heard, and the breaker opened for it */
    char avoided[HOST_AVOIDED][HOST_ADDRESS]; /* each an address, or "" */
    unsigned next_avoided;
    char cause[128];      /* how it failed the last time */
    time_t failed_first;  /* the first failure in a row; or 0 */
    time_t failed_last;
    unsigned requests;    /* that are under way */
    LIST_HEAD(, host_wait) waits;
    LIST_HEAD(, host_slot) slots;
    bool own; /* belongs to a source, and not only to a redirect */
    char origin[];
};

struct host_slot {
    LIST_ENTRY(host_slot) entry;
    struct host *host;
    uint64_t since;     /* milliseconds */
    bool looks;         /* the lookup has not left */
    unsigned processes; /* of the lookup, that still exist */
    uint64_t left; /* milliseconds: when the lookup left and only processes
                      stayed; or 0 */
};

struct hosts {
    LIST_HEAD(, host) all;
    struct table by_origin;
    struct event *timer; /* for the time when a lookup becomes slow, a process
                            stuck, or a host silent */
    void (*freed)(void *arg);
    void *arg;
};

/* API: values of "state" */
static const char *const breaker_names[] = {"closed", "open", "half_open"};

/* The time at which a slot becomes slow or stuck; 0 if it stays as it is. */
static uint64_t turns(const struct host_slot *slot, uint64_t now)
{
    if (now < slot->since + SLOW_MS) {
        return slot->since + SLOW_MS;
    }
    return slot->left != 0 && now < slot->left + STUCK_MS
               ? slot->left + STUCK_MS
               : 0;
}

static uint64_t silent_at(const struct host_wait *wait)
{
    return wait->since + (uint64_t)wait->limits->first_byte_patience * 1000;
}

static void set_timer(struct hosts *hosts)
{
    uint64_t now = clock_ms(), turn, first = 0;
    const struct host_slot *slot;
    const struct host_wait *wait;
    const struct host *host;
    struct timeval delay;

    LIST_FOREACH(host, &hosts->all, all)
    {
        LIST_FOREACH(slot, &host->slots, entry)
        {
            turn = turns(slot, now);
            first = turn != 0 && (first == 0 || turn < first) ? turn : first;
        }
        LIST_FOREACH(wait, &host->waits, entry)
        {
            turn = silent_at(wait) > now ? silent_at(wait) : now;
            first = first == 0 || turn < first ? turn : first;
        }
    }
    if (first != 0) {
        delay.tv_sec = (time_t)((first - now) / 1000);
        delay.tv_usec = (suseconds_t)((first - now) % 1000 * 1000);
        evtimer_add(hosts->timer, &delay);
    }
}

/* Leaves alone the host of a request that has waited long enough. */
static void is_silent(struct host *host, struct host_wait *wait, uint64_t now)
{
    const struct limits_config *limits = wait->limits;

    LIST_REMOVE(wait, entry);
    wait->silent = true;
    if (host->heard >= wait->since ||
        !breaker_trip(&host->breaker,
                      now + (uint64_t)limits->breaker_pause * 1000)) {
        return;
    }
    host->silent = true;
    metrics_add(METRIC_BREAKER_OPEN, 1);
    log_warn(0, "host %s: no first byte for %u s, not asked for %u s",
             host->origin, limits->first_byte_patience, limits->breaker_pause);
}

static void tell_freed(const struct hosts *hosts)
{
    if (hosts->freed != NULL) {
        hosts->freed(hosts->arg);
    }
}

static void host_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct hosts *hosts = arg;
    struct host_wait *wait, *next;
    uint64_t now = clock_ms();
    struct host *host;

    LIST_FOREACH(host, &hosts->all, all)
    {
        for (wait = LIST_FIRST(&host->waits); wait != NULL; wait = next) {
            next = LIST_NEXT(wait, entry);
            if (silent_at(wait) <= now) {
                is_silent(host, wait, now);
            }
        }
    }
    tell_freed(hosts);
    set_timer(hosts);
}

struct hosts *hosts_new(struct event_base *base, void (*freed)(void *arg),
                        void *arg)
{
    struct hosts *hosts = calloc(1, sizeof(*hosts));

    if (hosts == NULL) {
        return NULL;
    }
    hosts->freed = freed;
    hosts->arg = arg;
    hosts->timer = evtimer_new(base, host_on_timer, hosts);
    if (hosts->timer == NULL) {
        free(hosts);
        return NULL;
    }
    return hosts;
}

static void drop(struct host *host)
{
    struct table *by_origin = &host->hosts->by_origin;

    table_remove(by_origin, table_hash_text(by_origin, host->origin),
                 (uintptr_t)host);
    LIST_REMOVE(host, all);
    free(host);
}

static void drop_all(struct hosts *hosts,
                     bool (*which)(const struct host *, const struct config *),
                     const struct config *config)
{
    struct host *host, *next;

    for (host = LIST_FIRST(&hosts->all); host != NULL; host = next) {
        next = LIST_NEXT(host, all);
        if (which(host, config)) {
            drop(host);
        }
    }
}

static bool is_any(const struct host *host, const struct config *config)
{
    return true;
}

static bool is_idle(const struct host *host)
{
    return host->requests == 0 && LIST_EMPTY(&host->slots);
}

/*
 * Hosts with some failures are dropped as well, because ever new names may
 * also fail.
 */
static bool is_plain(const struct host *host, const struct config *config)
{
    uint64_t now = clock_ms();

    return is_idle(host) &&
           (host->breaker.state == BREAKER_CLOSED ||
            breaker_left(&host->breaker, now) == 0) &&
           host->quiet_until <= now;
}

static bool is_former(const struct host *host, const struct config *config)
{
    size_t i;

    for (i = 0; i < config->nsources; i++) {
        if (config->sources[i].origin != NULL &&
            strcmp(config->sources[i].origin, host->origin) == 0) {
            return false;
        }
    }
    return host->own ? is_idle(host) : is_plain(host, config);
}

void hosts_keep(struct hosts *hosts, const struct config *config)
{
    drop_all(hosts, is_former, config);
}

void hosts_free(struct hosts *hosts)
{
    if (hosts != NULL) {
        drop_all(hosts, is_any, NULL);
        table_free(&hosts->by_origin);
        event_free(hosts->timer);
        free(hosts);
    }
}

static struct host *host_find(const struct hosts *hosts, const char *origin)
{
    const struct table *by_origin = &hosts->by_origin;
    uint64_t hash = table_hash_text(by_origin, origin);
    struct host *host;
    size_t at = 0;

    while ((host = (struct host *)table_next(by_origin, hash, &at)) != NULL &&
           strcmp(host->origin, origin) != 0) {
    }
    return host;
}

static struct host *get(struct hosts *hosts, const char *origin)
{
    struct host *host = host_find(hosts, origin);
    struct table *by_origin = &hosts->by_origin;
    size_t len = strlen(origin);

    if (host != NULL) {
        return host;
    }
    if (by_origin->count >= HOSTS_MAX) {
        drop_all(hosts, is_plain, NULL);
    }

    host = calloc(1, sizeof(*host) + len + 1);
    if (host == NULL ||
        table_add(by_origin, table_hash_text(by_origin, origin),
                  (uintptr_t)host) != 0) {
        free(host);
        return NULL;
    }
    memcpy(host->origin, origin, len + 1);
    LIST_INIT(&host->slots);
    LIST_INIT(&host->waits);
    host->hosts = hosts;
    LIST_INSERT_HEAD(&hosts->all, host, all);
    return host;
}

static unsigned round_up(uint64_t ms)
{
    return (unsigned)((ms + 999) / 1000);
}

static unsigned quiet_seconds(const struct host *host, uint64_t now)
{
    return host->quiet_until > now ? round_up(host->quiet_until - now) : 0;
}

/* The number of slots that cannot be freed. */
static unsigned stuck(const struct host *host, uint64_t now)
{
    const struct host_slot *slot;
    unsigned n = 0;

    LIST_FOREACH(slot, &host->slots, entry)
    {
        n += !slot->looks && now - slot->left >= STUCK_MS;
    }
    return n;
}

/* The number of slots that have taken at least ms milliseconds. */
static unsigned slots_since(const struct host *host, uint64_t now, unsigned ms)
{
    const struct host_slot *slot;
    unsigned n = 0;

    LIST_FOREACH(slot, &host->slots, entry)
    {
        n += now - slot->since >= ms;
    }
    return n;
}

/*
 * The number of failures for which a directory is left alone: it gets so many
 * lookups at a time, and when all of them are silent, that is enough.
 */
static unsigned failures_of(const struct host *host,
                            const struct limits_config *limits)
{
    return origin_path(host->origin) != NULL &&
                   limits->downloads_per_host < limits->breaker_failures
               ? limits->downloads_per_host
               : limits->breaker_failures;
}

/* "once", or "20 times in a row" */
static const char *times(const struct host *host, char *text, size_t size)
{
    snprintf(text, size,
             host->breaker.failures == 1 ? "once" : "%u times in a row",
             host->breaker.failures);
    return text;
}

/* Says why the breaker is open. */
static void print_reason(const struct host *host,
                         const struct limits_config *limits,
                         char reason[HOST_REASON])
{
    char text[32];

    if (host->silent) {
        snprintf(reason, HOST_REASON,
                 "not asked: the host gave no first byte for %u s",
                 limits->first_byte_patience);
        return;
    }
    snprintf(reason, HOST_REASON,
             "not asked: the %s failed %s; the last time: %s",
             origin_path(host->origin) != NULL ? "directory" : "host",
             times(host, text, sizeof(text)), host->cause);
}

/* Returns false with the reason if the host is not to be asked now. */
static bool may_ask(struct host *host, const struct limits_config *limits,
                    char *reason, unsigned *seconds)
{
    uint64_t now = clock_ms();
    unsigned n = stuck(host, now);

    *seconds = quiet_seconds(host, now);
    if (*seconds > 0) {
        metrics_add(METRIC_FETCH_PAUSED, 1);
        snprintf(reason, HOST_REASON, "not asked: the server wants a pause");
        return false;
    }
    if (n >= limits->downloads_per_host) {
        metrics_add(METRIC_FETCH_BROKEN, 1);
        *seconds = limits->breaker_pause;
        snprintf(reason, HOST_REASON,
                 "not asked: it hangs, and %u processes in it with it", n);
        return false;
    }
    if ((limits->breaker_failures > 0 || host->silent) &&
        !breaker_allows(&host->breaker, now)) {
        metrics_add(METRIC_FETCH_BROKEN, 1);
        *seconds = round_up(breaker_left(&host->breaker, now));
        *seconds += *seconds == 0;
        print_reason(host, limits, reason);
        return false;
    }
    return true;
}

struct host *host_begin(struct hosts *hosts, const char *origin,
                        const struct limits_config *limits, bool *probe,
                        char *reason, unsigned *seconds)
{
    struct host *host = get(hosts, origin);

    *seconds = 0;
    *probe = false;
    if (host == NULL) {
        snprintf(reason, HOST_REASON, "out of memory");
        return NULL;
    }
    if (!may_ask(host, limits, reason, seconds)) {
        return NULL;
    }

    *probe = host->breaker.state == BREAKER_HALF_OPEN;
    if (*probe) {
        metrics_add(METRIC_BREAKER_HALF_OPEN, 1);
        log_info(0, "host %s: asked once, to see whether it works again",
                 host->origin);
    }
    host->requests++;
    return host;
}

static void log_change(const struct host *host,
                       const struct limits_config *limits, const char *detail)
{
    char text[32];

    switch (host->breaker.state) {
    case BREAKER_CLOSED:
        metrics_add(METRIC_BREAKER_CLOSED, 1);
        log_info(0, "host %s: works again", host->origin);
        break;
    case BREAKER_OPEN:
        metrics_add(METRIC_BREAKER_OPEN, 1);
        log_warn(0,
                 "host %s: failed %s, not asked for %u s; the last time: %s",
                 host->origin, times(host, text, sizeof(text)),
                 limits->breaker_pause, detail);
        break;
    default:
        break;
    }
}

void host_receives(struct host *host, const struct limits_config *limits)
{
    if (breaker_trust(&host->breaker, clock_ms())) {
        log_change(host, limits, "");
    }
}

void host_end(struct host *host, const struct limits_config *limits,
              enum breaker_end end, bool probe, const char *detail)
{
    struct breaker_limits l = {failures_of(host, limits),
                               limits->breaker_window, limits->breaker_pause};

    host->requests--;
    if (end == BREAKER_FAULT) {
        host->failed_last = time(NULL);
        host->failed_first = host->breaker.failures > 0 &&
                                     host->failed_first != 0
                                 ? host->failed_first
                                 : host->failed_last;
        snprintf(host->cause, sizeof(host->cause), "%s", detail);
    }
    if (breaker_end(&host->breaker, &l, end, probe, clock_ms()) &&
        end != BREAKER_NOTHING) {
        log_change(host, limits, detail);
    }
    host->silent &= host->breaker.state != BREAKER_CLOSED;
}

void host_waits(struct host *host, const struct limits_config *limits,
                struct host_wait *wait)
{
    *wait = (struct host_wait){
        .host = host, .limits = limits, .since = clock_ms()};
    if (limits->first_byte_patience > 0) {
        LIST_INSERT_HEAD(&host->waits, wait, entry);
        set_timer(host->hosts);
    } else {
        wait->host = NULL;
    }
}

void host_unheard(struct host_wait *wait)
{
    if (wait->host != NULL && !wait->silent) {
        LIST_REMOVE(wait, entry);
    }
    wait->host = NULL;
    wait->silent = false;
}

void host_heard(struct host_wait *wait)
{
    struct host *host = wait->host;

    host_unheard(wait);
    if (host == NULL) {
        return;
    }
    host->heard = clock_ms();
    if (host->silent) {
        host->silent = false;
        host->breaker = (struct breaker){.state = BREAKER_CLOSED};
        metrics_add(METRIC_BREAKER_CLOSED, 1);
        log_info(0, "host %s: works again", host->origin);
    }
}

void host_wants_pause(struct host *host, unsigned seconds)
{
    uint64_t until = clock_ms() + (uint64_t)seconds * 1000;

    if (until > host->quiet_until) {
        host->quiet_until = until;
        log_info(0, "host %s: wants a pause of %u s", host->origin, seconds);
    }
}

struct host *host_use(struct hosts *hosts, const char *origin)
{
    struct host *host = get(hosts, origin);

    if (host != NULL) {
        host->requests++;
    }
    return host;
}

void host_unuse(struct host *host)
{
    host->requests--;
}

bool host_avoids(const struct host *host, const char *address)
{
    size_t i;

    for (i = 0; i < HOST_AVOIDED; i++) {
        if (strcmp(host->avoided[i], address) == 0) {
            return true;
        }
    }
    return false;
}

void host_avoid(struct host *host, const char *address)
{
    if (!host_avoids(host, address)) {
        snprintf(host->avoided[host->next_avoided++ % HOST_AVOIDED],
                 HOST_ADDRESS, "%s", address);
    }
}

void host_avoid_none(struct host *host)
{
    memset(host->avoided, 0, sizeof(host->avoided));
}

struct host_slot *host_enter(struct hosts *hosts, const char *origin, bool own)
{
    struct host *host = get(hosts, origin);
    struct host_slot *slot = calloc(1, sizeof(*slot));

    if (host == NULL || slot == NULL) {
        free(slot);
        return NULL;
    }
    host->own |= own;
    slot->host = host;
    slot->looks = true;
    slot->since = clock_ms();
    LIST_INSERT_HEAD(&host->slots, slot, entry);
    if (!evtimer_pending(hosts->timer, NULL)) {
        set_timer(hosts);
    }
    return slot;
}

/* Frees the slot if neither the lookup nor a process of it is left. */
static void slot_end(struct host_slot *slot)
{
    struct hosts *hosts = slot->host->hosts;

    if (slot->looks) {
        return;
    }
    if (slot->processes > 0) {
        slot->left = slot->left != 0 ? slot->left : clock_ms();
        set_timer(hosts);
        return;
    }
    LIST_REMOVE(slot, entry);
    free(slot);
    tell_freed(hosts);
}

void host_slot_share(struct host_slot *slot)
{
    slot->processes++;
}

void host_slot_gone(void *arg)
{
    struct host_slot *slot = arg;

    slot->processes--;
    slot_end(slot);
}

void host_leave(struct host_slot *slot)
{
    if (slot != NULL) {
        slot->looks = false;
        slot_end(slot);
    }
}

bool host_busy(const struct hosts *hosts, const char *origin,
               const struct limits_config *limits)
{
    const struct host *host = host_find(hosts, origin);
    unsigned limit = limits->downloads_per_host, slow;
    uint64_t now = clock_ms();

    if (host == NULL || stuck(host, now) >= limit) {
        return false;
    }
    slow = slots_since(host, now, SLOW_MS);
    if (slow > limits->slow_downloads_per_host) {
        slow = limits->slow_downloads_per_host;
    }
    return slots_since(host, now, 0) - slow >= limit;
}

cJSON *host_json(const struct hosts *hosts, const char *origin)
{
    static const struct host none;
    const struct host *host = host_find(hosts, origin);
    cJSON *object = cJSON_CreateObject();
    uint64_t now = clock_ms();
    unsigned left, n;

    host = host != NULL ? host : &none;
    cJSON_AddStringToObject(object, "origin", origin);
    cJSON_AddStringToObject(object, "breaker",
                            breaker_names[breaker_report(&host->breaker, now)]);
    cJSON_AddNumberToObject(object, "failures", host->breaker.failures);
    cJSON_AddNumberToObject(object, "lookups", slots_since(host, now, 0));
    if (host->breaker.failures > 0 && host->failed_last != 0) {
        cJSON_AddStringToObject(object, "cause", host->cause);
        cJSON_AddNumberToObject(object, "failed_first",
                                (double)host->failed_first);
        cJSON_AddNumberToObject(object, "failed_last",
                                (double)host->failed_last);
    }
    n = stuck(host, now);
    if (n > 0) {
        cJSON_AddNumberToObject(object, "stuck", n);
    }

    left = quiet_seconds(host, now);
    if (left == 0) {
        left = round_up(breaker_left(&host->breaker, now));
    }
    if (left > 0) {
        cJSON_AddNumberToObject(object, "not_asked_for", left);
    }
    return object;
}

void hosts_print(const struct hosts *hosts, struct evbuffer *buf)
{
    unsigned counts[BREAKER_HALF_OPEN + 1] = {0}, i;
    uint64_t now = clock_ms();
    const struct host *host;

    LIST_FOREACH(host, &hosts->all, all)
    {
        counts[breaker_report(&host->breaker, now)]++;
    }

    evbuffer_add_printf(buf, "# HELP symcached_hosts Hosts that were asked, "
                             "by the state of their circuit breaker.\n"
                             "# TYPE symcached_hosts gauge\n");
    for (i = 0; i <= BREAKER_HALF_OPEN; i++) {
        evbuffer_add_printf(buf, "symcached_hosts{state=\"%s\"} %u\n",
                            breaker_names[i], counts[i]);
    }
}
