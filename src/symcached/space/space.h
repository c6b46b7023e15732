/*
 * Copyright (C) the ngx_symcache authors
 *
 * Space on disks: free space, requests for it, and the total limit.
 */
#ifndef SYMCACHED_SPACE_H
#define SYMCACHED_SPACE_H

#include "disk_space.h"
#include "limited_writer.h"
#include "space_monitor.h"
#include "space_request.h"
#include "total_size.h"

#endif
