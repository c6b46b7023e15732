/*
 * Copyright (C) the ngx_symcache authors
 *
 * The symbols of an object file, in the order of its table.  They are written
 * after all functions, and DWARF's functions take their names from them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "debuginfo/format.h"
#include "derived/symcache/symcache.h"

struct dwarf_object;

/* There may be many: they are kept small.  Of the size, a SymCache has 32 bits;
 * where these are 0, the symbol extends to what comes next. */
struct debuginfo_symbol {
    uint64_t address; /* relative to where the image is loaded */
    const char *name; /* inside of the file, without a NUL, or NULL */
    uint32_t name_size;
    uint32_t size;
};

/* Many symbols can have the same long name: what reading may take is bounded by
 * the size of the file. */
struct symbol_list {
    struct symc_writer writer;
    bool is_kept; /* functions come first; else symbols are written at once */
    struct debuginfo_symbol *list;
    size_t count;
    size_t room;
    struct symc_segments segments; /* of the image; set by the list's owner */
    char segments_text[SYMC_SEGMENTS_TEXT];
    uint64_t work; /* that is still allowed: bytes of names, and steps */
    uint64_t plain; /* the first offset that symbol_list_look() has found */
    uint64_t plain_end; /* and the end of them */
};

/* Makes an empty list.  The object has its sections, or is NULL, if that is not
 * known yet. */
void symbol_list_init(struct symbol_list *symbols,
                      const struct dwarf_object *object, size_t file_size);

/* Counts work. */
void symbol_list_work(struct symbol_list *symbols, uint64_t work);

/* For symbol_list_add(), when the list is full: writes its symbols, or makes it
 * longer. */
int symbol_list_make_room(struct symbol_list *symbols,
                          struct failure *failure);

/* Adds a symbol.  Its name must stay until the end of the conversion.  It is
 * handed over in parts: a copy of a struct that was just written waits for
 * these.  Returns 0, or -1 with failure set if memory runs out. */
static inline int symbol_list_add(struct symbol_list *symbols,
                                  uint64_t address, uint32_t size,
                                  const char *name, uint32_t name_size,
                                  struct failure *failure)
{
    if (symbols->count == symbols->room &&
        symbol_list_make_room(symbols, failure) != 0) {
        return -1;
    }
    symbols->list[symbols->count++] =
        (struct debuginfo_symbol){address, name, name_size, size};
    return 0;
}

/*
 * Finds the texts of a table that are ASCII, up to the first one that is not,
 * in the part of it in which most are: each need not be looked at by itself
 * then.
 */
void symbol_list_look(struct symbol_list *symbols, const uint8_t *table,
                      uint64_t table_size, uint64_t offset, uint64_t size);

/* Is the text at an offset of this table known to be ASCII? */
static inline bool symbol_list_is_plain(const struct symbol_list *symbols,
                                        uint64_t offset)
{
    return offset >= symbols->plain && offset < symbols->plain_end;
}

/*
 * Gets the text that begins at an offset of a table and ends at a NUL, or at
 * the end of the table, where one may begin, too; counts its length as work.
 * Returns NULL if the offset is outside, if the text is not UTF-8, or if the
 * work is done.
 */
const char *symbol_list_text(struct symbol_list *symbols, const uint8_t *table,
                             uint64_t table_size, uint64_t offset,
                             uint32_t *size);

/* Must be called when all symbols are read.  Returns 0, or -1 with failure set
 * if the work was done before. */
int symbol_list_end(const struct symbol_list *symbols,
                    struct failure *failure);

/*
 * The rest of each convert (format.h): writes the functions of DWARF, if the
 * object has its sections, and after them all symbols that have a name.  Sets
 * the object's symbols meanwhile, and frees the list.  Returns 0, or -1 with
 * failure set.
 */
int symbol_list_convert(struct symbol_list *symbols,
                        struct dwarf_object *object,
                        const struct symc_identity *identity,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure);

void symbol_list_free(struct symbol_list *symbols);
