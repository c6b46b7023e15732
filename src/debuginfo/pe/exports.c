/*
 * Copyright (C) the ngx_symcache authors
 */
#include "exports.h"

#include <string.h>

#include "base/le.h"

#define EXPORT_DIRECTORY 40

struct export_table {
    const uint8_t *entries;
    uint32_t count;
};

struct exports {
    const struct pe_image *image;
    struct symbol_list *symbols;
    uint32_t directory; /* address, and its end */
    uint64_t end;
    struct pe_part part; /* of the last address: most are in the same one */
    struct export_table names;
    struct export_table ordinals;
    struct export_table addresses;
};

static uint64_t offset_of(struct exports *exports, uint32_t address)
{
    struct pe_part part;

    if (address < exports->part.begin || address >= exports->part.end) {
        symbol_list_work(exports->symbols, exports->image->num_sections);
        if (!pe_image_part(exports->image, address, &part)) {
            return PE_NO_OFFSET;
        }
        exports->part = part;
    }
    return exports->part.offset + (address - exports->part.begin);
}

/* Returns the text at an address, or NULL. */
static const char *text_at(struct exports *exports, uint32_t address,
                           uint32_t *size)
{
    return symbol_list_text(exports->symbols, exports->image->data,
                            exports->image->size, offset_of(exports, address),
                            size);
}

/* Finds a table at an address: as many of n entries as are in the file. */
static struct export_table find_table(struct exports *exports,
                                      uint32_t address, uint32_t n,
                                      unsigned entry)
{
    size_t room = exports->image->size;
    uint64_t offset = offset_of(exports, address);

    if (offset >= room) {
        return (struct export_table){NULL, 0};
    }
    room = (room - offset) / entry;
    return (struct export_table){exports->image->data + offset,
                                 n < room ? n : (uint32_t)room};
}

/* Can the text of a forwarder, such as NTDLL.RtlAllocateHeap or A.#12, be
 * understood? */
static bool is_forwarder(struct exports *exports, uint32_t address)
{
    uint32_t size;
    uint64_t ordinal = 0;
    const char *dot, *p, *end, *text = text_at(exports, address, &size);

    dot = text != NULL ? memchr(text, '.', size) : NULL;
    if (dot == NULL || dot + 1 == text + size) {
        return false;
    }
    if (dot[1] != '#') {
        return true;
    }
    end = text + size;
    p = dot + 2;
    p += end - p > 1 && *p == '+';
    if (p == end) {
        return false;
    }
    for (; p < end && *p >= '0' && *p <= '9' && ordinal <= UINT32_MAX; p++) {
        ordinal = 10 * ordinal + (unsigned)(*p - '0');
    }
    return p == end && ordinal <= UINT32_MAX;
}

/* Adds the export of name i, if it has an address. */
static int take_export(struct exports *exports, uint32_t i,
                       struct failure *failure)
{
    uint32_t address, size;
    const char *text;
    uint16_t ordinal = le16(exports->ordinals.entries + 2 * (size_t)i);

    if (ordinal >= exports->addresses.count) {
        return 0;
    }
    address = le32(exports->addresses.entries + 4 * (size_t)ordinal);
    if (address >= exports->directory && address < exports->end &&
        !is_forwarder(exports, address)) {
        return 0;
    }
    text =
        text_at(exports, le32(exports->names.entries + 4 * (size_t)i), &size);
    return symbol_list_add(exports->symbols, address, 0, text,
                           text != NULL ? size : 0, failure);
}

int pe_exports_read(const struct pe_image *image, struct symbol_list *symbols,
                    struct failure *failure)
{
    int rc = 0;
    const uint8_t *p;
    uint32_t i, size = 0;
    uint64_t offset;
    struct exports exports = {.image = image, .symbols = symbols};

    if (!pe_image_directory(image, PE_EXPORTS, &exports.directory, &size) &&
        size == 0) {
        return 0;
    }
    exports.end = (uint64_t)exports.directory + size;
    offset = offset_of(&exports, exports.directory);
    p = offset != PE_NO_OFFSET
            ? pe_image_at(image, offset, EXPORT_DIRECTORY)
            : NULL;
    if (p == NULL || le32(p + 20) > image->size ||
        le32(p + 24) > image->size) {
        return 0;
    }
    exports.addresses = find_table(&exports, le32(p + 28), le32(p + 20), 4);
    exports.names = find_table(&exports, le32(p + 32), le32(p + 24), 4);
    exports.ordinals =
        find_table(&exports, le32(p + 36), exports.names.count, 2);
    /* linkers put the names behind each other, at the directory's end */
    if (exports.names.count > 0) {
        symbol_list_look(symbols, image->data, image->size,
                         offset_of(&exports, le32(exports.names.entries)),
                         size);
    }
    for (i = 0; i < exports.ordinals.count && rc == 0 && symbols->work > 0;
         i++) {
        rc = take_export(&exports, i, failure);
    }
    return rc != 0 ? -1 : symbol_list_end(symbols, failure);
}
