/*
 * Copyright (C) the ngx_symcache authors
 *
 * SourceCaches: the texts of source files, found by path, URL or debug id, and
 * by line, for those who write them and those who read them.
 */
#pragma once

#include "format.h"
#include "reader.h"
#include "writer.h"
