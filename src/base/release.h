/*
 * Copyright (C) the ngx_symcache authors
 *
 * The version of the daemons, which they print with -V and serve at /version.
 */
#ifndef BASE_RELEASE_H
#define BASE_RELEASE_H

#define SYMCACHED_VERSION "0.1.0"

#endif
