/*
 * Copyright (C) the ngx_symcache authors
 */
#include "wasm.h"

#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/supplement.h"
#include "module.h"
#include "derived/symcache/symcache.h"

static bool sniff_wasm(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "\0asm", 4) == 0;
}

/* The "symbolic" library takes the length for a part of the id, and so do
 * clients that got the id from it. */
static const uint8_t *choose_id(const struct wasm_build_id *id)
{
    const struct supplement *given = supplement_get();

    return given->is_like_symbolic ||
                   (given->wanted_id != NULL &&
                    memcmp(given->wanted_id, id->with_length,
                           sizeof(id->with_length)) == 0)
               ? id->with_length
               : id->guid;
}

static int convert_wasm(const uint8_t *data, size_t size,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure)
{
    int i;
    struct wasm_module module;
    struct symc_identity identity = {.arch = SYMC_ARCH_WASM32};
    struct symbol_list symbols;
    struct dwarf_object object = {.is_big = false};

    symbol_list_init(&symbols, NULL, size);
    if (wasm_module_read(data, size, &module, &symbols, failure) != 0) {
        symbol_list_free(&symbols);
        return -1;
    }
    /* addresses in DWARF begin with the code, those of symbols with the file */
    object.load_address = -module.code;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        object.sections[i] = wasm_dwarf_section(
            &module, dwarf_section_title((enum dwarf_section_name)i));
    }
    memcpy(identity.guid, choose_id(&module.id), sizeof(identity.guid));
    return symbol_list_convert(&symbols, &object, &identity, sink, result,
                               failure);
}

static const struct debuginfo_maker wasm_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_wasm},
};

const struct debuginfo_format wasm_format = {
    .sniff = sniff_wasm,
    .makes = wasm_makes,
    .num_makes = sizeof(wasm_makes) / sizeof(wasm_makes[0]),
};
