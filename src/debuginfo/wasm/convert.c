/*
 * Copyright (C) the ngx_symcache authors
 */
#include "convert.h"

#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "module.h"
#include "symcache/symcache.h"

static bool sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "\0asm", 4) == 0;
}

static void find_sections(const struct wasm_module *module,
                          struct dwarf_object *object)
{
    int i;
    const struct wasm_section *section;

    memset(object, 0, sizeof(*object));
    /* addresses in DWARF begin with the code, those of symbols with the file */
    object->load_address = -module->code;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        section = wasm_dwarf_section(
            module, dwarf_section_title((enum dwarf_section_name)i));
        if (section != NULL) {
            object->sections[i].data = section->data;
            object->sections[i].size = section->size;
        }
    }
}

static int convert(const uint8_t *data, size_t size,
                   const struct symfile_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    struct wasm_module module;
    struct symfile_writer writer;
    struct symfile_identity identity = {.arch = SYMFILE_ARCH_WASM32};
    struct symbol_list symbols;
    struct dwarf_object object;

    memset(result, 0, sizeof(*result));
    symfile_writer_init(&writer);
    symbol_list_init(&symbols, size);
    rc = wasm_module_read(data, size, &module, &symbols, failure);
    if (rc == 0) {
        find_sections(&module, &object);
        rc = symbol_list_convert(&symbols, &object, &writer, failure);
    }
    symbol_list_free(&symbols);
    if (rc == 0) {
        memcpy(identity.guid, module.id, sizeof(identity.guid));
        rc = format_finish(&writer, &identity, sink, result, failure);
    }
    symfile_writer_free(&writer);
    return rc;
}

const struct debuginfo_format wasm_format = {
    .name = "WebAssembly",
    .output = DEBUGINFO_SYMCACHE,
    .sniff = sniff,
    .convert = convert,
};
