/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "bytes.h"

#define NAMES_OF_FUNCTIONS 1 /* the part of the section "name" */

struct wasm_module_reader {
    const uint8_t *data;
    struct wasm_module *module;
    struct symbol_list *symbols;
    struct failure *failure;
    uint32_t num_imports; /* of functions: they come first in their numbers */
    uint32_t num_declared;
    bool has_code;
};

static int damaged_module(struct wasm_module_reader *module, const uint8_t *at,
                          const char *what)
{
    return failure_set(module->failure, FAILURE_DAMAGED,
                       "is damaged: %s (offset %llu)", what,
                       (unsigned long long)(at - module->data));
}

/* Skips the limits of a memory or table. */
static void module_skip_limits(struct wasm_bytes *b)
{
    uint8_t flags = wasm_byte(b);

    wasm_u64(b);
    if ((flags & 1) != 0) {
        wasm_u64(b); /* the most */
    }
    if ((flags & 8) != 0) {
        wasm_u32(b); /* size of a page */
    }
}

/* Skips a type of values.  References to other types have an index. */
static void module_skip_type(struct wasm_bytes *b)
{
    uint8_t type = wasm_byte(b);

    if (type == 0x63 || type == 0x64) {
        while ((wasm_byte(b) & 0x80) != 0 && !b->has_failed) {
        }
    }
}

/* Reads what is imported; only functions matter.  Returns false for a kind
 * that is unknown. */
static bool skip_import(struct wasm_module_reader *module,
                        struct wasm_bytes *b)
{
    switch (wasm_byte(b)) {
    case 0:
        wasm_u32(b);
        module->num_imports++;
        return true;
    case 1:
        module_skip_type(b);
        module_skip_limits(b);
        return true;
    case 2:
        module_skip_limits(b);
        return true;
    case 3:
        module_skip_type(b);
        wasm_byte(b);
        return true;
    case 4:
        wasm_byte(b);
        wasm_u32(b);
        return true;
    default:
        return false;
    }
}

static int read_imports(struct wasm_module_reader *module,
                        struct wasm_bytes *b)
{
    uint32_t i, n = wasm_u32(b);

    for (i = 0; i < n && !b->has_failed; i++) {
        wasm_part(b); /* the names of module and field */
        wasm_part(b);
        if (!skip_import(module, b)) {
            return damaged_module(module, b->at,
                                  "an import of an unknown kind");
        }
    }
    return 0;
}

static int read_code(struct wasm_module_reader *module, struct wasm_bytes *b)
{
    uint32_t i, n;
    struct wasm_bytes body;
    uint64_t address;
    struct debuginfo_symbol *last;

    module->has_code = true;
    module->module->code = (uint64_t)(b->at - module->data);
    n = wasm_u32(b);
    if (n != module->num_declared) {
        return damaged_module(
            module, b->at,
            "not as many functions have a body as are declared");
    }
    for (i = 0; i < n && !b->has_failed; i++) {
        body = wasm_part(b);
        address = (uint64_t)(body.at - module->data);
        if (module->symbols->count > 0) {
            last = &module->symbols->list[module->symbols->count - 1];
            last->size = (uint32_t)(address - last->address);
        }
        if (symbol_list_add(module->symbols, address,
                            (uint32_t)(body.end - body.at), NULL, 0,
                            module->failure) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Gives the functions their names.  Those of imports are in the list, too. */
static int name_functions(struct wasm_module_reader *module,
                          struct wasm_bytes *b)
{
    uint32_t i, n = wasm_u32(b), function;
    size_t size;
    struct wasm_bytes name;
    struct debuginfo_symbol *symbol;

    for (i = 0; i < n && !b->has_failed; i++) {
        function = wasm_u32(b);
        name = wasm_part(b);
        size = (size_t)(name.end - name.at);
        if (utf8_valid(name.at, size) != size) {
            return damaged_module(module, name.at,
                                  "the name of a function is not UTF-8");
        }
        if (!b->has_failed && function >= module->num_imports &&
            function - module->num_imports < module->symbols->count) {
            symbol = &module->symbols->list[function - module->num_imports];
            symbol->name = (const char *)name.at;
            symbol->name_size = (uint32_t)size;
        }
    }
    return b->has_failed ? damaged_module(module, b->at,
                                          "names of functions are cut off")
                         : 0;
}

static int read_names(struct wasm_module_reader *module, struct wasm_bytes *b)
{
    uint8_t kind;
    struct wasm_bytes part;

    while (b->at < b->end) {
        kind = wasm_byte(b);
        part = wasm_part(b);
        if (part.has_failed) {
            return damaged_module(module, b->at, "a list of names is cut off");
        }
        if (kind == NAMES_OF_FUNCTIONS && name_functions(module, &part) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_custom(struct wasm_module_reader *module, struct wasm_bytes *b)
{
    struct wasm_module *m = module->module;
    struct wasm_bytes name = wasm_part(b);
    struct wasm_section *section;
    size_t rest = (size_t)(b->end - b->at);

    if (name.has_failed ||
        utf8_valid(name.at, (size_t)(name.end - name.at)) !=
            (size_t)(name.end - name.at)) {
        return damaged_module(module, b->at, "a custom section has no name");
    }
    if (wasm_bytes_are(&name, "build_id")) {
        wasm_build_id_read(b->at, rest, &m->id);
    } else if (wasm_bytes_are(&name, "name")) {
        return read_names(module, b);
    } else if (name.at < name.end && *name.at == '.' &&
               m->num_sections < WASM_SECTIONS_MAX) {
        section = &m->sections[m->num_sections++];
        section->name = (const char *)name.at;
        section->name_size = (uint32_t)(name.end - name.at);
        section->data = b->at;
        section->size = rest;
    }
    b->at = b->end;
    return 0;
}

static int read_wasm_section(struct wasm_module_reader *module, uint8_t id,
                             struct wasm_bytes *b)
{
    int rc;

    switch (id) {
    case WASM_CUSTOM:
        return read_custom(module, b);
    case WASM_IMPORT:
        rc = read_imports(module, b);
        break;
    case WASM_FUNCTION:
        module->num_declared = wasm_u32(b);
        rc = 0;
        b->at = b->has_failed ? b->at : b->end;
        break;
    case WASM_CODE:
        rc = module->has_code
                 ? damaged_module(module, b->at, "a second code section")
                 : read_code(module, b);
        break;
    default:
        return 0;
    }
    if (rc == 0 && (b->has_failed || b->at != b->end)) {
        rc = damaged_module(module, b->at,
                            "a section has another size than its content");
    }
    return rc;
}

int wasm_module_read(const uint8_t *data, size_t size,
                     struct wasm_module *module, struct symbol_list *symbols,
                     struct failure *failure)
{
    uint8_t id;
    struct wasm_bytes section;
    struct wasm_bytes bytes = {data, data + size, false};
    struct wasm_module_reader r = {.data = data,
                                   .module = module,
                                   .symbols = symbols,
                                   .failure = failure};

    memset(module, 0, sizeof(*module));
    if (size < WASM_HEADER_SIZE ||
        memcmp(data, WASM_HEADER, WASM_HEADER_SIZE) != 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a WebAssembly module of version 1");
    }
    bytes.at += WASM_HEADER_SIZE;
    while (bytes.at < bytes.end) {
        id = wasm_byte(&bytes);
        section = wasm_part(&bytes);
        if (section.has_failed) {
            return damaged_module(&r, bytes.at, "a section is cut off");
        }
        if (read_wasm_section(&r, id, &section) != 0) {
            return -1;
        }
    }
    if (!r.has_code && r.num_declared != 0) {
        return damaged_module(&r, bytes.at,
                              "functions are declared without code");
    }
    return 0;
}

struct dwarf_section wasm_dwarf_section(const struct wasm_module *module,
                                        const char *name)
{
    unsigned i;
    const struct wasm_section *section;
    struct dwarf_section found = {NULL, 0};

    for (i = 0; i < module->num_sections; i++) {
        section = &module->sections[i];
        if (section->name_size == strlen(name) + 1 &&
            memcmp(section->name + 1, name, strlen(name)) == 0) {
            found.data = section->data;
            found.size = section->size;
            break;
        }
    }
    return found;
}
