/*
 * Copyright (C) the ngx_symcache authors
 *
 * CfiCaches, for those who write them and those who read them.
 */
#pragma once

#include "evaluate.h"
#include "format.h"
#include "program.h"
#include "reader.h"
#include "writer.h"
