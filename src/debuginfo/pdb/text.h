/*
 * Copyright (C) the ngx_symcache authors
 *
 * A growing text.  What does not fit into memory or the limit is left out and
 * remembered.
 */
#ifndef DEBUGINFO_PDB_TEXT_H
#define DEBUGINFO_PDB_TEXT_H

#include <stddef.h>
#include <string.h>

#define TEXT_MAX (1u << 20)

struct text {
    char *data;
    size_t size;
    size_t room; /* at most TEXT_MAX */
    int is_cut;
};

/* text_add() where there may be no room, or no more. */
void text_grow(struct text *text, const char *data, size_t size);

/* Inlined, as most pieces are literals of a few bytes. */
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

#endif
