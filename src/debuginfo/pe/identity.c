/*
 * Copyright (C) the ngx_symcache authors
 */

#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"
#include "debug_directory.h"
#include "sections.h"

#define PORTABLE_MINOR 0x504D /* the PDB is one of .NET */
#define DEBUG_ENTRY 28
#define RSDS_NAME 24
#define SECTION_CODE 0x20

static int fail_identity(char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return -1;
}

/* Reads the name of the PDB, which is after the last slash or backslash. */
static int identity_read_name(const uint8_t *path, size_t size,
                              struct pe_identity *identity)
{
    size_t i, begin, end;

    end = strnlen((const char *)path, size);
    begin = 0;
    for (i = 0; i < end; i++) {
        if (path[i] == '\\' || path[i] == '/') {
            begin = i + 1;
        }
    }
    identity->name = (const char *)path + begin;
    identity->name_size = end - begin;
    return end < size && begin < end ? 0 : -1;
}

static int identity_read_record(const uint8_t *p, uint32_t size,
                                struct pe_identity *identity, char *error,
                                size_t error_size)
{
    if (size >= 4 && memcmp(p, "NB10", 4) == 0) {
        return fail_identity(error, error_size,
                             "belongs to a PDB 2.0, Visual C++ 6 and older");
    }
    if (size < RSDS_NAME || memcmp(p, "RSDS", 4) != 0) {
        return fail_identity(error, error_size,
                             "is damaged: no CodeView record where its debug "
                             "directory says");
    }
    le_guid(identity->guid, p + 4);
    identity->age = le32(p + 20);
    if (identity_read_name(p + RSDS_NAME, size - RSDS_NAME, identity) != 0) {
        return fail_identity(
            error, error_size,
            "is damaged: its CodeView record has no PDB name");
    }
    return 0;
}

/* Finds the first CodeView record of a portable PDB, or of another one.  Images
 * of .NET can have both.  Returns 0, or -1 with the reason. */
static int identity_find_codeview(const struct pe_image *image,
                                  bool is_portable,
                                  struct pe_debug_entry *view, char *error,
                                  size_t error_size)
{
    const uint8_t *directory;
    uint32_t i, count;

    directory = pe_debug_directory(image, &count, error, error_size);
    if (directory == NULL) {
        return -1;
    }
    fail_identity(error, error_size,
                  "has no CodeView record: it was built without a PDB");
    for (i = 0; i < count; i++) {
        pe_debug_entry(image, directory, i, view);
        if (view->type != PE_DEBUG_CODEVIEW) {
            continue;
        }
        if (is_portable == (view->minor == PORTABLE_MINOR)) {
            return 0;
        }
        fail_identity(error, error_size,
                      is_portable ? "belongs to a PDB of Windows"
                                  : "belongs to a portable PDB of .NET");
    }
    return -1;
}

static int read_identity(const uint8_t *data, size_t size,
                         bool is_portable,
                         struct pe_identity *identity, char *error,
                         size_t error_size)
{
    struct pe_debug_entry view;
    struct pe_image image;

    if (pe_image_open(&image, data, size, error, error_size) != 0 ||
        identity_find_codeview(&image, is_portable, &view, error,
                               error_size) != 0) {
        return -1;
    }
    return identity_read_record(view.data, view.size, identity, error,
                                error_size);
}

int pe_identity_read(const uint8_t *data, size_t size,
                     struct pe_identity *identity, char *error,
                     size_t error_size)
{
    return read_identity(data, size, false, identity, error, error_size);
}

int pe_portable_identity_read(const uint8_t *data, size_t size,
                              struct pe_identity *identity, char *error,
                              size_t error_size)
{
    int rc = read_identity(data, size, true, identity, error, error_size);

    identity->age = UINT32_MAX;
    return rc;
}

/* Finds the first entry of the debug directory that refers to CodeView, by the
 * reference's rule. */
static const uint8_t *identity_find_entry(const struct pe_image *image)
{
    const uint8_t *p;
    uint32_t address, size;
    uint64_t end, offset;

    if (!pe_image_directory(image, PE_DEBUG, &address, &size)) {
        return NULL;
    }
    offset = pe_image_offset(image, address);
    if (offset >= image->size) {
        return NULL;
    }
    end = offset + size < image->size ? offset + size : image->size;
    for (; end - offset >= DEBUG_ENTRY; offset += DEBUG_ENTRY) {
        p = image->data + offset;
        if (le32(p + 12) == PE_DEBUG_CODEVIEW) {
            return p;
        }
    }
    return NULL;
}

void pe_debug_id(const struct pe_image *image, struct pe_debug_id *id)
{
    const uint8_t *record, *entry = identity_find_entry(image);

    memset(id, 0, sizeof(*id));
    record = entry != NULL
                 ? pe_image_at(image, le32(entry + 24), le32(entry + 16))
                 : NULL;
    if (record == NULL || le32(entry + 16) < RSDS_NAME ||
        memcmp(record, "RSDS", 4) != 0) {
        return;
    }
    id->is_known = true;
    le_guid(id->guid, record + 4);
    id->age = le16(entry + 10) == PORTABLE_MINOR ? le32(entry + 4)
                                                 : le32(record + 20);
}

/* Was the code taken out of the file, as objcopy --only-keep-debug does? */
static bool identity_is_companion(const struct pe_image *image)
{
    bool has_code = false;
    struct pe_section section;
    unsigned i;

    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        if ((section.flags & SECTION_CODE) == 0) {
            continue;
        }
        if (section.raw != 0 && section.raw_size != 0) {
            return false;
        }
        has_code = true;
    }
    return has_code;
}

static bool identity_has_directory(const struct pe_image *image,
                                   enum pe_directory directory)
{
    uint32_t address, size = 0;

    return pe_image_directory(image, directory, &address, &size) && size > 0;
}

int pe_code_read(const uint8_t *data, size_t size, struct pe_code *code,
                 char *error, size_t error_size)
{
    struct pe_image image;

    if (pe_image_open(&image, data, size, error, error_size) != 0) {
        return -1;
    }
    code->time_stamp = image.time_stamp;
    code->image_size = image.image_size;
    code->arch = pe_image_arch(&image);
    code->is_companion = identity_is_companion(&image);
    code->is_cut = pe_sections_are_cut(&image);
    code->has_debug_info =
        pe_section_find(&image, "debug_info").section.data != NULL;
    code->has_symbols = identity_has_directory(&image, PE_EXPORTS);
    code->has_unwind_info =
        !code->is_companion && identity_has_directory(&image, PE_EXCEPTIONS);
    pe_debug_id(&image, &code->debug_id);
    return 0;
}
