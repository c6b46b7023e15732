/*
 * Copyright (C) the ngx_symcache authors
 *
 * Addresses that a server on the Internet must not make us connect to.
 */
#pragma once

#include <stdbool.h>

struct sockaddr;

/*
 * Returns true for loopback, private, link-local, shared, multicast,
 * documentation and other special networks, in IPv4, in IPv6 and in IPv4
 * inside IPv6.  An address of any other family is reserved, too.
 */
bool address_reserved(const struct sockaddr *address);
