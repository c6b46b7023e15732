/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>

#include "symfile_format.h"
#include "symfile_reader.h"
#include "symfile_verify.h"

struct verify {
    struct symfile file;
    char *error;
    size_t error_size;
};

static int violation(const struct verify *v, const char *what,
                     const char *record, uint32_t index, uint32_t value)
{
    snprintf(v->error, v->error_size, "is damaged: %s (%s %lu, value 0x%lx)",
             what, record, (unsigned long)index, (unsigned long)value);
    return -1;
}

static int check_string(const struct verify *v, uint32_t offset,
                        const char *record, uint32_t index)
{
    if (offset != SYMFILE_NONE &&
        symfile_get_string(&v->file, offset).data == NULL) {
        return violation(v, "reference to no string", record, index, offset);
    }
    return 0;
}

static int check_files(const struct verify *v)
{
    uint32_t i, k;
    const uint8_t *p;

    p = v->file.files;
    for (i = 0; i < v->file.num_files; i++) {
        for (k = 0; k < v->file.file_size; k += 4, p += 4) {
            if (check_string(v, symfile_load(p), "file", i) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int check_functions(const struct verify *v)
{
    uint32_t i;
    const uint8_t *p;

    p = v->file.functions;
    for (i = 0; i < v->file.num_functions; i++) {
        if (check_string(v, symfile_load(p), "function", i) != 0) {
            return -1;
        }
        p += SYMFILE_FUNCTION_SIZE;
    }
    return 0;
}

static int check_locations(const struct verify *v)
{
    uint32_t i, calls, file, line, function, next;
    const uint8_t *p;

    calls = v->file.num_locations - v->file.num_ranges;
    p = v->file.locations;
    for (i = 0; i < v->file.num_locations; i++, p += SYMFILE_LOCATION_SIZE) {
        file = symfile_load(p);
        line = symfile_load(p + 4);
        function = symfile_load(p + 8);
        next = symfile_load(p + 12);
        if (i >= calls && file == SYMFILE_NONE && line == SYMFILE_NONE &&
            function == SYMFILE_NONE && next == SYMFILE_NONE) {
            continue;
        }
        if (file != SYMFILE_NONE && file >= v->file.num_files) {
            return violation(v, "no such file", "source location", i, file);
        }
        if (function >= v->file.num_functions) {
            return violation(v, "no such function", "source location", i,
                             function);
        }
        if (next != SYMFILE_NONE && next >= calls) {
            return violation(v, "caller is no call location",
                             "source location", i, next);
        }
        /* callers stand before those that they call: so there is no loop */
        if (next != SYMFILE_NONE && i < calls && next >= i) {
            return violation(v, "caller behind its callee", "source location",
                             i, next);
        }
    }
    return 0;
}

static int check_ranges(const struct verify *v)
{
    uint32_t i;

    for (i = 1; i < v->file.num_ranges; i++) {
        if (symfile_range(&v->file, i - 1) >= symfile_range(&v->file, i)) {
            return violation(v, "ranges are not ascending", "range", i,
                             symfile_range(&v->file, i));
        }
    }
    return 0;
}

static int check_kind(const struct verify *v)
{
    uint32_t kind;

    kind = v->file.data[SYMFILE_AT_KIND];
    if (kind > 1) {
        return violation(v, "kind of identity", "header byte", SYMFILE_AT_KIND,
                         kind);
    }
    return 0;
}

int symfile_verify(const uint8_t *data, size_t size, char *error,
                   size_t error_size)
{
    struct verify v;

    v.error = error;
    v.error_size = error_size;
    if (symfile_open(&v.file, data, size, error, error_size) != 0 ||
        check_kind(&v) != 0 || check_files(&v) != 0 ||
        check_functions(&v) != 0 || check_locations(&v) != 0 ||
        check_ranges(&v) != 0) {
        return -1;
    }
    return 0;
}
