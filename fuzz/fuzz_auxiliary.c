/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: BCSymbolMaps, UUID maps and line mappings of il2cpp.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/auxiliary/auxiliary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void refused(const char *error)
{
    if (error[0] == '\0') {
        abort(); /* without a reason */
    }
}

/* Each name lies in the map, and no other text is changed. */
static void try_symbols(const uint8_t *data, size_t size)
{
    static const char *const hidden[] = {"__hidden#0_", "__hidden#+00002_",
                                         "__hidden#4294967296_", "__hidden#_",
                                         "__hidden#1"};
    struct symbol_map map;
    char error[200] = "";
    const char *text;
    uint32_t n, i;

    if (symbol_map_open(&map, data, size, error, sizeof(error)) != 0) {
        refused(error);
        return;
    }
    for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        text = hidden[i];
        n = (uint32_t)strlen(text);
        if (symbol_map_resolve(&map, &text, &n)
                ? i > 1 || text < map.text ||
                      n > (size_t)(map.text + map.size - text)
                : text != hidden[i]) {
            abort();
        }
    }
    symbol_map_close(&map);
}

/* Lines of the first C++ file, whose name the text has in front. */
static void try_lines(const uint8_t *data, size_t size)
{
    char error[200] = "";
    size_t id_size;
    const char *id = line_mapping_id(data, size, &id_size);
    struct line_mapping *mapping =
        line_mapping_open(data, size, error, sizeof(error));
    const char *path = (const char *)data + 2;
    size_t path_size = strnlen(path, size > 2 ? size - 2 : 0);
    const char *end = memchr(path, '"', path_size);
    const struct symc_source *source;
    uint32_t line, i;

    if (id != NULL && memchr(id, '"', id_size) != NULL) {
        abort();
    }
    if (mapping == NULL) {
        refused(error);
        return;
    }
    path_size = end != NULL ? (size_t)(end - path) : 0;
    for (i = 0; i < 300; i++) {
        line = i;
        source = line_mapping_find(mapping, path, path_size, &line);
        if (source != NULL && source->name.data == NULL) {
            abort();
        }
    }
    line_mapping_close(mapping);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t uuid[16];
    char error[200] = "";

    if (size == 0) {
        return 0;
    }
    try_symbols(data, size);
    try_lines(data, size);
    if (uuid_map_read(data, size, uuid, error, sizeof(error)) != 0) {
        refused(error);
    }
    return 0;
}
