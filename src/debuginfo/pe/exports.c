/*
 * Copyright (C) the ngx_symcache authors
 */
#include "exports.h"

#include <string.h>

#include "base/le.h"

#define EXPORT_DIRECTORY 40

struct exports {
    const struct pe_image *image;
    struct symbol_list *symbols;
    uint32_t directory; /* address, and its end */
    uint64_t end;
    struct pe_part part; /* of the last address: most are in the same one */
    uint64_t names; /* offsets of the tables, or PE_NO_OFFSET */
    uint64_t ordinals;
    uint64_t addresses;
    uint32_t num_names;
    uint32_t num_addresses;
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

/* Returns bytes of entry i of a table, or NULL. */
static const uint8_t *table_entry(const struct exports *exports,
                                  uint64_t table, uint64_t i, unsigned size)
{
    return table != PE_NO_OFFSET
               ? pe_image_at(exports->image, table + i * size, size)
               : NULL;
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
    const uint8_t *p, *name = table_entry(exports, exports->names, i, 4);

    p = table_entry(exports, exports->ordinals, i, 2);
    if (name == NULL || p == NULL || le16(p) >= exports->num_addresses) {
        return 0;
    }
    p = table_entry(exports, exports->addresses, le16(p), 4);
    if (p == NULL) {
        return 0;
    }
    address = le32(p);
    if (address >= exports->directory && address < exports->end &&
        !is_forwarder(exports, address)) {
        return 0;
    }
    text = text_at(exports, le32(name), &size);
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
    exports.num_addresses = le32(p + 20);
    exports.num_names = le32(p + 24);
    exports.addresses = offset_of(&exports, le32(p + 28));
    exports.names = offset_of(&exports, le32(p + 32));
    exports.ordinals = offset_of(&exports, le32(p + 36));
    /* linkers put the names behind each other, at the directory's end */
    p = table_entry(&exports, exports.names, 0, 4);
    if (p != NULL) {
        symbol_list_look(symbols, image->data, image->size,
                         offset_of(&exports, le32(p)), size);
    }
    for (i = 0; i < exports.num_names && rc == 0 && symbols->work > 0; i++) {
        rc = take_export(&exports, i, failure);
    }
    return rc != 0 ? -1 : symbol_list_end(symbols, failure);
}
