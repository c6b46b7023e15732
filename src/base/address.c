/*
 * Copyright (C) the ngx_symcache authors
 *
 * From the registries of special-purpose addresses, RFC 6890 and successors.
 */
#include "address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct network4 {
    uint8_t prefix[4];
    unsigned bits;
};

struct network6 {
    uint8_t prefix[16];
    unsigned bits;
};

static const struct network4 reserved4[] = {
    {{0, 0, 0, 0}, 8},       /* this network */
    {{10, 0, 0, 0}, 8},      /* private */
    {{100, 64, 0, 0}, 10},   /* shared: carrier-grade NAT */
    {{127, 0, 0, 0}, 8},     /* loopback */
    {{169, 254, 0, 0}, 16},  /* link-local, cloud metadata */
    {{172, 16, 0, 0}, 12},   /* private */
    {{192, 0, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2, 0}, 24},    /* documentation */
    {{192, 88, 99, 0}, 24},  /* 6to4 relays */
    {{192, 168, 0, 0}, 16},  /* private */
    {{198, 18, 0, 0}, 15},   /* benchmarks */
    {{198, 51, 100, 0}, 24}, /* documentation */
    {{203, 0, 113, 0}, 24},  /* documentation */
    {{224, 0, 0, 0}, 4},     /* multicast */
    {{240, 0, 0, 0}, 4},     /* future, broadcast */
};

/* Global unicast is 2000::/3.  All else is reserved, except for the networks
 * below that contain IPv4 addresses. */
static const struct network6 reserved6[] = {
    {{0x20, 0x01, 0x00, 0x00}, 23}, /* protocols, Teredo, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff, 0x00, 0x00}, 20}, /* documentation */
};

/*
 * Networks whose addresses contain an IPv4 address: in the last four bytes,
 * or, in 6to4, in the four bytes after 2002:.
 */
static const struct network6 mapped = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
static const struct network6 translated = {{0x00, 0x64, 0xff, 0x9b}, 96};
static const struct network6 six_to_four = {{0x20, 0x02}, 16};

static bool is_within_prefix(const uint8_t *address, const uint8_t *prefix,
                             unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(address, prefix, whole) != 0) {
        return false;
    }

    return rest == 0 || ((address[whole] ^ prefix[whole]) >> (8 - rest)) == 0;
}

static bool address_reserved4(const uint8_t *address)
{
    size_t i;

    for (i = 0; i < sizeof(reserved4) / sizeof(reserved4[0]); i++) {
        if (is_within_prefix(address, reserved4[i].prefix,
                             reserved4[i].bits)) {
            return true;
        }
    }

    return false;
}

static bool address_reserved6(const uint8_t *address)
{
    size_t i;

    if (is_within_prefix(address, mapped.prefix, mapped.bits) ||
        is_within_prefix(address, translated.prefix, translated.bits)) {
        return address_reserved4(address + 12);
    }
    if (is_within_prefix(address, six_to_four.prefix, six_to_four.bits)) {
        return address_reserved4(address + 2);
    }

    for (i = 0; i < sizeof(reserved6) / sizeof(reserved6[0]); i++) {
        if (is_within_prefix(address, reserved6[i].prefix,
                             reserved6[i].bits)) {
            return true;
        }
    }

    return (address[0] & 0xe0) != 0x20;
}

bool address_reserved(const struct sockaddr *address)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&in4, address, sizeof(in4));
        return address_reserved4((const uint8_t *)&in4.sin_addr);
    case AF_INET6:
        memcpy(&in6, address, sizeof(in6));
        return address_reserved6((const uint8_t *)&in6.sin6_addr);
    default:
        return true;
    }
}
