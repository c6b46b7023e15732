/*
 * Copyright (C) the ngx_symcache authors
 *
 * Guest stores: of sources that clients of symbolicated bring.  One process,
 * the guest helper, has all of them, and nothing of the operator's: no store,
 * no source, no secret.  In it each store has a scheduler, sources, hosts and
 * limits of its own, so that among them no file, connection, breaker or queue
 * is shared.
 *
 *   symcached         guest_process.h: starts that process, and again when it
 *                     ends
 *     symcached --guests
 *       guests.h        which stores a list of sources has; the places for them
 *       guest_store.h   one store
 *       cleaning.h      keeps each within its size
 *
 * A URL from a client may lead anywhere.  So no private, loopback or
 * link-local address is connected to, unless the configuration names the host,
 * and no file is read but those of the store; sources of other types than HTTP
 * servers and buckets are refused.
 *
 * A client's credentials are in the memory of this process, and are sent to
 * the client's host; they are on no disk.  They are part of the name of a
 * store, so clients with other credentials have another store.
 */
#pragma once

#include "guests.h"
#include "guest_process.h"
