/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "derived/symcache/symcache.h"
#include "lexer.h"

#define MODULE "MODULE "
#define FILE_MIN 16 /* bytes; the reference rejects shorter files */
#define LINE_MAX 320
#define GUID_DIGITS 32
#define AGE_DIGITS 8
#define PDB2_DIGITS 9 /* at least, and at most 16: time stamp and age */

/* Names of architectures that differ from those of SymCaches. */
static const struct {
    const char *name;
    const char *means;
} aliases[] = {
    {"i386", "x86"},
    {"amd64", "x86_64"},
    {"x86-64", "x86_64"},
    {"arm-64", "arm64"},
};

bool breakpad_sniff(const uint8_t *data, size_t size)
{
    return size >= FILE_MIN && memcmp(data, MODULE, sizeof(MODULE) - 1) == 0;
}

/* Returns how many bytes these are if they are the beginning of a UTF-8
 * character that was cut off, or 0. */
static size_t identity_cut_character(const uint8_t *p, size_t size)
{
    size_t i;

    for (i = 1; i < size && (p[i] & 0xC0) == 0x80; i++) {
    }
    return i == size && i < 4 && p[0] >= 0xC2 && p[0] <= 0xF4 ? i : 0;
}

/* Gets the first line, trimmed; at most LINE_MAX bytes of it are read.  If the
 * file is longer than that, these bytes must all be UTF-8.  Returns NULL, or
 * the text of an error. */
static const char *identity_first_line(const uint8_t *data, size_t size,
                                       struct span *line)
{
    size_t valid = size;
    struct lines lines = {(const char *)data, NULL, 0};

    if (size > LINE_MAX) {
        size = LINE_MAX;
        valid = utf8_valid(data, size);
        size -= identity_cut_character(data + valid, size - valid);
    }
    lines.end = lines.at + size;
    if (!lines_next(&lines, line) || valid < size ||
        utf8_valid(data, line->size) < line->size) {
        return "is not UTF-8";
    }
    span_trim(line);
    return NULL;
}

static bool identity_arch(const struct span *name, uint32_t *number)
{
    size_t i;
    char text[24];

    if (name->size >= sizeof(text)) {
        return false;
    }
    for (i = 0; i < name->size; i++) {
        text[i] = (char)tolower((unsigned char)name->data[i]);
    }
    text[i] = '\0';
    for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcmp(text, aliases[i].name) == 0) {
            return symc_arch_find(aliases[i].means, number);
        }
    }
    return symc_arch_find(text, number);
}

/* Returns the number that n characters stand for, which are known to be
 * hexadecimal digits. */
static uint64_t identity_hex(const char *digits, size_t n)
{
    struct span span = {digits, n};
    struct fields fields;

    fields_begin(&fields, &span, 0);
    return n > 0 ? fields_hex(&fields, "") : 0;
}

/* Reads the debug id.  Digits after those of the age are ignored, as in the
 * reference.  Returns NULL, or the text of an error. */
static const char *identity_debug_id(const struct span *id,
                                     struct breakpad_identity *identity)
{
    size_t i, n = 0;

    while (n < id->size && memchr("0123456789abcdefABCDEF", id->data[n], 22)) {
        n++;
    }
    if (n < id->size || n < PDB2_DIGITS || (n > 16 && n < GUID_DIGITS)) {
        return "the debug id is not one of 32 or more hexadecimal digits";
    }
    if (n < GUID_DIGITS) {
        return "the debug id is that of a PDB 2.0";
    }
    for (i = 0; i < 16; i++) {
        identity->guid[i] = (uint8_t)identity_hex(id->data + 2 * i, 2);
    }
    n -= GUID_DIGITS;
    identity->age = (uint32_t)identity_hex(id->data + GUID_DIGITS,
                                           n < AGE_DIGITS ? n : AGE_DIGITS);
    return NULL;
}

static const char *identity_module_record(const uint8_t *data, size_t size,
                                          struct breakpad_identity *identity)
{
    const char *wrong;
    struct span line, arch, id, name;
    struct fields fields;

    if (!breakpad_sniff(data, size)) {
        return "is not a MODULE record";
    }
    wrong = identity_first_line(data, size, &line);
    if (wrong != NULL) {
        return wrong;
    }
    fields_begin(&fields, &line, sizeof(MODULE) - 2);
    (void)fields_word(&fields); /* the operating system */
    arch = fields_word(&fields);
    id = fields_word(&fields);
    name = fields_rest(&fields);
    if (!identity_arch(&arch, &identity->arch)) {
        return "the architecture is unknown";
    }
    identity->name = name.data;
    identity->name_size = name.size;
    return identity_debug_id(&id, identity);
}

static bool identity_has_record(const uint8_t *data, size_t size,
                                const char *record)
{
    return memmem(data, size, record, strlen(record)) != NULL;
}

int breakpad_identity_read(const uint8_t *data, size_t size,
                           struct breakpad_identity *identity, char *error,
                           size_t error_size)
{
    const char *wrong = identity_module_record(data, size, identity);

    if (wrong != NULL) {
        snprintf(error, error_size, "is damaged: line 1: %s", wrong);
        return -1;
    }
    identity->has_debug_info = identity_has_record(data, size, "\nFUNC ");
    identity->has_symbols = identity_has_record(data, size, "\nPUBLIC ");
    identity->has_unwind_info = identity_has_record(data, size, "\nSTACK ");
    return 0;
}
