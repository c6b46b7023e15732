/*
 * Copyright (C) the ngx_symcache authors
 *
 * Counts the connections of each peer: a user of this machine, by a Unix
 * socket, or an address.  The descriptors for connections are shared out so
 * that one peer alone cannot take them all.
 */
#pragma once

#include <stdbool.h>

#define PEER_NAME_MAX 64

struct socket_peer;

/* Counts a connected socket.  Returns NULL when out of memory, which
 * socket_peer_leave() takes. */
struct socket_peer *socket_peer_enter(int fd);

/* The socket is closed. */
void socket_peer_leave(struct socket_peer *peer);

/* How many connections there may be: the other descriptors are for the
 * daemon's own work. */
unsigned socket_peer_places(void);

/*
 * Returns whether a peer may have as many connections as it has: three times
 * as many as are left for others.  root and our own user may always.
 */
bool socket_peer_has_share(const struct socket_peer *peer);

/* Writes "user 33" or "address 10.0.0.1". */
void socket_peer_name(const struct socket_peer *peer,
                      char name[PEER_NAME_MAX]);
