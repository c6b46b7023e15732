/*
 * Copyright (C) the ngx_symcache authors
 *
 * A growing text.  What does not fit into memory or the limit is left out and
 * remembered.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

#define TEXT_MAX (1u << 20)

struct text {
    char *data;
    size_t size;
    size_t room;
    int is_cut;
};

void text_add(struct text *text, const char *data, size_t size);
void text_add_string(struct text *text, const char *string);
void text_add_number(struct text *text, const char *format,
                     unsigned long long number);
void text_free(struct text *text);

#endif
