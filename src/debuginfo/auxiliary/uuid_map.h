/*
 * Copyright (C) the ngx_symcache authors
 *
 * UUID maps: the property list beside a dSYM that was made of bitcode,
 * <UUID>.plist, which says by which UUID the BCSymbolMap is found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May the first bytes be those of a property list? */
bool uuid_map_sniff(const uint8_t *data, size_t size);

/* Reads the original UUID of a property list in XML, in text order.  Returns
 * 0, or -1 with a sentence in error. */
int uuid_map_read(const uint8_t *data, size_t size, uint8_t uuid[16],
                  char *error, size_t error_size);
