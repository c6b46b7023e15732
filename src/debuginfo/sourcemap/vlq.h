/*
 * Copyright (C) the ngx_symcache authors
 *
 * Numbers of source maps: groups of 5 bits as digits of Base64, the lowest
 * group first; a digit from 32 on says that another one follows, and the
 * lowest bit of a number is its sign.
 */
#pragma once

#include <stdint.h>

#define VLQ_FIELDS 5 /* the most that a segment has */

/*
 * Reads the numbers of one segment, which ends at a comma, a semicolon or the
 * end, and moves *p there.  Numbers are modulo 2^32.  Returns how many there
 * are; all beyond VLQ_FIELDS are only counted.  Returns -1 if a digit is none,
 * a number has more than 13, or ends too early; then *p is where.
 */
int vlq_segment(const char **p, const char *end, uint32_t numbers[VLQ_FIELDS]);
