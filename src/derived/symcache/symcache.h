/*
 * Copyright (C) the ngx_symcache authors
 *
 * The SYMC file format, for those who write it and those who read it.
 */
#pragma once

#include "enum.h"
#include "format.h"
#include "head.h"
#include "integrity.h"
#include "output.h"
#include "path.h"
#include "reader.h"
#include "segments.h"
#include "string.h"
#include "string_table.h"
#include "unstable_sort.h"
#include "verify.h"
#include "writer.h"
