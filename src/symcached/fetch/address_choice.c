/*
 * Copyright (C) the ngx_symcache authors
 */
#include "address_choice.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>

#include "host.h"

/* As libcurl prints it, which leaves out the scope of a link-local one. */
static bool is_avoided(const struct host *host, const struct sockaddr *address)
{
    const void *bytes;
    char text[HOST_ADDRESS];

    switch (address->sa_family) {
    case AF_INET:
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        break;
    case AF_INET6:
        bytes =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        break;
    default:
        return false;
    }
    return inet_ntop(address->sa_family, bytes, text, sizeof(text)) != NULL &&
           host_avoids(host, text);
}

bool address_choice_takes(struct address_choice *choice,
                          const struct host *host,
                          const struct curl_sockaddr *address)
{
    if (host != NULL && is_avoided(host, &address->addr)) {
        choice->avoids = true;
        return false;
    }
    choice->connects = true;
    return true;
}

bool address_choice_is_none(struct address_choice *choice, struct host *host,
                            CURLcode code)
{
    if (!choice->avoids || code != CURLE_COULDNT_CONNECT) {
        return false;
    }
    host_avoid_none(host);
    *choice = (struct address_choice){false, false};
    return true;
}

void address_choice_failed(const struct address_choice *choice,
                           struct host *host, CURL *easy, CURLcode code,
                           bool fault)
{
    char *address = NULL;

    if (host == NULL ||
        /* a kept connection can also have died, which tells nothing */
        (!choice->connects && code != CURLE_OPERATION_TIMEDOUT)) {
        return;
    }
    if (!fault || code == CURLE_COULDNT_CONNECT) {
        host_avoid_none(host);
        return;
    }
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
    if (address != NULL && address[0] != '\0') {
        host_avoid(host, address);
    }
}
