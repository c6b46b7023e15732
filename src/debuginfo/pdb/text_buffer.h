/*
 * Copyright (C) the ngx_symcache authors
 *
 * A text that grows.  If it would exceed the memory or the limit, the rest is
 * dropped and is_cut is set.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#define TEXT_MAX (1u << 20)

struct text {
    char *data;
    size_t size;
    size_t room; /* at most TEXT_MAX */
    int is_cut;
};

/* The part of text_add() that makes room, or finds that there is none. */
void text_grow(struct text *text, const char *data, size_t size);

/* Appends data.  Inline because most pieces are literals of a few bytes. */
static inline void text_add(struct text *text, const char *data, size_t size)
{
    if (text->is_cut || size >= text->room - text->size) {
        text_grow(text, data, size);
        return;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

static inline void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_add_number(struct text *text, const char *format,
                     unsigned long long number);
void text_free(struct text *text);
