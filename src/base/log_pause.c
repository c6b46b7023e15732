/*
 * Copyright (C) the ngx_symcache authors
 */
#include "log_pause.h"

#include "clock.h"

#define PAUSE_MS 60000

unsigned log_pause_end(struct log_pause *pause)
{
    uint64_t now = clock_ms();
    unsigned n = ++pause->n;

    if (pause->said != 0 && now - pause->said < PAUSE_MS) {
        return 0;
    }
    *pause = (struct log_pause){.said = now};
    return n;
}
