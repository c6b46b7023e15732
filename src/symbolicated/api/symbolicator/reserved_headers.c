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

bool header_is_reserved(struct symc_string name)
{
    static const char *const reserved[] = {
        "Accept-Encoding",
        "Connection",
        "Content-Encoding",
        "Content-Length",
        "Expect",
        "Host",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "If-Range",
        "If-Unmodified-Since",
        "Keep-Alive",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Range",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    };
    size_t i;

    for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (strlen(reserved[i]) == name.size &&
            strncasecmp(reserved[i], name.data, name.size) == 0) {
            return true;
        }
    }
    return false;
}
