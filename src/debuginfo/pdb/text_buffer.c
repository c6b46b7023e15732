/*
 * Copyright (C) the ngx_symcache authors
 */

#include "text_buffer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

void text_grow(struct text *text, const char *data, size_t size)
{
    if (text->is_cut || size > TEXT_MAX - text->size ||
        array_need(&text->data, &text->room, text->size + size, 1) != 0) {
        text->is_cut = 1;
        return;
    }
    text->room = text->room < TEXT_MAX ? text->room : TEXT_MAX;
    if (size > 0) {
        memcpy(text->data + text->size, data, size);
    }
    text->size += size;
}

void text_add_number(struct text *text, const char *format,
                     unsigned long long number)
{
    char buffer[120];

    snprintf(buffer, sizeof(buffer), format, number);
    text_add_string(text, buffer);
}

void text_free(struct text *text)
{
    free(text->data);
    memset(text, 0, sizeof(*text));
}
