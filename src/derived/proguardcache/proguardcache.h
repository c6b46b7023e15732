/*
 * Copyright (C) the ngx_symcache authors
 *
 * ProguardCaches, for those who write them and those who read them.
 */
#pragma once

#include "format.h"
#include "reader.h"
#include "writer.h"
