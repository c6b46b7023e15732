/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dwarf.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/byte_order.h"
#include "debuginfo/scratch.h"
#include "debuginfo/supplement.h"

#define MAGIC "ZLIB"
#define HEADER 12      /* magic, size in 8 big-endian bytes */
#define ZLIB_MOST 1032 /* bytes of output that one of input may become */

/* A damaged section counts as an absent one.  Returns -1 if memory runs out.
 */
static int inflate_section(struct dwarf_object *object, int i,
                           const struct dwarf_section *packed)
{
    uint64_t wanted;
    uLongf size;
    uint8_t *out;

    if (packed->size <= HEADER ||
        memcmp(packed->data, MAGIC, strlen(MAGIC)) != 0) {
        return 0;
    }
    wanted = byte_order_64(packed->data + strlen(MAGIC), true);
    if (wanted / ZLIB_MOST > packed->size) {
        return 0;
    }
    out = scratch_allocate((size_t)wanted);
    if (out == NULL) {
        return -1;
    }
    object->inflated[i] = out;
    size = (uLongf)wanted;
    if (uncompress(out, &size, packed->data + HEADER,
                   packed->size - HEADER) == Z_OK) {
        object->sections[i].data = out;
        object->sections[i].size = size;
    }
    return 0;
}

int dwarf_sections_find(struct dwarf_object *object, dwarf_finder *find,
                        const void *image)
{
    int i;
    char name[32];
    struct dwarf_section packed;

    for (i = 0; i < DWARF_SECTIONS; i++) {
        const char *title = dwarf_section_title((enum dwarf_section_name)i);

        object->sections[i] = find(image, title);
        if (object->sections[i].data != NULL ||
            supplement_get()->is_like_symbolic) {
            continue;
        }
        snprintf(name, sizeof(name), "z%s", title);
        packed = find(image, name);
        if (inflate_section(object, i, &packed) != 0) {
            return -1;
        }
    }
    return 0;
}

void dwarf_sections_free(struct dwarf_object *object)
{
    int i;

    for (i = 0; i < DWARF_SECTIONS; i++) {
        scratch_free(object->inflated[i]);
    }
}
