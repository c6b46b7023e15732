/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of ELF files.
 */
#ifndef DEBUGINFO_ELF_H
#define DEBUGINFO_ELF_H

#include "altlink.h"
#include "convert.h"
#include "identity.h"
#include "instructions.h"
#include "section.h"
#include "split.h"

#endif
