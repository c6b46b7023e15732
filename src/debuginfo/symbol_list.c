/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbol_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "symcache/symcache.h"

#define AHEAD 8 /* symbols whose names are hashed before they are written */

int symbol_list_add(struct symbol_list *symbols,
                    const struct debuginfo_symbol *symbol,
                    struct failure *failure)
{
    if (symfile_array_need(&symbols->list, &symbols->room, symbols->count + 1,
                           sizeof(*symbols->list)) != 0) {
        return failure_memory(failure);
    }
    symbols->list[symbols->count++] = *symbol;
    return 0;
}

const char *symbol_list_text(struct symbol_list *symbols, const uint8_t *table,
                             uint64_t table_size, uint64_t offset,
                             uint32_t *size)
{
    uint64_t rest;
    const char *text;

    if (offset >= table_size) {
        return NULL;
    }
    rest = table_size - offset;
    text = (const char *)table + offset;
    *size = (uint32_t)strnlen(text, rest < UINT32_MAX ? rest : UINT32_MAX);
    if (*size >= symbols->work) {
        symbols->work = 0;
        return NULL;
    }
    symbols->work -= *size;
    return utf8_valid(text, *size) == *size ? text : NULL;
}

int symbol_list_end(const struct symbol_list *symbols,
                    struct failure *failure)
{
    return symbols->work == 0 ? failure_work(failure) : 0;
}

int symbol_list_write(const struct symbol_list *symbols,
                      struct symfile_writer *writer, struct failure *failure)
{
    size_t i, begun = 0;
    const struct debuginfo_symbol *symbol;
    struct symfile_name *name, names[AHEAD];
    enum symfile_status status = SYMFILE_OK;

    for (i = 0; i < symbols->count && status == SYMFILE_OK; i++) {
        for (; begun < symbols->count && begun < i + AHEAD; begun++) {
            symbol = &symbols->list[begun];
            name = &names[begun % AHEAD];
            memset(name, 0, sizeof(*name));
            if (symbol->name != NULL) {
                name->data = symbol->name;
                name->size = symbol->name_size;
                symfile_writer_expect(writer, name);
            }
        }
        symbol = &symbols->list[i];
        if (symbol->name != NULL) {
            status = symfile_writer_symbol(writer, symbol->address,
                                           symbol->size, &names[i % AHEAD]);
        }
    }
    return failure_writer(failure, status);
}

void symbol_list_free(struct symbol_list *symbols)
{
    free(symbols->list);
    memset(symbols, 0, sizeof(*symbols));
}
