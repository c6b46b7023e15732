/*
 * Copyright (C) the ngx_symcache authors
 */
#include "readable.h"

#include <poll.h>

bool readable_now(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, 0) != 0;
}
