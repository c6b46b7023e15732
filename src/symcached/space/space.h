/*
 * Copyright (C) the ngx_symcache authors
 *
 * Space on disks: what is free, who may have it, and how much in all.
 */
#ifndef SYMCACHED_SPACE_H
#define SYMCACHED_SPACE_H

#include "disk_space.h"
#include "limited_writer.h"
#include "space_monitor.h"
#include "space_request.h"
#include "total_size.h"

#endif
