/*
 * Copyright (C) the ngx_symcache authors
 */
#include "c13.h"
#include "base/le.h"

#define FIRST_KIND 0xF1
#define LAST_KIND 0xFD
#define IGNORE 0x80000000u

int c13_next(const uint8_t *data, uint32_t size, uint32_t *at,
             struct c13_subsection *subsection)
{
    uint32_t kind, length;

    while (*at < size) {
        if (size - *at < 8) {
            return -1;
        }
        kind = le32(data + *at);
        length = le32(data + *at + 4);
        if (length > size - *at - 8) {
            return -1;
        }
        subsection->kind = kind;
        subsection->data = data + *at + 8;
        subsection->size = length;
        *at += 8 + length;
        if (kind >= FIRST_KIND && kind <= LAST_KIND) {
            return 1;
        }
        if (kind != IGNORE) {
            return -1;
        }
    }
    return 0;
}
