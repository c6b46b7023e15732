/*
 * Copyright (C) the ngx_symcache authors
 *
 * Headers that tell how the message itself is to be read, or which server of
 * an address is meant: with them a request would be another one than that
 * whose URL was checked.
 */
#include "reserved_headers.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    bool is_allowed_in_source;
} reserved_headers[] = {
    {"Accept-Encoding", false},
    {"Connection", false},
    {"Content-Encoding", true},
    {"Content-Length", false},
    {"Expect", false},
    {"Host", false},
    {"If-Match", true},
    {"If-Modified-Since", true},
    {"If-None-Match", true},
    {"If-Range", false},
    {"If-Unmodified-Since", true},
    {"Keep-Alive", false},
    {"Proxy-Authorization", false},
    {"Proxy-Connection", false},
    {"Range", false},
    {"TE", false},
    {"Trailer", false},
    {"Transfer-Encoding", false},
    {"Upgrade", false},
};

#define RESERVED_HEADERS                                                      \
    (sizeof(reserved_headers) / sizeof(reserved_headers[0]))

/* The index of a reserved header; RESERVED_HEADERS if it is none. */
static size_t find_reserved(struct symc_string name)
{
    size_t i = 0;

    while (
        i < RESERVED_HEADERS &&
        (strlen(reserved_headers[i].name) != name.size ||
         strncasecmp(reserved_headers[i].name, name.data, name.size) != 0)) {
        i++;
    }
    return i;
}

bool header_is_reserved_in_source(struct symc_string name)
{
    size_t i = find_reserved(name);

    return i < RESERVED_HEADERS && !reserved_headers[i].is_allowed_in_source;
}

bool header_is_reserved_in_scraping(struct symc_string name)
{
    return find_reserved(name) < RESERVED_HEADERS;
}
