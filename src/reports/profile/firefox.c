/*
 * Copyright (C) the ngx_symcache authors
 *
 * The Firefox Profiler's JSON.  Strings are in each thread, or in "shared"
 * since version 56 of the format, where the tables of frames, functions and
 * resources followed in version 60.  A function without a name has the name
 * "0x...", of one address in a library; it gets the name of the function that
 * has the code.
 *
 * The library is that of the function's resource, or the frame's since version
 * 70.  A function's file is a string, or a row of "sources" since version 58.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats.h"
#include "json/json.h"

/* The text is replaced from at on. */
struct firefox_edit {
    size_t at;
    size_t size;
    size_t text; /* in texts */
    size_t text_size;
};

struct firefox_edits {
    struct firefox_edit *list;
    size_t n;
    size_t room;
    struct profile_output texts;
};

/* Bits of "flags" of frames, since version 71, and of functions, since version
 * 75: without its bit, a number in another column is nothing. */
enum {
    FRAME_HAS_ADDRESS = 2,
    FRAME_HAS_LINE = 16,
    FUNCTION_HAS_SOURCE = 8
};

/* Columns that a table of sources may have: each gets as many rows as there
 * are files. */
#define SOURCE_COLUMNS 64

/* Tables of one thread, or of all. */
struct firefox_tables {
    uint32_t strings;
    uint32_t nstrings;
    uint32_t function_name; /* values of arrays; 0: there is none */
    uint32_t function_resource;
    uint32_t function_file;
    uint32_t function_source;
    uint32_t function_flags;
    uint32_t frame_function;
    uint32_t frame_address;
    uint32_t frame_line;
    uint32_t frame_library;
    uint32_t frame_flags;
    uint32_t resource_library;
    uint32_t libraries;
    uint8_t *is_named; /* of functions: taken already */
};

/* What is done with a frame that wants a name. */
typedef void frame_fn(void *arg, const struct firefox_tables *tables,
                      uint32_t library, uint64_t address, uint32_t function,
                      uint32_t frame);

struct firefox_document {
    struct profile *profile; /* NULL: it is only written */
    struct json json;
    char *text;
    uint32_t *modules; /* of libraries */
    bool is_without_memory;
    bool has_tables;
};

static uint32_t size_of(const struct firefox_document *d, uint32_t array)
{
    return d->json.values[array].type == JSON_ARRAY
               ? d->json.values[array].size
               : 0;
}

/* An item of an array of numbers, strings and nulls, which have no items. */
static uint32_t array_item(const struct firefox_document *d, uint32_t array,
                           uint64_t i)
{
    return array != 0 && i < size_of(d, array) ? array + 1 + (uint32_t)i : 0;
}

/* An item as a number.  Returns false if it is none, or negative. */
static bool number_at(const struct firefox_document *d, uint32_t array,
                      uint64_t i, uint64_t *number)
{
    uint32_t value = array_item(d, array, i);

    return value != 0 && json_integer(&d->json, value, number) ==
                             JSON_INTEGER_POSITIVE;
}

/* An array of which each item is one value, or 0. */
static uint32_t flat_index(const struct firefox_document *d, uint32_t object,
                           const char *name)
{
    uint32_t array = json_member(&d->json, object, name);

    return array != 0 && d->json.values[array].type == JSON_ARRAY &&
                   d->json.values[array].end ==
                       array + 1 + d->json.values[array].size
               ? array
               : 0;
}

static bool is_address(const struct firefox_document *d, uint32_t value)
{
    return value != 0 && d->json.values[value].type == JSON_STRING &&
           d->json.values[value].size > 2 &&
           memcmp(json_text(&d->json, value), "0x", 2) == 0;
}

static bool library_of(const struct firefox_document *d,
                       const struct firefox_tables *t, uint32_t frame,
                       uint64_t function, uint64_t *library)
{
    uint64_t resource, flags;

    if (t->frame_library == 0) {
        return number_at(d, t->function_resource, function, &resource) &&
               number_at(d, t->resource_library, resource, library);
    }
    return (t->frame_flags == 0 ||
            (number_at(d, t->frame_flags, frame, &flags) &&
             (flags & FRAME_HAS_ADDRESS) != 0)) &&
           number_at(d, t->frame_library, frame, library);
}

static void take_frame(struct firefox_document *d, struct firefox_tables *t,
                       uint32_t frame, frame_fn *fn, void *arg)
{
    uint64_t function, address, library, name;

    if (number_at(d, t->frame_function, frame, &function) &&
        number_at(d, t->frame_address, frame, &address) &&
        library_of(d, t, frame, function, &library) &&
        number_at(d, t->function_name, function, &name) &&
        function < size_of(d, t->function_name) && name < t->nstrings &&
        !t->is_named[function] &&
        is_address(d, array_item(d, t->strings, (uint32_t)name))) {
        t->is_named[function] = 1;
        fn(arg, t, library <= UINT32_MAX ? (uint32_t)library : UINT32_MAX,
           address, (uint32_t)function, frame);
    }
}

/* strings: those of all threads, or 0 */
static void take_tables(struct firefox_document *d, uint32_t object,
                        uint32_t strings, frame_fn *fn, void *arg)
{
    const struct json *json = &d->json;
    uint32_t functions = json_member(json, object, "funcTable");
    uint32_t frames = json_member(json, object, "frameTable");
    uint32_t resources = json_member(json, object, "resourceTable"), i;
    struct firefox_tables t = {.strings = strings};

    if (strings == 0) {
        t.strings = flat_index(d, object, "stringArray");
    }

    if (functions == 0 || frames == 0 || resources == 0 || t.strings == 0) {
        return;
    }
    t.nstrings = size_of(d, t.strings);
    t.function_name = flat_index(d, functions, "name");
    t.function_resource = flat_index(d, functions, "resource");
    t.function_file = flat_index(d, functions, "fileName");
    t.function_source = flat_index(d, functions, "source");
    t.function_flags = flat_index(d, functions, "flags");
    t.frame_function = flat_index(d, frames, "func");
    t.frame_address = flat_index(d, frames, "address");
    t.frame_line = flat_index(d, frames, "line");
    t.frame_library = flat_index(d, frames, "lib");
    t.frame_flags = flat_index(d, frames, "flags");
    t.resource_library = flat_index(d, resources, "lib");
    t.libraries = json_member(json, 0, "libs");
    if (t.function_name == 0 || t.frame_address == 0 || t.libraries == 0) {
        return;
    }
    d->has_tables = true;
    t.is_named = calloc(size_of(d, t.function_name) + 1, 1);
    d->is_without_memory |= t.is_named == NULL;
    for (i = 0; t.is_named != NULL && i < size_of(d, t.frame_address); i++) {
        take_frame(d, &t, i, fn, arg);
    }
    free(t.is_named);
}

/* ended: of the tables whose strings are this array. */
static void take_all(struct firefox_document *d, frame_fn *fn, void *arg,
                     void (*ended)(void *arg, uint32_t strings))
{
    uint32_t shared = json_member(&d->json, 0, "shared");
    uint32_t threads = json_member(&d->json, 0, "threads"), i, value;
    uint32_t strings =
        shared != 0 ? flat_index(d, shared, "stringArray") : 0;

    if (strings != 0) {
        take_tables(d, shared, strings, fn, arg);
    }
    for (i = 0, value = threads + 1; threads != 0 && i < size_of(d, threads);
         i++) {
        take_tables(d, value, strings, fn, arg);
        if (ended != NULL && strings == 0) {
            ended(arg, flat_index(d, value, "stringArray"));
        }
        value = d->json.values[value].end;
    }
    if (ended != NULL && strings != 0) {
        ended(arg, strings);
    }
}

/* Returns false with the error, or without memory. */
static bool open_document(struct firefox_document *d,
                          const struct profile *profile,
                          char error[PROFILE_ERROR])
{
    struct json_error wrong = {0};
    size_t n;

    d->text = malloc(profile->size + 1);
    if (d->text == NULL) {
        d->is_without_memory = true;
        return false;
    }
    memcpy(d->text, profile->data, profile->size);
    n = json_read(&d->json, d->text, profile->size, profile->size, &wrong);
    d->is_without_memory = wrong.out_of_memory;
    if (n == 0) {
        return profile_fail(error,
                            "the JSON of the profile is damaged: %s at line "
                            "%u column %zu",
                            wrong.reason, wrong.line, wrong.column);
    }
    return n == profile->size ||
           profile_fail(error,
                        "the JSON of the profile ends at byte %zu, but the "
                        "file goes on", n);
}

static void close_document(struct firefox_document *d)
{
    json_free(&d->json);
    free(d->text);
    free(d->modules);
}

/* reading ------------------------------------------------------------------ */

static struct symc_string text_of(const struct firefox_document *d,
                                  uint32_t object, const char *name)
{
    uint32_t value = object != 0 ? json_member(&d->json, object, name) : 0;

    return value != 0 && d->json.values[value].type == JSON_STRING
               ? (struct symc_string){json_text(&d->json, value),
                                      d->json.values[value].size}
               : (struct symc_string){"", 0};
}

/* Returns PROFILE_NONE if the library has no id, or without memory. */
static uint32_t module_of(const struct firefox_document *d, uint32_t library)
{
    struct symc_string id = text_of(d, library, "breakpadId");
    struct symc_string name = text_of(d, library, "debugName");
    struct symc_string code = text_of(d, library, "codeId");

    return profile_is_hex(&id, 0, 20) || id.size == 33
               ? profile_add_module(d->profile, "", &id, &name,
                                    profile_is_hex(&code, 2, 64) ? &code
                                                                 : NULL)
               : PROFILE_NONE;
}

/* Frames of libraries without an id are places of no module, so that both
 * passes see the same frames. */
static void add_frame(void *arg, const struct firefox_tables *tables,
                      uint32_t library, uint64_t address, uint32_t function,
                      uint32_t frame)
{
    struct firefox_document *d = arg;

    profile_add_place(d->profile,
                      library < size_of(d, tables->libraries)
                          ? d->modules[library]
                          : PROFILE_NONE,
                      address, PROFILE_REACHES);
}

/* Returns false without memory. */
static bool find_modules(struct firefox_document *d)
{
    uint32_t array = json_member(&d->json, 0, "libs"), value = array + 1, i;
    uint32_t n = array != 0 ? size_of(d, array) : 0;

    d->modules = calloc((size_t)n + 1, sizeof(d->modules[0]));
    for (i = 0; d->modules != NULL && i < n; i++) {
        d->modules[i] = module_of(d, value);
        value = d->json.values[value].end;
    }
    return d->modules != NULL;
}

bool firefox_read(struct profile *profile, char error[PROFILE_ERROR])
{
    struct firefox_document d = {.profile = profile};
    bool is_read = open_document(&d, profile, error);

    if (is_read && !find_modules(&d)) {
        d.is_without_memory = true;
    } else if (is_read) {
        take_all(&d, add_frame, &d, NULL);
    }
    profile->is_without_memory |= d.is_without_memory;
    close_document(&d);
    return is_read &&
           (d.has_tables ||
            profile_fail(error, "this JSON has no \"libs\" and no tables of "
                                "frames, as processed profiles of the Firefox "
                                "Profiler have"));
}

/* writing ------------------------------------------------------------------ */

struct firefox_writer {
    const struct profile *profile;
    struct firefox_document d;
    struct firefox_edits edits;
    size_t place;
    uint32_t *strings; /* of names, their places in the array of strings; 0:
                          they are not there */
    size_t nstrings;
    uint32_t added; /* to the array */
    struct json_writer names; /* ,"NAME"... */
    uint32_t sources;         /* the table, or 0 */
    uint32_t *rows;           /* of names, as strings, but of that table */
    uint32_t *files;          /* of new rows, their strings */
    uint32_t nfiles;
    bool has_failed;
};

static void add_edit(struct firefox_writer *w, size_t at, size_t size,
                     const char *text, size_t text_size)
{
    if (array_need(&w->edits.list, &w->edits.room, w->edits.n + 1,
                   sizeof(w->edits.list[0])) != 0) {
        w->has_failed = true;
        return;
    }
    w->edits.list[w->edits.n++] =
        (struct firefox_edit){at, size, w->edits.texts.size, text_size};
    profile_put(&w->edits.texts, text, text_size);
}

/* A number or null gets another value. */
static void put_value(struct firefox_writer *w, uint32_t value,
                      uint32_t number)
{
    const struct json_value *v = &w->d.json.values[value];
    char text[16];
    int n = snprintf(text, sizeof(text), "%u", number);

    if (v->type == JSON_NULL) {
        add_edit(w, v->at, 4, text, (size_t)n);
    } else if (v->type == JSON_NUMBER) {
        add_edit(w, v->at, v->size, text, (size_t)n);
    }
}

/* The place of a name in the array of strings. */
static uint32_t string_of(struct firefox_writer *w,
                          const struct firefox_tables *tables, uint32_t name)
{
    struct symc_string text = profile_name(w->profile, name);

    if (w->strings[name] == 0) {
        w->names.has_member = tables->nstrings + w->added > 0;
        json_write_string(&w->names, text.data, text.size);
        w->strings[name] = tables->nstrings + w->added++ + 1;
    }
    return w->strings[name] - 1;
}

static void put_flag(struct firefox_writer *w, uint32_t flags, uint64_t i,
                     uint32_t flag)
{
    uint64_t number;

    if (number_at(&w->d, flags, i, &number) && number <= UINT32_MAX) {
        put_value(w, array_item(&w->d, flags, i), (uint32_t)number | flag);
    }
}

/* The row of a file in the table of sources. */
static uint32_t row_of(struct firefox_writer *w,
                       const struct firefox_tables *tables, uint32_t name)
{
    if (w->rows[name] == 0) {
        w->files[w->nfiles++] = string_of(w, tables, name);
        w->rows[name] =
            size_of(&w->d, flat_index(&w->d, w->sources, "filename")) +
            w->nfiles;
    }
    return w->rows[name] - 1;
}

static void put_file(struct firefox_writer *w,
                     const struct firefox_tables *tables, uint32_t function,
                     uint32_t name)
{
    uint32_t value = array_item(&w->d, tables->function_file, function);

    if (value != 0) {
        put_value(w, value, string_of(w, tables, name));
        return;
    }
    value = array_item(&w->d, tables->function_source, function);
    if (value != 0 && w->sources != 0) {
        put_value(w, value, row_of(w, tables, name));
        put_flag(w, tables->function_flags, function, FUNCTION_HAS_SOURCE);
    }
}

static void name_frame(void *arg, const struct firefox_tables *tables,
                       uint32_t library, uint64_t address, uint32_t function,
                       uint32_t frame)
{
    struct firefox_writer *w = arg;
    const struct profile_place *place = &w->profile->places[w->place++];
    const uint32_t *numbers;
    uint32_t value;

    if (place->count == 0) {
        return;
    }
    numbers = w->profile->frames + place->first;
    put_value(w, array_item(&w->d, tables->function_name, function),
              string_of(w, tables, numbers[0]));
    if (numbers[1] != 0) {
        put_file(w, tables, function, numbers[1]);
    }
    value = array_item(&w->d, tables->frame_line, frame);
    if (value != 0 && numbers[2] != 0) {
        put_value(w, value, numbers[2]);
        put_flag(w, tables->frame_flags, frame, FRAME_HAS_LINE);
    }
}

/* Where an array of flat_index() ends, in the text as it was. */
static size_t end_of_array(const struct firefox_document *d,
                           const uint8_t *text, uint32_t array)
{
    uint32_t n = size_of(d, array);
    size_t at;

    if (n == 0) {
        at = d->json.values[array].at;
        return at + 1;
    }
    at = d->json.values[array + n].at;
    switch (d->json.values[array + n].type) {
    case JSON_NULL:
    case JSON_TRUE:
        return at + 4;
    case JSON_FALSE:
        return at + 5;
    case JSON_NUMBER:
        return at + d->json.values[array + n].size;
    case JSON_ARRAY: /* an empty one */
    case JSON_OBJECT:
        return at + strcspn((const char *)text + at, "]}") + 1;
    default:
        break;
    }
    while (text[at] != '"') {
        at += text[at] == '\\' ? 2 : 1;
    }
    return at + 1;
}

/* Adds what is in names to an array. */
static void end_array(struct firefox_writer *w, uint32_t array)
{
    add_edit(w, end_of_array(&w->d, w->profile->data, array), 0,
             w->names.data, w->names.size);
    w->has_failed |= w->names.has_failed;
    json_write_reset(&w->names);
}

static void end_strings(void *arg, uint32_t strings)
{
    struct firefox_writer *w = arg;

    if (w->added > 0) {
        end_array(w, strings);
        memset(w->strings, 0, w->nstrings * sizeof(w->strings[0]));
        w->added = 0;
    }
}

/* The table of sources, all columns of which can get more rows; 0: there is
 * none. */
static uint32_t find_sources(const struct firefox_document *d)
{
    const struct json_value *values = d->json.values;
    uint32_t shared = json_member(&d->json, 0, "shared"), i;
    uint32_t sources =
        shared != 0 ? json_member(&d->json, shared, "sources") : 0;
    uint32_t column = sources + 2;

    if (sources == 0 || values[sources].size > SOURCE_COLUMNS ||
        flat_index(d, sources, "filename") == 0 ||
        flat_index(d, shared, "stringArray") == 0) {
        return 0;
    }
    for (i = 0; i < values[sources].size; i++) {
        if (values[column].type == JSON_ARRAY &&
            values[column].end != column + 1 + values[column].size) {
            return 0;
        }
        column = values[column].end + 1;
    }
    return sources;
}

/* The rows that were added to the table of sources. */
static void end_sources(struct firefox_writer *w)
{
    const struct json *json = &w->d.json;
    uint32_t column = w->sources + 2, n, i, k;
    bool is_file, is_start;

    for (i = 0; w->nfiles > 0 && i < json->values[w->sources].size; i++) {
        is_file = json_is(json, column - 1, "filename");
        is_start = json_is(json, column - 1, "startLine") ||
                   json_is(json, column - 1, "startColumn");
        n = size_of(&w->d, column);
        w->names.has_member = n > 0;
        if (json_is(json, column - 1, "length")) {
            n = size_of(&w->d, flat_index(&w->d, w->sources, "filename"));
            put_value(w, column, n + w->nfiles);
        } else if (json->values[column].type == JSON_ARRAY) {
            for (k = 0; k < w->nfiles; k++) {
                if (is_file || is_start) {
                    json_write_number(&w->names, is_file ? w->files[k] : 1);
                } else {
                    json_write_raw(&w->names, "null", 4);
                }
            }
            end_array(w, column);
        }
        column = json->values[column].end + 1;
    }
}

/* Otherwise the Firefox Profiler asks for the names again. */
static void mark_symbolicated(struct firefox_writer *w)
{
    const struct json *json = &w->d.json;
    uint32_t meta = json_member(json, 0, "meta");
    uint32_t value = meta != 0 ? json_member(json, meta, "symbolicated") : 0;

    if (w->edits.n > 0 && value != 0 &&
        json->values[value].type == JSON_FALSE) {
        add_edit(w, json->values[value].at, strlen("false"), "true",
                 strlen("true"));
    }
}

static int compare_libs(const void *a, const void *b)
{
    const struct firefox_edit *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_edits(struct firefox_writer *w, struct profile_output *out)
{
    const struct firefox_edit *edit = w->edits.list;
    const uint8_t *data = w->profile->data;
    size_t at = 0, i;

    if (w->edits.n > 0) {
        qsort(w->edits.list, w->edits.n, sizeof(w->edits.list[0]),
              compare_libs);
    }
    for (i = 0; i < w->edits.n; i++, edit++) {
        if (edit->at >= at) { /* a line may be set once */
            profile_put(out, data + at, edit->at - at);
            profile_put(out, w->edits.texts.data + edit->text,
                        edit->text_size);
            at = edit->at + edit->size;
        }
    }
    profile_put(out, data + at, w->profile->size - at);
}

void firefox_write(const struct profile *profile, struct profile_output *out)
{
    struct firefox_writer w = {.profile = profile,
                               .nstrings = profile->resolver->names.count + 1};
    char error[PROFILE_ERROR]; /* it was read before */

    w.strings = calloc(w.nstrings, 3 * sizeof(w.strings[0]));
    if (w.strings != NULL && open_document(&w.d, profile, error)) {
        w.rows = w.strings + w.nstrings;
        w.files = w.rows + w.nstrings;
        w.sources = find_sources(&w.d);
        take_all(&w.d, name_frame, &w, end_strings);
        end_sources(&w);
        mark_symbolicated(&w);
        put_edits(&w, out);
    } else {
        w.has_failed = true;
    }
    out->has_failed |= w.has_failed || w.edits.texts.has_failed ||
                       w.d.is_without_memory;
    close_document(&w.d);
    free(w.strings);
    free(w.names.data);
    free(w.edits.list);
    free(w.edits.texts.data);
}
