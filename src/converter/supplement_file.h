/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds the file in which dwz has put what several files share.
 */
#ifndef CONVERTER_SUPPLEMENT_FILE_H
#define CONVERTER_SUPPLEMENT_FILE_H

#include "conversion.h"
#include "debuginfo/supplement.h"

/*
 * Maps the file that belongs to an ELF file in memory: the one that is named by
 * --altlink, or one beside the input, in a folder .dwz there, or where Linux
 * systems have it.  A child process without rights reads which one that is.
 * Whether it is the right one, the reader of the file finds out.
 */
void supplement_map(const struct conversion *conversion, const uint8_t *data,
                    size_t size, struct supplement *supplement);

#endif
