/*
 * Copyright (C) the ngx_symcache authors
 *
 * The version of the daemons, which they print with -V and serve at /version.
 */
#pragma once

#define SYMCACHED_VERSION "0.1.0"
