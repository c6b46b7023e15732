/*
 * Copyright (C) the ngx_symcache authors
 *
 * Space on disks: free space, requests for it, and the total limit.
 */
#pragma once

#include "disk_space.h"
#include "limited_writer.h"
#include "space_monitor.h"
#include "space_request.h"
#include "total_size.h"
