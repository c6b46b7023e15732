/*
 * Copyright (C) the ngx_symcache authors
 */
#include "convert.h"

#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "exports.h"
#include "identity.h"
#include "image.h"
#include "sections.h"
#include "symcache/symcache.h"

static void find_sections(const struct pe_image *image,
                          struct dwarf_object *object)
{
    int i;
    uint64_t size;
    struct dwarf_section *section;

    memset(object, 0, sizeof(*object));
    object->load_address = image->image_base;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        section = &object->sections[i];
        section->data = pe_dwarf_section(
            image, dwarf_section_title((enum dwarf_section_name)i), &size);
        section->size = section->data != NULL ? (size_t)size : 0;
    }
}

static int convert_image(const struct pe_image *image,
                         const struct symfile_sink *sink,
                         struct debuginfo_result *result,
                         struct failure *failure)
{
    int rc;
    struct pe_debug_id id;
    struct symfile_writer writer;
    struct symfile_identity identity;
    struct symbol_list symbols;
    struct dwarf_object object;

    pe_debug_id(image, &id);
    memcpy(identity.guid, id.guid, sizeof(identity.guid));
    identity.age = id.age;
    identity.arch = pe_image_arch(image);
    symfile_writer_init(&writer);
    writer.undecorates = true;
    symbol_list_init(&symbols, image->size);
    rc = pe_exports_read(image, &symbols, failure);
    if (rc == 0) {
        find_sections(image, &object);
        rc = symbol_list_convert(&symbols, &object, &writer, failure);
    }
    symbol_list_free(&symbols);
    if (rc == 0) {
        rc = format_finish(&writer, &identity, sink, result, failure);
    }
    symfile_writer_free(&writer);
    return rc;
}

static int convert(const uint8_t *data, size_t size,
                   const struct symfile_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    char error[200];
    struct pe_image image;

    memset(result, 0, sizeof(*result));
    if (pe_image_open(&image, data, size, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    return pe_sections_check(&image, failure) != 0
               ? -1
               : convert_image(&image, sink, result, failure);
}

const struct debuginfo_format pe_format = {
    .name = "PE",
    .output = DEBUGINFO_SYMCACHE,
    .sniff = pe_sniff,
    .convert = convert,
};
