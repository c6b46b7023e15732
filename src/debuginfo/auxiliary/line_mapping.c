/*
 * Copyright (C) the ngx_symcache authors
 */
#include "line_mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/byte_compare.h"
#include "base/decimal.h"
#include "json/json.h"

#define FAR 50 /* lines below a mark that it still counts for */
#define VALUES_MAX 100000000
#define DEBUG_ID "\"__debug-id__\""

struct mark {
    uint32_t cpp_line;
    uint32_t line;
    uint32_t source;
};

struct cpp_file {
    const char *path;
    size_t size;
    size_t first, count; /* marks */
};

struct line_mapping {
    char *text;
    struct json json;
    struct cpp_file *files; /* by path */
    size_t num_files, file_room;
    struct mark *marks; /* of a file by line */
    size_t num_marks, mark_room;
    struct symc_source *sources;
    size_t num_sources, source_room;
};

bool line_mapping_sniff(const uint8_t *data, size_t size)
{
    return size > 0 && data[0] == '{' &&
           memmem(data, size, DEBUG_ID, sizeof(DEBUG_ID) - 1) != NULL;
}

const char *line_mapping_id(const uint8_t *data, size_t size, size_t *length)
{
    const char *at = memmem(data, size, DEBUG_ID, sizeof(DEBUG_ID) - 1);
    const char *end = (const char *)data + size, *close = NULL;

    if (at != NULL) {
        at += sizeof(DEBUG_ID) - 1;
        at = memchr(at, '"', (size_t)(end - at));
    }
    if (at != NULL) {
        at++;
        close = memchr(at, '"', (size_t)(end - at));
    }
    *length = close != NULL ? (size_t)(close - at) : 0;
    return close != NULL ? at : NULL;
}

void line_mapping_close(struct line_mapping *mapping)
{
    if (mapping != NULL) {
        json_free(&mapping->json);
        free(mapping->text);
        free(mapping->files);
        free(mapping->marks);
        free(mapping->sources);
        free(mapping);
    }
}

static struct line_mapping *fail_line_mapping(struct line_mapping *mapping,
                                              char *error, size_t size,
                                              const char *what)
{
    snprintf(error, size, "%s", what);
    line_mapping_close(mapping);
    return NULL;
}

/* Reads a line that is the name of a member. */
static bool read_line(const struct json *json, uint32_t value, uint32_t *line)
{
    const char *p = json_text(json, value);
    size_t size = json->values[value].size, sign = size > 0 && p[0] == '+';
    uint64_t n = 0;
    bool is_number = decimal_number(p + sign, size - sign, &n);

    *line = (uint32_t)n;
    return is_number && n <= UINT32_MAX;
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    return x->cpp_line != y->cpp_line ? (x->cpp_line < y->cpp_line ? -1 : 1)
           : x->source != y->source   ? (x->source < y->source ? -1 : 1)
                                      : 0;
}

static int compare_files(const void *a, const void *b)
{
    const struct cpp_file *x = a, *y = b;

    return byte_compare(x->path, x->size, y->path, y->size);
}

/* Adds the marks of a C# file.  Returns NULL, or what is wrong. */
static const char *add_source(struct line_mapping *mapping, uint32_t name)
{
    const struct json *json = &mapping->json;
    uint32_t lines = name + 1, i;
    struct symc_source *source;
    struct mark *mark;
    uint64_t line;

    if (json->values[lines].type != JSON_OBJECT) {
        return NULL;
    }
    if (mapping->num_sources >= SYMC_NONE ||
        array_need(&mapping->sources, &mapping->source_room,
                   mapping->num_sources + 1,
                   sizeof(mapping->sources[0])) != 0 ||
        array_need(&mapping->marks, &mapping->mark_room,
                   mapping->num_marks + json->values[lines].size,
                   sizeof(mapping->marks[0])) != 0) {
        return "needs more memory than there is";
    }
    source = &mapping->sources[mapping->num_sources++];
    memset(source, 0, sizeof(*source));
    source->name.data = json_text(json, name);
    source->name.size = json->values[name].size;
    source->file = SYMC_NONE;
    for (i = lines + 1; i < json->values[lines].end;
         i = json->values[i + 1].end) {
        mark = &mapping->marks[mapping->num_marks++];
        mark->source = (uint32_t)mapping->num_sources - 1;
        if (!read_line(json, i, &mark->cpp_line) ||
            json_integer(json, i + 1, &line) != JSON_INTEGER_POSITIVE ||
            line > UINT32_MAX) {
            return "has a line that is no number of 32 bits";
        }
        mark->line = (uint32_t)line;
    }
    return NULL;
}

static const char *add_file(struct line_mapping *mapping, uint32_t name)
{
    const struct json *json = &mapping->json;
    uint32_t sources = name + 1, i;
    const char *wrong = NULL;
    struct cpp_file *file;

    if (json_is(json, name, "__debug-id__") ||
        json->values[sources].type != JSON_OBJECT) {
        return NULL;
    }
    if (array_need(&mapping->files, &mapping->file_room,
                   mapping->num_files + 1, sizeof(mapping->files[0])) != 0) {
        return "needs more memory than there is";
    }
    file = &mapping->files[mapping->num_files++];
    *file = (struct cpp_file){json_text(json, name), json->values[name].size,
                              mapping->num_marks, 0};
    for (i = sources + 1; i < json->values[sources].end && wrong == NULL;
         i = json->values[i + 1].end) {
        wrong = add_source(mapping, i);
    }
    if (wrong == NULL && mapping->num_marks > file->first) {
        file->count = mapping->num_marks - file->first;
        qsort(mapping->marks + file->first, file->count,
              sizeof(mapping->marks[0]), compare_marks);
    }
    return wrong;
}

struct line_mapping *line_mapping_open(const uint8_t *data, size_t size,
                                       char *error, size_t error_size)
{
    struct line_mapping *mapping = calloc(1, sizeof(*mapping));
    struct json_error wrong = {"empty", 0, 0, 0, false};
    const char *what = NULL;
    char text[100];
    uint32_t i;

    if (size > LINE_MAPPING_SIZE_MAX) {
        return fail_line_mapping(mapping, error, error_size,
                                 "has more than 512 MiB");
    }
    if (mapping == NULL || (mapping->text = malloc(size + 1)) == NULL) {
        return fail_line_mapping(mapping, error, error_size,
                                 "needs more memory than there is");
    }
    memcpy(mapping->text, data, size);
    if (json_read(&mapping->json, mapping->text, size, VALUES_MAX, &wrong) !=
            size ||
        size == 0) {
        if (wrong.out_of_memory) {
            return fail_line_mapping(mapping, error, error_size,
                                     "needs more memory than there is");
        }
        snprintf(text, sizeof(text), "is no JSON: %s at line %u", wrong.reason,
                 wrong.line);
        return fail_line_mapping(mapping, error, error_size, text);
    }
    if (mapping->json.values[0].type == JSON_OBJECT) {
        for (i = 1; i < mapping->json.values[0].end && what == NULL;
             i = mapping->json.values[i + 1].end) {
            what = add_file(mapping, i);
        }
    }
    if (what != NULL) {
        return fail_line_mapping(mapping, error, error_size, what);
    }
    if (mapping->num_files > 1) {
        qsort(mapping->files, mapping->num_files, sizeof(mapping->files[0]),
              compare_files);
    }
    return mapping;
}

static const struct cpp_file *find_cpp_file(const struct line_mapping *mapping,
                                            const char *path, size_t size)
{
    size_t low = 0, high = mapping->num_files, middle;
    int order;

    while (low < high) {
        middle = low + (high - low) / 2;
        order = byte_compare(mapping->files[middle].path,
                             mapping->files[middle].size, path, size);
        if (order == 0) {
            return &mapping->files[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

struct symc_source *line_mapping_find(struct line_mapping *mapping,
                                      const char *path, size_t path_size,
                                      uint32_t *line)
{
    const struct cpp_file *file = find_cpp_file(mapping, path, path_size);
    size_t low, high, middle;
    const struct mark *mark;

    if (file == NULL || file->count == 0) {
        return NULL;
    }
    low = file->first;
    high = file->first + file->count;
    while (low < high) { /* the first mark after the line */
        middle = low + (high - low) / 2;
        if (mapping->marks[middle].cpp_line <= *line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == file->first) {
        return NULL;
    }
    mark = &mapping->marks[low - 1];
    if (*line - mark->cpp_line > FAR) {
        return NULL;
    }
    *line = mark->line;
    return &mapping->sources[mark->source];
}
