/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reachability.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/scarce.h"
#include "symbolicated/settings.h"

#define NOT_KNOWN (-1)

/* A symcached that is not there is asked again after this time. */
#define PAUSE_MS 1000

/* errno of the last connection, or 0 */
static atomic_int reachability_last = NOT_KNOWN;
static atomic_bool reachability_seen;
static _Atomic(uint64_t) paused_until; /* clock_ms() */

void reachability_note(int family, const char *address, int error)
{
    /* the errno without a socket; a port that is closed has none either */
    int absent = family == AF_UNIX ? ENOENT : ECONNREFUSED;

    if (error != absent) {
        atomic_store(&reachability_seen, true);
    }
    atomic_store(&paused_until, error != 0 ? clock_ms() + PAUSE_MS : 0);
    if (atomic_exchange(&reachability_last, error) == error) {
        return;
    }
    if (error == 0) {
        log_info(0, "symcached is reached at %s", address);
    } else {
        log_warn(error, "symcached cannot be reached at %s", address);
    }
}

bool reachability_is_expected(const struct settings *settings)
{
    const struct symbolication_config *config = settings->symbolication;
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        if (config->stores[i]->nsource_names > 0) {
            return true;
        }
    }
    return atomic_load(&reachability_seen);
}

bool reachability_is_lost(const struct settings *settings)
{
    return atomic_load(&reachability_last) > 0 &&
           reachability_is_expected(settings);
}

bool reachability_is_scarce(void)
{
    return is_scarce(atomic_load(&reachability_last));
}

bool reachability_is_paused(uint64_t now)
{
    return now < atomic_load(&paused_until);
}
