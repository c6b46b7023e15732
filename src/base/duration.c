/*
 * Copyright (C) the ngx_symcache authors
 */
#include "duration.h"

#include <stdlib.h>
#include <string.h>

static uint64_t duration_unit_seconds(char unit)
{
    switch (unit) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 60 * 60;
    case 'd':
        return 24 * 60 * 60;
    case 'w':
        return 7 * 24 * 60 * 60;
    default:
        return 0;
    }
}

bool duration_parse(const char *text, uint64_t *seconds)
{
    uint64_t n, unit, previous = UINT64_MAX, sum = 0;
    char *end;

    while (*text >= '0' && *text <= '9') {
        n = strtoull(text, &end, 10); /* at most UINT64_MAX */
        unit = duration_unit_seconds(*end);
        if (unit == 0 || unit >= previous) {
            return false;
        }
        previous = unit;
        sum = n > (UINT64_MAX - sum) / unit ? UINT64_MAX : sum + n * unit;
        text = end + 1;
    }

    *seconds = sum;
    return *text == '\0' && previous != UINT64_MAX;
}

bool duration_parse_since(const char *text, time_t *since)
{
    time_t now = time(NULL);
    uint64_t seconds;
    char *end;

    if (duration_parse(text, &seconds)) {
        *since = seconds < (uint64_t)now ? now - (time_t)seconds : 0;
        return true;
    }
    /* A number of few digits was meant as hours or days, with the unit
     * forgotten. */
    if (text[0] < '0' || text[0] > '9' || strlen(text) < 10 ||
        strlen(text) > 15) {
        return false;
    }
    *since = (time_t)strtoll(text, &end, 10);
    return *end == '\0' && *since <= now;
}
