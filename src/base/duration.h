/*
 * Copyright (C) the ngx_symcache authors
 *
 * Durations as people write them: "90s", "1h30m", "7d".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Parses numbers that are each followed by s, m, h, d or w, larger units
 * first.  A duration that does not fit becomes UINT64_MAX.  Returns false if
 * the text is not a duration.
 */
bool duration_parse(const char *text, uint64_t *seconds);

/* Parses Unix seconds, or a duration up to now.  Returns false for text that is
 * neither, and for a time in the future. */
bool duration_parse_since(const char *text, time_t *since);
