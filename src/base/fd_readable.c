/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fd_readable.h"

#include <poll.h>

bool fd_is_readable(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, 0) != 0;
}
