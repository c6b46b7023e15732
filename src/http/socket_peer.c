/*
 * Copyright (C) the ngx_symcache authors
 */
#include "socket_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/hash_table.h"

#define SHARE 3 /* times what is left */

/* A machine has a whole network of IPv6 to choose its addresses from. */
#define NETWORK6 8 /* bytes */

struct socket_peer {
    struct peer_key {
        sa_family_t family;
        union {
            uid_t uid;
            uint8_t address[16];
        };
    } key;
    unsigned connections;
    bool is_known;
};

static struct table peers;
static unsigned peer_connections; /* of all */

static void read_peer_address(int fd, struct peer_key *key)
{
    struct sockaddr_storage address = {0};
    const struct sockaddr_in *in = (struct sockaddr_in *)&address;
    const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
    socklen_t size = sizeof(address);

    (void)getpeername(fd, (struct sockaddr *)&address, &size);
    key->family = address.ss_family;
    if (key->family == AF_INET) {
        memcpy(key->address, &in->sin_addr, 4);
    } else if (key->family == AF_INET6 &&
               IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        key->family = AF_INET;
        memcpy(key->address, (const uint8_t *)&in6->sin6_addr + 12, 4);
    } else if (key->family == AF_INET6) {
        memcpy(key->address, &in6->sin6_addr, NETWORK6);
    }
}

static void read_peer_key(int fd, struct peer_key *key)
{
    struct ucred user;
    socklen_t size = sizeof(user);

    memset(key, 0, sizeof(*key));
    read_peer_address(fd, key);
    if (key->family == AF_UNIX) {
        key->uid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0
                       ? user.uid
                       : (uid_t)-1;
    }
}

static uint64_t peer_hash_of(const struct peer_key *key)
{
    return table_hash((uintptr_t)&peers, key, sizeof(*key));
}

struct socket_peer *socket_peer_enter(int fd)
{
    struct peer_key key;
    struct socket_peer *peer;
    uint64_t hash;
    size_t at = 0;

    read_peer_key(fd, &key);
    hash = peer_hash_of(&key);
    do {
        peer = (struct socket_peer *)table_next(&peers, hash, &at);
    } while (peer != NULL && memcmp(&peer->key, &key, sizeof(key)) != 0);
    if (peer == NULL) {
        peer = calloc(1, sizeof(*peer));
        if (peer == NULL || table_add(&peers, hash, (uintptr_t)peer) != 0) {
            free(peer);
            return NULL;
        }
        peer->key = key;
        peer->is_known =
            key.family == AF_UNIX && (key.uid == 0 || key.uid == geteuid());
    }
    peer->connections++;
    peer_connections++;
    return peer;
}

void socket_peer_leave(struct socket_peer *peer)
{
    if (peer == NULL) {
        return;
    }
    peer_connections--;
    if (--peer->connections == 0) {
        table_remove(&peers, peer_hash_of(&peer->key), (uintptr_t)peer);
        free(peer);
    }
    if (peer_connections == 0) {
        table_free(&peers);
    }
}

unsigned socket_peer_places(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < UINT32_MAX
               ? (unsigned)(limit.rlim_cur / 4 * 3)
               : UINT32_MAX / 4 * 3;
}

bool socket_peer_has_share(const struct socket_peer *peer)
{
    uint64_t places = socket_peer_places();

    return peer->is_known ||
           peer->connections + SHARE * (uint64_t)peer_connections <=
               SHARE * places;
}

void socket_peer_name(const struct socket_peer *peer,
                      char name[PEER_NAME_MAX])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (peer->key.family == AF_UNIX) {
        snprintf(name, PEER_NAME_MAX, "user %u", (unsigned)peer->key.uid);
        return;
    }
    (void)inet_ntop(peer->key.family, peer->key.address, text, sizeof(text));
    snprintf(name, PEER_NAME_MAX, "address %s", text);
}
