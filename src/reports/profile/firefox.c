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
    uint32_t libraries; /* the array, or 0 */
    uint32_t *modules;  /* of them */
    bool is_without_memory;
    bool has_tables;
};

static uint32_t size_of(const struct firefox_document *firefox, uint32_t array)
{
    return firefox->json.values[array].type == JSON_ARRAY
               ? firefox->json.values[array].size
               : 0;
}

/* An item of an array of numbers, strings and nulls, which have no items. */
static uint32_t firefox_array_item(const struct firefox_document *firefox,
                                   uint32_t array, uint64_t i)
{
    return array != 0 && i < size_of(firefox, array) ? array + 1 + (uint32_t)i
                                                     : 0;
}

/* An item as a number.  Returns false if it is none, or negative. */
static bool number_at(const struct firefox_document *firefox, uint32_t array,
                      uint64_t i, uint64_t *number)
{
    uint32_t value = firefox_array_item(firefox, array, i);

    return value != 0 && json_integer(&firefox->json, value, number) ==
                             JSON_INTEGER_POSITIVE;
}

/* An array of which each item is one value, or 0. */
static uint32_t firefox_flat_index(const struct firefox_document *firefox,
                                   uint32_t object, const char *name)
{
    uint32_t array = json_member(&firefox->json, object, name);

    return array != 0 && firefox->json.values[array].type == JSON_ARRAY &&
                   firefox->json.values[array].end ==
                       array + 1 + firefox->json.values[array].size
               ? array
               : 0;
}

static bool is_address(const struct firefox_document *firefox, uint32_t value)
{
    return value != 0 && firefox->json.values[value].type == JSON_STRING &&
           firefox->json.values[value].size > 2 &&
           memcmp(json_text(&firefox->json, value), "0x", 2) == 0;
}

static bool library_of(const struct firefox_document *firefox,
                       const struct firefox_tables *tables, uint32_t frame,
                       uint64_t function, uint64_t *library)
{
    uint64_t resource, flags;

    if (tables->frame_library == 0) {
        return number_at(firefox, tables->function_resource, function,
                         &resource) &&
               number_at(firefox, tables->resource_library, resource, library);
    }
    return (tables->frame_flags == 0 ||
            (number_at(firefox, tables->frame_flags, frame, &flags) &&
             (flags & FRAME_HAS_ADDRESS) != 0)) &&
           number_at(firefox, tables->frame_library, frame, library);
}

static void take_firefox_frame(struct firefox_document *firefox,
                               struct firefox_tables *tables, uint32_t frame,
                               frame_fn *fn, void *arg)
{
    uint64_t function, address, library, name;

    if (number_at(firefox, tables->frame_function, frame, &function) &&
        number_at(firefox, tables->frame_address, frame, &address) &&
        library_of(firefox, tables, frame, function, &library) &&
        number_at(firefox, tables->function_name, function, &name) &&
        function < size_of(firefox, tables->function_name) &&
        name < tables->nstrings && !tables->is_named[function] &&
        is_address(firefox, firefox_array_item(firefox, tables->strings,
                                               (uint32_t)name))) {
        tables->is_named[function] = 1;
        fn(arg, tables, library <= UINT32_MAX ? (uint32_t)library : UINT32_MAX,
           address, (uint32_t)function, frame);
    }
}

/* strings: those of all threads, or 0 */
static void take_tables(struct firefox_document *firefox, uint32_t object,
                        uint32_t strings, frame_fn *fn, void *arg)
{
    const struct json *json = &firefox->json;
    uint32_t functions = json_member(json, object, "funcTable");
    uint32_t frames = json_member(json, object, "frameTable");
    uint32_t resources = json_member(json, object, "resourceTable"), i;
    struct firefox_tables tables = {.strings = strings};

    if (strings == 0) {
        tables.strings = firefox_flat_index(firefox, object, "stringArray");
    }

    if (functions == 0 || frames == 0 || resources == 0 ||
        tables.strings == 0) {
        return;
    }
    tables.nstrings = size_of(firefox, tables.strings);
    tables.function_name = firefox_flat_index(firefox, functions, "name");
    tables.function_resource =
        firefox_flat_index(firefox, functions, "resource");
    tables.function_file = firefox_flat_index(firefox, functions, "fileName");
    tables.function_source = firefox_flat_index(firefox, functions, "source");
    tables.function_flags = firefox_flat_index(firefox, functions, "flags");
    tables.frame_function = firefox_flat_index(firefox, frames, "func");
    tables.frame_address = firefox_flat_index(firefox, frames, "address");
    tables.frame_line = firefox_flat_index(firefox, frames, "line");
    tables.frame_library = firefox_flat_index(firefox, frames, "lib");
    tables.frame_flags = firefox_flat_index(firefox, frames, "flags");
    tables.resource_library = firefox_flat_index(firefox, resources, "lib");
    if (tables.function_name == 0 || tables.frame_address == 0 ||
        firefox->libraries == 0) {
        return;
    }
    firefox->has_tables = true;
    tables.is_named = calloc(size_of(firefox, tables.function_name) + 1, 1);
    firefox->is_without_memory |= tables.is_named == NULL;
    for (i = 0;
         tables.is_named != NULL && i < size_of(firefox, tables.frame_address);
         i++) {
        take_firefox_frame(firefox, &tables, i, fn, arg);
    }
    free(tables.is_named);
}

/* ended: of the tables whose strings are this array. */
static void take_all(struct firefox_document *firefox, frame_fn *fn, void *arg,
                     void (*ended)(void *arg, uint32_t strings))
{
    uint32_t shared = json_member(&firefox->json, 0, "shared");
    uint32_t threads = json_member(&firefox->json, 0, "threads"), i, value;
    uint32_t strings =
        shared != 0 ? firefox_flat_index(firefox, shared, "stringArray") : 0;

    if (strings != 0) {
        take_tables(firefox, shared, strings, fn, arg);
    }
    for (i = 0, value = threads + 1;
         threads != 0 && i < size_of(firefox, threads); i++) {
        take_tables(firefox, value, strings, fn, arg);
        if (ended != NULL && strings == 0) {
            ended(arg, firefox_flat_index(firefox, value, "stringArray"));
        }
        value = firefox->json.values[value].end;
    }
    if (ended != NULL && strings != 0) {
        ended(arg, strings);
    }
}

/* Returns false with the error, or without memory. */
static bool open_document(struct firefox_document *firefox,
                          const struct profile *profile,
                          char error[PROFILE_ERROR])
{
    struct json_error wrong = {0};
    size_t n;

    firefox->text = malloc(profile->size + 1);
    if (firefox->text == NULL) {
        firefox->is_without_memory = true;
        return false;
    }
    memcpy(firefox->text, profile->data, profile->size);
    n = json_read(&firefox->json, firefox->text, profile->size, profile->size,
                  &wrong);
    firefox->is_without_memory = wrong.out_of_memory;
    if (n == 0) {
        return profile_fail(error,
                            "the JSON of the profile is damaged: %s at line "
                            "%u column %zu",
                            wrong.reason, wrong.line, wrong.column);
    }
    firefox->libraries = json_member(&firefox->json, 0, "libs");
    return n == profile->size ||
           profile_fail(error,
                        "the JSON of the profile ends at byte %zu, but the "
                        "file goes on", n);
}

static void close_document(struct firefox_document *firefox)
{
    json_free(&firefox->json);
    free(firefox->text);
    free(firefox->modules);
}

/* reading ------------------------------------------------------------------ */

static struct symc_string text_of(const struct firefox_document *firefox,
                                  uint32_t object, const char *name)
{
    uint32_t value =
        object != 0 ? json_member(&firefox->json, object, name) : 0;

    return value != 0 && firefox->json.values[value].type == JSON_STRING
               ? (struct symc_string){json_text(&firefox->json, value),
                                      firefox->json.values[value].size}
               : (struct symc_string){"", 0};
}

/* Returns PROFILE_NONE if the library has no id, or without memory. */
static uint32_t module_of(const struct firefox_document *firefox,
                          uint32_t library)
{
    struct symc_string id = text_of(firefox, library, "breakpadId");
    struct symc_string name = text_of(firefox, library, "debugName");
    struct symc_string code = text_of(firefox, library, "codeId");

    /* a build id, or a GUID and its age */
    return profile_is_hex(&id, 0, 20) || (id.size > 32 && id.size <= 40)
               ? profile_add_module(firefox->profile, "", &id, &name,
                                    profile_is_hex(&code, 2, 64) ? &code
                                                                 : NULL)
               : PROFILE_NONE;
}

/* Frames of libraries without an id are places of no module, so that both
 * passes see the same frames. */
static void add_firefox_frame(void *arg, const struct firefox_tables *tables,
                              uint32_t library, uint64_t address,
                              uint32_t function, uint32_t frame)
{
    struct firefox_document *firefox = arg;

    profile_add_place(firefox->profile,
                      library < size_of(firefox, firefox->libraries)
                          ? firefox->modules[library]
                          : PROFILE_NONE,
                      address, PROFILE_REACHES);
}

/* Returns false without memory. */
static bool find_modules(struct firefox_document *firefox)
{
    uint32_t array = firefox->libraries, value = array + 1, i;
    uint32_t n = array != 0 ? size_of(firefox, array) : 0;

    firefox->modules = calloc((size_t)n + 1, sizeof(firefox->modules[0]));
    for (i = 0; firefox->modules != NULL && i < n; i++) {
        firefox->modules[i] = module_of(firefox, value);
        value = firefox->json.values[value].end;
    }
    return firefox->modules != NULL;
}

bool firefox_read(struct profile *profile, char error[PROFILE_ERROR])
{
    struct firefox_document firefox = {.profile = profile};
    bool is_read = open_document(&firefox, profile, error);

    if (is_read && !find_modules(&firefox)) {
        firefox.is_without_memory = true;
    } else if (is_read) {
        take_all(&firefox, add_firefox_frame, &firefox, NULL);
    }
    profile->is_without_memory |= firefox.is_without_memory;
    close_document(&firefox);
    return is_read &&
           (firefox.has_tables ||
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
    uint32_t *of_added; /* their names */
    uint32_t added;     /* to the array */
    struct json_writer names; /* ,"NAME"... */
    uint32_t sources;         /* the table, or 0 */
    uint32_t *rows;           /* of names, as strings, but of that table */
    uint32_t *files;          /* of new rows, their strings */
    uint32_t nfiles;
    bool has_failed;
};

static void firefox_add_edit(struct firefox_writer *writer, size_t at,
                             size_t size, const char *text, size_t text_size)
{
    if (array_need(&writer->edits.list, &writer->edits.room,
                   writer->edits.n + 1, sizeof(writer->edits.list[0])) != 0) {
        writer->has_failed = true;
        return;
    }
    writer->edits.list[writer->edits.n++] =
        (struct firefox_edit){at, size, writer->edits.texts.size, text_size};
    profile_put(&writer->edits.texts, text, text_size);
}

/* A number or null gets another value. */
static void firefox_put_value(struct firefox_writer *writer, uint32_t value,
                              uint32_t number)
{
    const struct json_value *v = &writer->d.json.values[value];
    char text[16];
    int n = snprintf(text, sizeof(text), "%u", number);

    if (v->type == JSON_NULL) {
        firefox_add_edit(writer, v->at, 4, text, (size_t)n);
    } else if (v->type == JSON_NUMBER) {
        firefox_add_edit(writer, v->at, v->size, text, (size_t)n);
    }
}

/* The place of a name in the array of strings. */
static uint32_t firefox_string_of(struct firefox_writer *writer,
                                  const struct firefox_tables *tables,
                                  uint32_t name)
{
    struct symc_string text = profile_name(writer->profile, name);

    if (writer->strings[name] == 0) {
        writer->names.has_member = tables->nstrings + writer->added > 0;
        json_write_string(&writer->names, text.data, text.size);
        writer->of_added[writer->added] = name;
        writer->strings[name] = tables->nstrings + writer->added++ + 1;
    }
    return writer->strings[name] - 1;
}

static void put_flag(struct firefox_writer *writer, uint32_t flags, uint64_t i,
                     uint32_t flag)
{
    uint64_t number;

    if (number_at(&writer->d, flags, i, &number) && number <= UINT32_MAX) {
        firefox_put_value(writer, firefox_array_item(&writer->d, flags, i),
                          (uint32_t)number | flag);
    }
}

/* The row of a file in the table of sources. */
static uint32_t firefox_row_of(struct firefox_writer *writer,
                               const struct firefox_tables *tables,
                               uint32_t name)
{
    if (writer->rows[name] == 0) {
        writer->files[writer->nfiles++] =
            firefox_string_of(writer, tables, name);
        writer->rows[name] =
            size_of(&writer->d, firefox_flat_index(&writer->d, writer->sources,
                                                   "filename")) +
            writer->nfiles;
    }
    return writer->rows[name] - 1;
}

static void firefox_put_file(struct firefox_writer *writer,
                             const struct firefox_tables *tables,
                             uint32_t function, uint32_t name)
{
    uint32_t value =
        firefox_array_item(&writer->d, tables->function_file, function);

    if (value != 0) {
        firefox_put_value(writer, value,
                          firefox_string_of(writer, tables, name));
        return;
    }
    value = firefox_array_item(&writer->d, tables->function_source, function);
    if (value != 0 && writer->sources != 0) {
        firefox_put_value(writer, value, firefox_row_of(writer, tables, name));
        put_flag(writer, tables->function_flags, function,
                 FUNCTION_HAS_SOURCE);
    }
}

static void firefox_name_frame(void *arg, const struct firefox_tables *tables,
                               uint32_t library, uint64_t address,
                               uint32_t function, uint32_t frame)
{
    struct firefox_writer *writer = arg;
    const struct profile_place *place =
        &writer->profile->places[writer->place++];
    const uint32_t *numbers;
    uint32_t value;

    if (place->count == 0) {
        return;
    }
    numbers = writer->profile->frames + place->first;
    firefox_put_value(
        writer,
        firefox_array_item(&writer->d, tables->function_name, function),
        firefox_string_of(writer, tables, numbers[0]));
    if (numbers[1] != 0) {
        firefox_put_file(writer, tables, function, numbers[1]);
    }
    value = firefox_array_item(&writer->d, tables->frame_line, frame);
    if (value != 0 && numbers[2] != 0) {
        firefox_put_value(writer, value, numbers[2]);
        put_flag(writer, tables->frame_flags, frame, FRAME_HAS_LINE);
    }
}

/* Where an array of firefox_flat_index() ends, in the text as it was. */
static size_t firefox_end_of_array(const struct firefox_document *firefox,
                                   const uint8_t *text, uint32_t array)
{
    uint32_t n = size_of(firefox, array);
    size_t at;

    if (n == 0) {
        at = firefox->json.values[array].at;
        return at + 1;
    }
    at = firefox->json.values[array + n].at;
    switch (firefox->json.values[array + n].type) {
    case JSON_NULL:
    case JSON_TRUE:
        return at + 4;
    case JSON_FALSE:
        return at + 5;
    case JSON_NUMBER:
        return at + firefox->json.values[array + n].size;
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
static void firefox_end_array(struct firefox_writer *writer, uint32_t array)
{
    firefox_add_edit(
        writer, firefox_end_of_array(&writer->d, writer->profile->data, array),
        0, writer->names.data, writer->names.size);
    writer->has_failed |= writer->names.has_failed;
    json_write_reset(&writer->names);
}

static void firefox_end_strings(void *arg, uint32_t strings)
{
    struct firefox_writer *writer = arg;

    if (writer->added > 0) {
        firefox_end_array(writer, strings);
        while (writer->added > 0) {
            writer->strings[writer->of_added[--writer->added]] = 0;
        }
    }
}

/* The table of sources, all columns of which can get more rows; 0: there is
 * none. */
static uint32_t find_sources(const struct firefox_document *firefox)
{
    const struct json_value *values = firefox->json.values;
    uint32_t shared = json_member(&firefox->json, 0, "shared"), i;
    uint32_t sources =
        shared != 0 ? json_member(&firefox->json, shared, "sources") : 0;
    uint32_t column = sources + 2;

    if (sources == 0 || values[sources].size > SOURCE_COLUMNS ||
        firefox_flat_index(firefox, sources, "filename") == 0 ||
        firefox_flat_index(firefox, shared, "stringArray") == 0) {
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
static void end_sources(struct firefox_writer *writer)
{
    const struct json *json = &writer->d.json;
    uint32_t column = writer->sources + 2, n, i, k;
    bool is_file, is_start;

    for (i = 0; writer->nfiles > 0 && i < json->values[writer->sources].size;
         i++) {
        is_file = json_is(json, column - 1, "filename");
        is_start = json_is(json, column - 1, "startLine") ||
                   json_is(json, column - 1, "startColumn");
        n = size_of(&writer->d, column);
        writer->names.has_member = n > 0;
        if (json_is(json, column - 1, "length")) {
            n = size_of(
                &writer->d,
                firefox_flat_index(&writer->d, writer->sources, "filename"));
            firefox_put_value(writer, column, n + writer->nfiles);
        } else if (json->values[column].type == JSON_ARRAY) {
            for (k = 0; k < writer->nfiles; k++) {
                if (is_file || is_start) {
                    json_write_number(&writer->names,
                                      is_file ? writer->files[k] : 1);
                } else {
                    json_write_raw(&writer->names, "null", 4);
                }
            }
            firefox_end_array(writer, column);
        }
        column = json->values[column].end + 1;
    }
}

/* Otherwise the Firefox Profiler asks for the names again. */
static void mark_symbolicated(struct firefox_writer *writer)
{
    const struct json *json = &writer->d.json;
    uint32_t meta = json_member(json, 0, "meta");
    uint32_t value = meta != 0 ? json_member(json, meta, "symbolicated") : 0;

    if (writer->edits.n > 0 && value != 0 &&
        json->values[value].type == JSON_FALSE) {
        firefox_add_edit(writer, json->values[value].at, strlen("false"),
                         "true", strlen("true"));
    }
}

static int compare_libs(const void *a, const void *b)
{
    const struct firefox_edit *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_edits(struct firefox_writer *writer,
                      struct profile_output *out)
{
    const struct firefox_edit *edit = writer->edits.list;
    const uint8_t *data = writer->profile->data;
    size_t at = 0, i;

    if (writer->edits.n > 0) {
        qsort(writer->edits.list, writer->edits.n,
              sizeof(writer->edits.list[0]), compare_libs);
    }
    for (i = 0; i < writer->edits.n; i++, edit++) {
        if (edit->at >= at) { /* a line may be set once */
            profile_put(out, data + at, edit->at - at);
            profile_put(out, writer->edits.texts.data + edit->text,
                        edit->text_size);
            at = edit->at + edit->size;
        }
    }
    profile_put(out, data + at, writer->profile->size - at);
}

void firefox_write(const struct profile *profile, struct profile_output *out)
{
    struct firefox_writer writer = {
        .profile = profile, .nstrings = profile->resolver->names.count + 1};
    char error[PROFILE_ERROR]; /* it was read before */

    writer.strings = calloc(writer.nstrings, 4 * sizeof(writer.strings[0]));
    if (writer.strings != NULL && open_document(&writer.d, profile, error)) {
        writer.rows = writer.strings + writer.nstrings;
        writer.files = writer.rows + writer.nstrings;
        writer.of_added = writer.files + writer.nstrings;
        writer.sources = find_sources(&writer.d);
        take_all(&writer.d, firefox_name_frame, &writer, firefox_end_strings);
        end_sources(&writer);
        mark_symbolicated(&writer);
        put_edits(&writer, out);
    } else {
        writer.has_failed = true;
    }
    out->has_failed |= writer.has_failed || writer.edits.texts.has_failed ||
                       writer.d.is_without_memory;
    close_document(&writer.d);
    free(writer.strings);
    free(writer.names.data);
    free(writer.edits.list);
    free(writer.edits.texts.data);
}
