/*
 * Copyright (C) the ngx_symcache authors
 *
 * Mappings of ProGuard and R8: text that says which classes and methods of a
 * program have which names since it was shrunk.
 */
#ifndef DEBUGINFO_PROGUARD_PROGUARD_H
#define DEBUGINFO_PROGUARD_PROGUARD_H

#include "comment.h"
#include "convert.h"
#include "record.h"

#endif
