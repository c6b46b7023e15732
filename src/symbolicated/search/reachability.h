/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether the symcached of the configuration can be reached.  A symbolicated
 * that runs without one by intention, with stores that have no source, has what
 * is on disk.  With a source, or once there was a symcached or its socket, not
 * to reach it is a failure.  For any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct settings;

/* A connection was made to an address of this family (error 0), or was not, by
 * an errno.  Logs a change, with the text of the address. */
void reachability_note(int family, const char *address, int error);

/* Whether a store has a source, or there was a symcached, or its socket, since
 * the start. */
bool reachability_is_expected(const struct settings *settings);

/* Whether that is so, and the last connection was not made. */
bool reachability_is_lost(const struct settings *settings);

/* Whether the last connection was not made for want of descriptors or
 * memory. */
bool reachability_is_scarce(void);

/* Whether there was no connection a moment before now, of clock_ms(), so that
 * symcached is not asked yet. */
bool reachability_is_paused(uint64_t now);
