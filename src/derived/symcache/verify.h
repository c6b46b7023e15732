/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a SymCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#pragma once

#include "reader.h"

enum symc_verify_status {
    SYMC_SOUND = 0,
    SYMC_VIOLATED = -1,
    SYMC_NOT_VERIFIED = -2 /* memory ran out */
};

/*
 * Checks the header, the padding, that the string section is a sequence of
 * complete strings, every string reference and index, the chains of callers
 * (no loop, no gap), and that the ranges are in strictly ascending order.
 * Takes time proportional to the size of the file, and memory for a bit for
 * each byte of strings and a byte for each location.  Writes the first
 * violation, and where it is, to error.  If the file is sound, this is noted in
 * the reader, which then does not check the strings again, and whether any file
 * has source-server fields.
 */
enum symc_verify_status symc_verify(struct symc_reader *reader, char *error,
                                    size_t error_size);
