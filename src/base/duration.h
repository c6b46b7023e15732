/*
 * Copyright (C) the ngx_symcache authors
 *
 * Durations as people write them: "90s", "1h30m", "7d".
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Numbers with s, m, h, d or w behind, the larger unit first.  Returns false
 * if it is no such text; what no number can hold is UINT64_MAX seconds.
 */
bool duration_parse(const char *text, uint64_t *seconds);

#endif
