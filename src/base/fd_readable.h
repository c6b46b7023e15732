/*
 * Copyright (C) the ngx_symcache authors
 *
 * Is what epoll reports true?
 *
 * evhttp closes a connection before it stops watching it.  While a process that
 * was just forked has the connection, too, epoll goes on to report it under its
 * number, which may be that of another file by now: a process that works is
 * then said to have ended.  Whoever does more than to read from a descriptor
 * that does not block asks here first.
 */
#pragma once

#include <stdbool.h>

bool fd_is_readable(int fd);
