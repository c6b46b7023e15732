/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbols.h"

#include <string.h>

#include "sections.h"

#define SYMTAB_COMMAND 24
#define NLIST_32 12
#define NLIST_64 16
#define N_STAB 0xE0
#define N_TYPE 0x0E
#define N_SECT 0x0E

/* Keeps its underscore: a placeholder of a build whose names were hidden. */
#define HIDDEN "__hidden#"

struct table {
    const uint8_t *symbols;
    uint64_t rest; /* bytes of the file from there on */
    uint32_t count;
    uint64_t strings;         /* relative to the symbols */
    uint32_t strings_size;    /* which need not be true */
    uint64_t load_address;
    bool is_code[256];        /* by the number of a section, from 1 */
};

/* Notes the sections with code.  A broken header ends it, since the numbers of
 * later sections are not known. */
static void symbols_find_code(const struct macho_image *image,
                              struct table *table)
{
    uint32_t i;
    uint64_t number = 1;
    struct macho_command command = {.next = 0};
    struct macho_section section;
    struct macho_segment segment;

    while (macho_image_command(image, &command)) {
        if (macho_segment_read(image, &command, &segment) <= 0) {
            continue;
        }
        if (!macho_name_is(segment.name, "__TEXT")) {
            number += segment.num_sections;
            continue;
        }
        for (i = 0; i < segment.num_sections; i++, number++) {
            if (!macho_section_read(image, &segment, i, &section)) {
                return;
            }
            if (number < 256 && (macho_name_is(section.name, "__text") ||
                                 macho_name_is(section.name, "__stubs"))) {
                table->is_code[number] = true;
            }
        }
    }
}

static bool symbols_find_table(const struct macho_image *image,
                               struct table *table)
{
    bool found = false;
    uint32_t offset;
    struct macho_command command = {.next = 0};

    while (macho_image_command(image, &command)) {
        if (command.type != MACHO_SYMTAB || command.rest < SYMTAB_COMMAND) {
            continue;
        }
        offset = macho_u32(image, command.data + 8);
        found = offset <= image->size;
        table->symbols = image->data + (found ? offset : 0);
        table->rest = image->size - (found ? offset : 0);
        table->count = macho_u32(image, command.data + 12);
        table->strings =
            (uint64_t)macho_u32(image, command.data + 16) - offset;
        table->strings_size = macho_u32(image, command.data + 20);
    }
    return found;
}

/* Is an entry, of this value, a function? */
static bool is_function_symbol(const struct table *table, const uint8_t *p,
                               uint64_t value)
{
    return value >= table->load_address && (p[4] & N_STAB) == 0 &&
           (p[4] & N_TYPE) == N_SECT && table->is_code[p[5]];
}

static void symbols_trim_name(const char **name, uint32_t *size)
{
    size_t hidden = sizeof(HIDDEN) - 1;

    if (*size > 0 && (*name)[0] == '_' &&
        (*size < hidden || memcmp(*name, HIDDEN, hidden) != 0)) {
        ++*name;
        --*size;
    }
}

int macho_symbols_read(const struct macho_image *image,
                       struct symbol_list *symbols, struct failure *failure)
{
    const uint8_t *p;
    const char *text;
    uint32_t i, size, entry = image->is_64 ? NLIST_64 : NLIST_32;
    uint64_t value, name;
    bool is_wanted;
    struct table table = {.load_address = macho_load_address(image)};

    if (!symbols_find_table(image, &table)) {
        return 0;
    }
    symbols_find_code(image, &table);
    symbol_list_look(symbols, table.symbols, table.rest, table.strings,
                     table.strings_size);
    for (i = 0; i < table.count && table.rest / entry > i; i++) {
        p = table.symbols + (size_t)i * entry;
        name = table.strings + macho_u32(image, p);
        value =
            image->is_64 ? macho_u64(image, p + 8) : macho_u32(image, p + 8);
        is_wanted = is_function_symbol(&table, p, value);
        if (!is_wanted && symbol_list_is_plain(symbols, name)) {
            continue;
        }
        /* a bad name ends the list, whatever it is of */
        text = symbol_list_text(symbols, table.symbols, table.rest, name,
                                &size);
        if (text == NULL) {
            break;
        }
        if (!is_wanted) {
            continue;
        }
        symbols_trim_name(&text, &size);
        if (symbol_list_add(symbols, value - table.load_address, 0, text, size,
                            failure) != 0) {
            return -1;
        }
    }
    return symbol_list_end(symbols, failure);
}
