/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbol_list.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "debuginfo/supplement.h"
#include "batch.h"
#include "dwarf.h"

#define AHEAD 16 /* symbols whose names are hashed before they are written */
#define AT_ONCE 256 /* symbols that are written together */
#define MANY 6000 /* symbols; files with more than AT_ONCE mostly have more */

#define LARGE_FILE ((size_t)64 << 20)

/* Bytes of names, for small files and for each byte of a file. */
#define WORK_BASE ((uint64_t)64 << 20)
#define WORK_FACTOR 4

/*
 * Keeps arrays on the heap, whose pages are had again by the next ones: a page
 * that is new takes longer than 4 KB of symbols.  Of large files, and with
 * much DWARF, those that grow are mapped (base/array.h): they become larger
 * without a copy, and their memory is given back.
 */
static void keep_memory(bool is_large)
{
    int large = (int)SYMC_ARRAY_LARGE;

    mallopt(M_MMAP_THRESHOLD, is_large ? large / 2 : 2 * large);
    mallopt(M_TRIM_THRESHOLD, is_large ? large : 16 * large);
    mallopt(M_TOP_PAD, is_large ? large / 8 : 4 * large);
}

void symbol_list_init(struct symbol_list *symbols,
                      const struct dwarf_object *object, size_t file_size)
{
    keep_memory(object == NULL || file_size >= LARGE_FILE ||
                object->sections[DWARF_INFO].size >= DWARF_BATCHES_LEAST);
    memset(symbols, 0, sizeof(*symbols));
    supplement_begin_writer(&symbols->writer);
    symbols->writer.strings.refers = true;
    symbols->is_kept =
        object == NULL || object->sections[DWARF_INFO].size > 0;
    symbols->work = WORK_BASE + WORK_FACTOR * (uint64_t)file_size;
}

void symbol_list_work(struct symbol_list *symbols, uint64_t work)
{
    symbols->work -= work < symbols->work ? work : symbols->work;
}

/* Makes room for this number of names. */
static int reserve(struct symbol_list *symbols, size_t names,
                   struct failure *failure)
{
    return symc_string_table_reserve(&symbols->writer.strings, names) != 0
               ? failure_memory(failure)
               : 0;
}

/* Writes the symbols of the list, and empties it.  What is called for each of
 * many is part of this function. */
static __attribute__((flatten)) int
write_symbols(struct symbol_list *symbols, struct failure *failure)
{
    size_t i, n, first;
    const struct debuginfo_symbol *list;
    struct symc_name names[AHEAD];
    struct symc_writer *writer = &symbols->writer;
    enum symc_status status = SYMC_OK;

    for (first = 0; first < symbols->count && status == SYMC_OK; first += n) {
        list = symbols->list + first;
        n = symbols->count - first < AHEAD ? symbols->count - first : AHEAD;
        for (i = 0; i < n; i++) {
            names[i] = (struct symc_name){.data = list[i].name,
                                          .size = list[i].name_size};
            if (list[i].name != NULL) {
                symc_writer_expect(writer, &names[i]);
            }
        }
        for (i = 0; i < n && status == SYMC_OK; i++) {
            if (list[i].name != NULL) {
                status = symc_writer_symbol(writer, list[i].address,
                                            list[i].size, &names[i]);
            }
        }
    }
    symbols->count = 0;
    return failure_writer(failure, status);
}

int symbol_list_make_room(struct symbol_list *symbols, struct failure *failure)
{
    if (!symbols->is_kept && symbols->count > 0) {
        return reserve(symbols, MANY, failure) != 0
                   ? -1
                   : write_symbols(symbols, failure);
    }
    return array_need(&symbols->list, &symbols->room,
                      symbols->is_kept ? symbols->count + 1 : AT_ONCE,
                      sizeof(*symbols->list)) != 0
               ? failure_memory(failure)
               : 0;
}

void symbol_list_look(struct symbol_list *symbols, const uint8_t *table,
                      uint64_t table_size, uint64_t offset, uint64_t size)
{
    const uint8_t *begin, *end;

    if (offset > table_size) {
        return;
    }
    begin = table + offset;
    size = size < table_size - offset ? size : table_size - offset;
    size = utf8_ascii(begin, size);
    end = size > 0 ? memrchr(begin, '\0', size) : NULL;
    symbols->plain = offset;
    symbols->plain_end =
        offset + (end != NULL ? (size_t)(end - begin) + 1 : 0);
}

const char *symbol_list_text(struct symbol_list *symbols, const uint8_t *table,
                             uint64_t table_size, uint64_t offset,
                             uint32_t *size)
{
    uint64_t rest;
    const char *text;

    if (offset > table_size) {
        return NULL;
    }
    rest = table_size - offset;
    text = (const char *)table + offset;
    *size = (uint32_t)strnlen(text, rest < UINT32_MAX ? rest : UINT32_MAX);
    symbol_list_work(symbols, *size);
    return symbols->work > 0 && (symbol_list_is_plain(symbols, offset) ||
                                 utf8_valid(text, *size) == *size)
               ? text
               : NULL;
}

int symbol_list_end(const struct symbol_list *symbols,
                    struct failure *failure)
{
    return symbols->work == 0 ? failure_work(failure) : 0;
}

/* Sorts the symbols up to 32 bits, beyond which a SymCache has no functions, as
 * symc_writer_order() has them.  Returns them, and whether they are all that
 * are written, or NULL if memory runs out. */
static uint64_t *sort_symbols(const struct symbol_list *symbols, size_t *n,
                              bool *are_all)
{
    size_t i, count = symbols->count;
    uint64_t *order = malloc((count + 1) * sizeof(*order));
    uint64_t *tmp = malloc((count / 2 + 1) * sizeof(*tmp));

    if (order == NULL || tmp == NULL || count > UINT32_MAX) {
        free(order);
        free(tmp);
        return NULL;
    }
    *n = 0;
    *are_all = true;
    for (i = 0; i < count; i++) {
        *are_all &= symbols->list[i].name != NULL;
        if (symbols->list[i].address <= UINT32_MAX) {
            order[(*n)++] = symbols->list[i].address << 32 | i;
        }
    }
    *are_all &= *n == count;
    sort_tightly(order, tmp, *n);
    free(tmp);
    *n = sort_distinct(order, *n);
    return order;
}

/* Writes the functions, of which the symbols are the names. */
static int add_functions(struct symbol_list *symbols,
                         struct dwarf_object *object, struct failure *failure)
{
    int rc;
    size_t n;
    bool are_all;
    uint64_t *order = sort_symbols(symbols, &n, &are_all);

    if (order == NULL) {
        return failure_memory(failure);
    }
    object->symbols = symbols->list;
    object->addresses = order;
    object->num_addresses = n;
    rc = dwarf_convert(object, &symbols->writer, failure);
    object->symbols = NULL;
    object->addresses = NULL;
    object->num_addresses = 0;
    if (are_all) {
        symc_writer_order(&symbols->writer, order, n);
    } else {
        free(order);
    }
    return rc;
}

/* Writes all symbols and frees the list, whose memory the writer has for its
 * own ones: they are smaller, and each is written after it was read. */
static int write_list(struct symbol_list *symbols, struct failure *failure)
{
    int rc;
    void *list = symbols->list;

    if (symbols->writer.num_symbols == 0) {
        symc_writer_take_room(&symbols->writer, list,
                              symbols->room * sizeof(*symbols->list));
        list = NULL;
    }
    rc = write_symbols(symbols, failure);
    free(list);
    symbols->list = NULL;
    symbols->room = 0;
    return rc;
}

static int add_segments(struct symbol_list *symbols, struct failure *failure)
{
    size_t size =
        symc_segments_print(symbols->segments_text, &symbols->segments);

    return failure_writer(failure,
                          symc_writer_string(&symbols->writer,
                                             symbols->segments_text, size));
}

int symbol_list_convert(struct symbol_list *symbols,
                        struct dwarf_object *object,
                        const struct symc_identity *identity,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure)
{
    int rc = reserve(symbols, symbols->count, failure);

    if (rc == 0 && object->sections[DWARF_INFO].size > 0) {
        rc = add_functions(symbols, object, failure);
    }
    if (rc == 0) {
        rc = write_list(symbols, failure);
    }
    if (rc == 0 && symbols->segments.n > 0) {
        rc = add_segments(symbols, failure);
    }
    if (rc == 0) {
        rc = format_finish(&symbols->writer, identity, sink, result, failure);
    }
    symbol_list_free(symbols);
    return rc;
}

void symbol_list_free(struct symbol_list *symbols)
{
    symc_writer_free(&symbols->writer);
    free(symbols->list);
    memset(symbols, 0, sizeof(*symbols));
}
