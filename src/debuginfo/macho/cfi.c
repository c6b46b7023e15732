/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the call frame information of a Mach-O image.
 */
#include "macho.h"

#include <string.h>

#include "compact.h"
#include "debuginfo/cfi.h"
#include "debuginfo/dwarf/dwarf.h"
#include "image.h"
#include "sections.h"
#include "symbols.h"

#define TRAMPOLINE "_sigtramp" /* without the underscore of C */

static struct dwarf_frames find(const struct macho_image *image,
                                const char *name, const struct cfi *cfi)
{
    return (struct dwarf_frames){.found = macho_section_find(image, name),
                                 .load_address = macho_load_address(image),
                                 .arch = cfi->identity.arch,
                                 .is_big = image->is_big_endian,
                                 .is_eh = strcmp(name, "eh_frame") == 0};
}

/* Finds the address of a function that signal handlers return to. */
static int cfi_find_trampoline(const struct macho_image *image,
                               struct compact *compact,
                               struct failure *failure)
{
    int rc;
    size_t i;
    const struct debuginfo_symbol *symbol;
    struct symbol_list symbols;
    struct dwarf_object object = {.load_address = macho_load_address(image)};

    symbol_list_init(&symbols, &object, image->size);
    symbols.is_kept = true;
    rc = macho_symbols_read(image, &symbols, failure);
    for (i = 0; rc == 0 && i < symbols.count; i++) {
        symbol = &symbols.list[i];
        if (symbol->name_size == sizeof(TRAMPOLINE) - 1 &&
            memcmp(symbol->name, TRAMPOLINE, symbol->name_size) == 0) {
            compact->trampoline = symbol->address;
        }
    }
    symbol_list_free(&symbols);
    return rc;
}

static int cfi_read_compact(const struct macho_image *image,
                            const struct dwarf_section *section,
                            struct cfi *cfi, struct failure *failure)
{
    int rc;
    const struct dwarf_frames frames = find(image, "eh_frame", cfi);
    struct compact compact = {.section = *section,
                              .is_big = image->is_big_endian,
                              .arch = cfi->identity.arch};

    if (cfi_find_trampoline(image, &compact, failure) != 0) {
        return -1;
    }
    if (frames.found.section.size > 0) {
        compact.frames = dwarf_frames_open(&frames, cfi);
        if (compact.frames == NULL) {
            return -1;
        }
    }
    rc = compact_read(&compact, cfi);
    dwarf_frames_close(compact.frames);
    return rc;
}

int macho_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                   struct failure *failure)
{
    struct macho_image image;
    struct dwarf_frames frames;
    struct dwarf_section compact;

    if (macho_open_valid(&image, data, size, failure) != 0) {
        return -1;
    }
    macho_image_uuid(&image, cfi->identity.guid);
    cfi->identity.arch = macho_arch(image.cpu_type, image.cpu_subtype);
    frames = find(&image, "debug_frame", cfi);
    if (dwarf_frames_read(&frames, cfi) != 0) {
        return -1;
    }
    compact = macho_section_find(&image, "unwind_info").section;
    if (compact.size > 0) {
        return cfi_read_compact(&image, &compact, cfi, failure);
    }
    frames = find(&image, "eh_frame", cfi);
    return dwarf_frames_read(&frames, cfi);
}
