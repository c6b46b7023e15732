/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dwarf.h"

#include <stdio.h>

#include "debuginfo/failure.h"
#include "debuginfo/scratch.h"
#include "debuginfo/supplement.h"

int dwarf_sections_find(struct dwarf_object *object, dwarf_finder *find,
                        const void *image, struct failure *failure)
{
    int i;
    char name[32];

    for (i = 0; i < DWARF_SECTIONS; i++) {
        const char *title = dwarf_section_title((enum dwarf_section_name)i);
        struct dwarf_section *s = &object->sections[i];

        *s = find(image, title);
        if (s->data != NULL || supplement_get()->is_like_symbolic) {
            continue;
        }
        snprintf(name, sizeof(name), "z%s", title);
        *s = find(image, name);
        if (dwarf_inflate(s, false, object->is_big) != 0) {
            dwarf_sections_free(object);
            return failure_memory(failure);
        }
        object->inflated[i] = (uint8_t *)(uintptr_t)s->data;
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
