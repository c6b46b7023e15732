/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dwarf.h"

#include "debuginfo/failure.h"
#include "debuginfo/scratch.h"

/* That of the entries is by far the largest one. */
static int decompress_section(struct dwarf_object *o, int i)
{
    struct dwarf_section *s = &o->sections[i];

    if (i == DWARF_INFO && o->reads_ahead) {
        o->inflation = dwarf_inflation_begin(s, o->is_64, o->is_big);
    }
    if ((i != DWARF_INFO || o->inflation == NULL) &&
        dwarf_inflate(s, o->is_64, o->is_big) != 0) {
        return -1;
    }
    o->inflated[i] = (uint8_t *)(uintptr_t)s->data;
    return 0;
}

int dwarf_sections_find(struct dwarf_object *object, dwarf_finder *find,
                        const void *image, struct failure *failure)
{
    int i;
    struct dwarf_found found;

    for (i = 0; i < DWARF_SECTIONS; i++) {
        found = find(image, dwarf_section_title((enum dwarf_section_name)i));
        object->sections[i] = found.section;
        if (found.is_compressed && decompress_section(object, i) != 0) {
            (void)dwarf_sections_free(object);
            return failure_memory(failure);
        }
    }
    return 0;
}

bool dwarf_sections_free(struct dwarf_object *object)
{
    int i;
    const bool is_right =
        object->inflation == NULL || dwarf_inflation_end(object->inflation);

    object->inflation = NULL;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        scratch_free(object->inflated[i]);
        object->inflated[i] = NULL;
    }
    return is_right;
}
