/*
 * Copyright (C) the ngx_symcache authors
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
#include "id.h"
#include "log.h"
#include "metrics.h"

#define HOSTS_BUCKETS 256

/* Redirects may lead to ever new names; who says nothing of note is dropped.
 */
#define HOSTS_MAX 1000

struct host {
    LIST_ENTRY(host) bucket;
    struct hosts *hosts;
    struct breaker breaker;
    uint64_t quiet_until; /* milliseconds */
    unsigned requests;    /* that run */
    unsigned lookups;     /* that run */
    bool own;             /* of a source: not only redirected to */
    char origin[];
};

struct hosts {
    LIST_HEAD(, host) buckets[HOSTS_BUCKETS];
    unsigned n;
};

/* API: values of "state" */
static const char *const state_names[] = {"closed", "open", "half_open"};

struct hosts *hosts_new(void)
{
    return calloc(1, sizeof(struct hosts));
}

static void drop(struct host *host)
{
    host->hosts->n--;
    LIST_REMOVE(host, bucket);
    free(host);
}

static void drop_all(struct hosts *hosts,
                     bool (*which)(const struct host *, const struct config *),
                     const struct config *config)
{
    struct host *host, *next;
    unsigned i;

    for (i = 0; i < HOSTS_BUCKETS; i++) {
        for (host = LIST_FIRST(&hosts->buckets[i]); host != NULL;
             host = next) {
            next = LIST_NEXT(host, bucket);
            if (which(host, config)) {
                drop(host);
            }
        }
    }
}

static bool is_any(const struct host *host, const struct config *config)
{
    return true;
}

static bool is_idle(const struct host *host)
{
    return host->requests == 0 && host->lookups == 0;
}

/* Few failures are forgotten, too: names that fail may be ever new as well. */
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
        free(hosts);
    }
}

static struct host *find(const struct hosts *hosts, const char *origin)
{
    struct host *host;

    LIST_FOREACH(host, &hosts->buckets[id_hash(origin) % HOSTS_BUCKETS],
                 bucket)
    {
        if (strcmp(host->origin, origin) == 0) {
            return host;
        }
    }
    return NULL;
}

static struct host *get(struct hosts *hosts, const char *origin)
{
    struct host *host = find(hosts, origin);
    size_t len = strlen(origin);

    if (host != NULL) {
        return host;
    }
    if (hosts->n >= HOSTS_MAX) {
        drop_all(hosts, is_plain, NULL);
    }

    host = calloc(1, sizeof(*host) + len + 1);
    if (host != NULL) {
        memcpy(host->origin, origin, len + 1);
        host->hosts = hosts;
        hosts->n++;
        LIST_INSERT_HEAD(&hosts->buckets[id_hash(origin) % HOSTS_BUCKETS],
                         host, bucket);
    }
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

struct host *host_begin(struct hosts *hosts, const char *origin,
                        const struct limits_config *limits, bool *probe,
                        char *reason, unsigned *seconds)
{
    struct host *host = get(hosts, origin);
    uint64_t now = clock_ms();

    *seconds = 0;
    *probe = false;
    if (host == NULL) {
        snprintf(reason, HOST_REASON, "out of memory");
        return NULL;
    }

    *seconds = quiet_seconds(host, now);
    if (*seconds > 0) {
        metrics_add(METRIC_FETCH_PAUSED, 1);
        snprintf(reason, HOST_REASON, "not asked: the server wants a pause");
        return NULL;
    }

    if (limits->breaker_failures > 0 && !breaker_allows(&host->breaker, now)) {
        metrics_add(METRIC_FETCH_BROKEN, 1);
        *seconds = round_up(breaker_left(&host->breaker, now));
        *seconds += *seconds == 0;
        snprintf(reason, HOST_REASON,
                 "not asked: the host failed %u times in a row",
                 host->breaker.failures);
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
    switch (host->breaker.state) {
    case BREAKER_CLOSED:
        metrics_add(METRIC_BREAKER_CLOSED, 1);
        log_info(0, "host %s: works again", host->origin);
        break;
    case BREAKER_OPEN:
        metrics_add(METRIC_BREAKER_OPEN, 1);
        log_warn(0,
                 "host %s: failed %u times in a row, not asked for %u s; "
                 "the last time: %s",
                 host->origin, host->breaker.failures, limits->breaker_pause,
                 detail);
        break;
    default:
        break;
    }
}

void host_end(struct host *host, const struct limits_config *limits,
              enum breaker_end end, bool probe, const char *detail)
{
    struct breaker_limits l = {limits->breaker_failures,
                               limits->breaker_window, limits->breaker_pause};

    host->requests--;
    if (breaker_end(&host->breaker, &l, end, probe, clock_ms()) &&
        end != BREAKER_NOTHING) {
        log_change(host, limits, detail);
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

struct host *host_enter(struct hosts *hosts, const char *origin)
{
    struct host *host = get(hosts, origin);

    if (host != NULL) {
        host->lookups++;
        host->own = true;
    }
    return host;
}

void host_leave(struct host *host)
{
    if (host != NULL) {
        host->lookups--;
    }
}

bool host_busy(const struct hosts *hosts, const char *origin,
               const struct limits_config *limits)
{
    const struct host *host = find(hosts, origin);

    return host != NULL && host->lookups >= limits->downloads_per_host;
}

cJSON *host_json(const struct hosts *hosts, const char *origin)
{
    static const struct host none;
    const struct host *host = find(hosts, origin);
    cJSON *object = cJSON_CreateObject();
    uint64_t now = clock_ms();
    unsigned left;

    host = host != NULL ? host : &none;
    cJSON_AddStringToObject(object, "origin", origin);
    cJSON_AddStringToObject(object, "breaker",
                            state_names[host->breaker.state]);
    cJSON_AddNumberToObject(object, "failures", host->breaker.failures);
    cJSON_AddNumberToObject(object, "lookups", host->lookups);

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
    const struct host *host;

    for (i = 0; i < HOSTS_BUCKETS; i++) {
        LIST_FOREACH(host, &hosts->buckets[i], bucket)
        {
            counts[host->breaker.state]++;
        }
    }

    evbuffer_add_printf(buf, "# HELP symcached_hosts Hosts that were asked, "
                             "by the state of their circuit breaker.\n"
                             "# TYPE symcached_hosts gauge\n");
    for (i = 0; i <= BREAKER_HALF_OPEN; i++) {
        evbuffer_add_printf(buf, "symcached_hosts{state=\"%s\"} %u\n",
                            state_names[i], counts[i]);
    }
}
