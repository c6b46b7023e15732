/*
 * Copyright (C) the ngx_symcache authors
 *
 * Control characters of ASCII, which separate lines and fields.
 */
#pragma once

#include <stdbool.h>

static inline bool control_is(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* Returns whether a text has one. */
static inline bool control_in(const char *text)
{
    while (*text != '\0' && !control_is(*text)) {
        text++;
    }
    return *text != '\0';
}
