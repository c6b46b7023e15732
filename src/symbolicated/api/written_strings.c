/*
 * Copyright (C) the ngx_symcache authors
 */
#include "written_strings.h"

#include <string.h>

void written_strings_begin(struct written_strings *fragments, size_t nframes)
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

bool written_strings_find(struct written_strings *fragments,
                          const struct symc_reader *reader, uint32_t index,
                          struct written_string **found)
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

void written_string_write(struct written_string *fragment, int part,
                          struct json_writer *w,
                          const struct symc_string *string)
{
    fragment->at[part] = w->size;
    json_write_string(w, string->data, string->size);
    fragment->size[part] = w->size - fragment->at[part];
}

void written_string_again(const struct written_string *fragment, int part,
                          struct json_writer *w)
{
    json_write_again(w, fragment->at[part], fragment->size[part]);
}
