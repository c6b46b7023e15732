/*
 * Copyright (C) the ngx_symcache authors
 */
#include "documents.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

const char DOCUMENT_WORK[] = "the names of its documents are too long";

static const struct {
    uint8_t guid[17]; /* as stored, and a NUL */
    uint32_t number;  /* as in symcache/enum.c */
} languages[] = {
    {"\xF8\x62\x51\x3F\xC6\x07\xD3\x11\x90\x53\x00\xC0\x4F\xA3\x02\xA1", 9},
    {"\xB8\xD0\x12\x3A\x6C\xC2\xD0\x11\xB4\x42\x00\xA0\x24\x4A\x1D\xD2", 10},
    {"\xC9\x38\x4F\xAB\xE6\xB6\xBA\x43\xBE\x3B\x58\x08\x0B\x2C\xCC\xE3", 11},
};

/* Appends bytes to a name.  Returns NULL, or what is wrong. */
static const char *append_to_name(struct document_name *name, const void *data,
                                  size_t size)
{
    if (size >= name->work) {
        return DOCUMENT_WORK;
    }
    name->work -= size + 1;
    if (array_need(&name->data, &name->room, name->size + size + 1, 1) != 0) {
        return "there is no memory for the name of a document";
    }
    memcpy(name->data + name->size, data, size);
    name->size += size;
    return NULL;
}

static const char *append_part(const struct metadata_root *root,
                               uint32_t offset, bool is_strict,
                               struct document_name *name)
{
    size_t size;
    struct blob_cursor part;

    if (offset == 0) {
        return append_to_name(name, "", 0);
    }
    if (!heap_blob(root, offset, &part)) {
        return "a part of a document's name is not in \"#Blob\"";
    }
    size = (size_t)(part.end - part.at);
    if (is_strict && utf8_valid(part.at, size) != size) {
        return "the name of a document is not UTF-8";
    }
    return append_to_name(name, part.at, size);
}

const char *document_name_read(const struct metadata_root *root,
                               const struct metadata_tables *tables,
                               uint32_t row, bool is_strict,
                               struct document_name *name)
{
    char separator;
    bool is_first = true;
    const char *wrong;
    uint32_t offset;
    struct blob_cursor blob;
    const struct metadata_table *documents = &tables->tables[TABLE_DOCUMENT];

    name->size = 0;
    if (row == 0 || row > documents->rows) {
        return "a sequence point names a document that does not exist";
    }
    offset = metadata_cell(documents, row, DOCUMENT_NAME);
    if (!heap_blob(root, offset, &blob) || blob.at == blob.end ||
        *blob.at >= 0x80) {
        return "a document has no valid name";
    }
    separator = (char)*blob.at++;
    wrong = append_to_name(name, "", 0); /* an empty name has memory, too */
    for (; wrong == NULL && blob.at < blob.end; is_first = false) {
        if (!blob_unsigned(&blob, &offset)) {
            return "the name of a document is cut off";
        }
        if (!is_first && separator != '\0') {
            wrong = append_to_name(name, &separator, 1);
        }
        if (wrong == NULL) {
            wrong = append_part(root, offset, is_strict, name);
        }
    }
    return wrong;
}

bool document_language(const struct metadata_root *root,
                       const struct metadata_tables *tables, uint32_t row,
                       uint32_t *language)
{
    size_t i;
    const uint8_t *guid = heap_guid(
        root, metadata_cell(&tables->tables[TABLE_DOCUMENT], row,
                            DOCUMENT_LANGUAGE));

    *language = 0;
    if (guid == NULL) {
        return false;
    }
    for (i = 0; i < COUNT(languages); i++) {
        if (memcmp(guid, languages[i].guid, 16) == 0) {
            *language = languages[i].number;
        }
    }
    return true;
}
