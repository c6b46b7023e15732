/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>
#include <string.h>

#include "symfile_format.h"
#include "symfile_reader.h"
#include "symfile_strings.h"

#define FIRST_VERSION 7

static const struct {
    uint32_t arch;
    const char *name;
} archs[] = {
    {0, "unknown"},         {101, "x86"},
    {199, "x86_unknown"},   {201, "x86_64"},
    {202, "x86_64h"},       {299, "x86_64_unknown"},
    {301, "arm"},           {302, "armv5"},
    {303, "armv6"},         {304, "armv6m"},
    {305, "armv7"},         {306, "armv7f"},
    {307, "armv7s"},        {308, "armv7k"},
    {309, "armv7m"},        {310, "armv7em"},
    {399, "arm_unknown"},   {401, "arm64"},
    {402, "arm64v8"},       {403, "arm64e"},
    {499, "arm64_unknown"}, {501, "ppc"},
    {601, "ppc64"},         {701, "mips"},
    {801, "mips64"},        {901, "arm64_32"},
    {902, "arm64_32_v8"},   {999, "arm64_32_unknown"},
    {1001, "wasm32"},
};

const char *symfile_arch_name(uint32_t arch)
{
    size_t i;

    for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        if (archs[i].arch == arch) {
            return archs[i].name;
        }
    }
    return "unknown";
}

static int fail(char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return -1;
}

/* Takes count records off *at, which then moves to the next multiple of 8. */
static const uint8_t *take(const struct symfile *file, uint64_t *at,
                           uint32_t count, uint32_t record)
{
    uint64_t begin, size;

    begin = *at;
    size = (uint64_t)count * record;
    if (begin > file->size || size > file->size - begin) {
        return NULL;
    }
    *at = (begin + size + 7) & ~(uint64_t)7;
    return file->data + begin;
}

static int check_magic(const uint8_t *data, size_t size, char *error,
                       size_t error_size)
{
    if (size >= 4 && memcmp(data, "CMYS", 4) == 0) {
        return fail(error, error_size,
                    "is a SymCache of a big-endian machine");
    }
    if (size < 4 || memcmp(data, "SYMC", 4) != 0) {
        return fail(error, error_size, "is not a SymCache: unknown magic");
    }
    if (size < SYMFILE_HEADER) {
        return fail(error, error_size,
                    "is truncated: the header has 80 bytes");
    }
    return 0;
}

int symfile_open(struct symfile *f, const uint8_t *data, size_t size,
                 char *error, size_t error_size)
{
    uint64_t at;

    memset(f, 0, sizeof(*f));
    if (check_magic(data, size, error, error_size) != 0) {
        return -1;
    }
    f->data = data;
    f->size = size;
    f->version = symfile_load(data + SYMFILE_AT_VERSION);
    if (f->version < FIRST_VERSION || f->version > SYMFILE_VERSION) {
        snprintf(error, error_size, "has version %lu; known are %d to %d",
                 (unsigned long)f->version, FIRST_VERSION, SYMFILE_VERSION);
        return -1;
    }
    memcpy(f->guid, data + SYMFILE_AT_GUID, sizeof(f->guid));
    f->age = symfile_load(data + SYMFILE_AT_AGE);
    f->arch = symfile_load(data + SYMFILE_AT_ARCH);
    f->num_files = symfile_load(data + SYMFILE_AT_FILES);
    f->num_functions = symfile_load(data + SYMFILE_AT_FUNCTIONS);
    f->num_locations = symfile_load(data + SYMFILE_AT_LOCATIONS);
    f->num_ranges = symfile_load(data + SYMFILE_AT_RANGES);
    f->strings_size = symfile_load(data + SYMFILE_AT_STRINGS);
    f->file_size = f->version < 9 ? SYMFILE_FILE_SIZE_V8 : SYMFILE_FILE_SIZE;
    at = SYMFILE_HEADER;
    f->files = take(f, &at, f->num_files, f->file_size);
    if (f->files == NULL) {
        return fail(error, error_size, "is truncated: files");
    }
    f->functions = take(f, &at, f->num_functions, SYMFILE_FUNCTION_SIZE);
    if (f->functions == NULL) {
        return fail(error, error_size, "is truncated: functions");
    }
    f->locations = take(f, &at, f->num_locations, SYMFILE_LOCATION_SIZE);
    if (f->locations == NULL) {
        return fail(error, error_size, "is truncated: source locations");
    }
    f->ranges = take(f, &at, f->num_ranges, SYMFILE_RANGE_SIZE);
    if (f->ranges == NULL) {
        return fail(error, error_size, "is truncated: ranges");
    }
    f->strings = take(f, &at, f->strings_size, 1);
    if (f->strings == NULL) {
        return fail(error, error_size, "is truncated: strings");
    }
    if (f->num_ranges > f->num_locations) {
        return fail(error, error_size, "has more ranges than locations");
    }
    return 0;
}

uint32_t symfile_range(const struct symfile *f, uint32_t index)
{
    return symfile_load(f->ranges + (size_t)SYMFILE_RANGE_SIZE * index);
}

uint32_t symfile_find(const struct symfile *f, uint64_t address)
{
    uint32_t base, half, size;

    size = f->num_ranges;
    if (address > UINT32_MAX || size == 0 || symfile_range(f, 0) > address) {
        return SYMFILE_NONE;
    }
    for (base = 0; size > 1; size -= half) {
        half = size / 2;
        base += symfile_range(f, base + half) <= address ? half : 0;
    }
    return f->num_locations - f->num_ranges + base;
}

/* The length before a string: *at moves behind it.  0 or -1. */
static int string_length(const struct symfile *f, uint64_t *at,
                         uint64_t *length)
{
    unsigned shift;
    uint8_t byte;

    if (f->version < 8) {
        if (*at + 4 > f->strings_size) {
            return -1;
        }
        *length = symfile_load(f->strings + *at);
        *at += 4;
        return 0;
    }
    *length = 0;
    for (shift = 0; shift < 35; shift += 7) {
        if (*at >= f->strings_size) {
            return -1;
        }
        byte = f->strings[(*at)++];
        *length |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            return 0;
        }
    }
    return -1;
}

struct symfile_string symfile_get_string(const struct symfile *f,
                                         uint32_t offset)
{
    uint64_t at, length;
    const uint8_t *p;
    struct symfile_string string = {NULL, 0};

    at = offset;
    if (offset == SYMFILE_NONE || string_length(f, &at, &length) != 0 ||
        length > f->strings_size - at) {
        return string;
    }
    p = f->strings + at;
    if (symfile_utf8_valid(p, (size_t)length) == length) {
        string.data = (const char *)p;
        string.size = (size_t)length;
    }
    return string;
}

int symfile_frame(const struct symfile *f, uint32_t location,
                  struct symfile_frame *frame)
{
    uint32_t function;
    const uint8_t *p;

    if (location >= f->num_locations) {
        return 0;
    }
    p = f->locations + (size_t)SYMFILE_LOCATION_SIZE * location;
    frame->file = symfile_load(p);
    frame->line = symfile_load(p + 4);
    function = symfile_load(p + 8);
    frame->next = symfile_load(p + 12);
    if (frame->file == SYMFILE_NONE && frame->line == SYMFILE_NONE &&
        function == SYMFILE_NONE && frame->next == SYMFILE_NONE) {
        return 0;
    }
    frame->function.data = NULL;
    frame->entry = SYMFILE_NONE;
    frame->language = SYMFILE_NONE;
    if (function < f->num_functions) {
        p = f->functions + (size_t)SYMFILE_FUNCTION_SIZE * function;
        frame->function = symfile_get_string(f, symfile_load(p));
        frame->entry = symfile_load(p + 8);
        frame->language = symfile_load(p + 12);
    }
    if (frame->function.data == NULL) {
        frame->function.data = "?";
        frame->function.size = 1;
    }
    return 1;
}

int symfile_get_file(const struct symfile *f, uint32_t index,
                     struct symfile_file *out)
{
    const uint8_t *p;

    memset(out, 0, sizeof(*out));
    if (index >= f->num_files) {
        return 0;
    }
    p = f->files + (size_t)f->file_size * index;
    out->comp_dir = symfile_get_string(f, symfile_load(p));
    out->directory = symfile_get_string(f, symfile_load(p + 4));
    out->name = symfile_get_string(f, symfile_load(p + 8));
    if (f->file_size == SYMFILE_FILE_SIZE) {
        out->srcsrv_name = symfile_get_string(f, symfile_load(p + 12));
        out->srcsrv_directory = symfile_get_string(f, symfile_load(p + 16));
        out->srcsrv_revision = symfile_get_string(f, symfile_load(p + 20));
    }
    return 1;
}
