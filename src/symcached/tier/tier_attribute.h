/*
 * Copyright (C) the ngx_symcache authors
 *
 * When the object of a file of the store was stored.  This is kept in an
 * extended attribute of the file, so that another file in its place is not
 * taken for it.  Where the file system has no such attributes, nothing is
 * known, and each hour in which the file is used is a reason to store it, if
 * it is not there.
 */
#pragma once

#include <stdint.h>

/* stored is in seconds since 1970. */
void tier_attribute_write(const char *file, int64_t stored);

/* Returns 0 if nothing is known. */
int64_t tier_attribute_read(const char *file);
