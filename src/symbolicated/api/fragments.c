/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fragments.h"

#include <string.h>

void fragments_begin(struct fragments *fragments, size_t nframes)
{
    unsigned bits;

    /* a frame can be several functions, and in more slots fewer meet */
    for (bits = 1; bits < FRAGMENTS_BITS && (size_t)1 << bits < 2 * nframes;
         bits++) {
    }
    fragments->bits = bits;
    if (++fragments->answer == 0) { /* after 2^32 of them */
        memset(fragments, 0, sizeof(*fragments));
        fragments->answer = 1;
        fragments->bits = bits;
    }
}

bool fragments_find(struct fragments *fragments,
                    const struct symc_reader *reader, uint32_t index,
                    struct fragment **found)
{
    uint32_t hash;

    hash = (index ^ (uint32_t)((uintptr_t)reader >> 4)) * 0x9E3779B1u;
    *found = &fragments->slots[hash >> (32 - fragments->bits)];
    if ((*found)->reader == reader && (*found)->index == index &&
        (*found)->answer == fragments->answer) {
        return true;
    }
    (*found)->reader = reader;
    (*found)->index = index;
    (*found)->answer = fragments->answer;
    return false;
}

void fragment_write(struct fragment *fragment, int part, struct json_writer *w,
                    const struct symc_string *string)
{
    fragment->at[part] = w->size;
    json_write_string(w, string->data, string->size);
    fragment->size[part] = w->size - fragment->at[part];
}

void fragment_again(const struct fragment *fragment, int part,
                    struct json_writer *w)
{
    json_write_again(w, fragment->at[part], fragment->size[part]);
}
