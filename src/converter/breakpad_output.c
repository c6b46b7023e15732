/*
 * Copyright (C) the ngx_symcache authors
 *
 * The records are those that Breakpad's docs/symbol_files.md describes.  A
 * function of a SymCache that comes from a symbol alone is a PUBLIC record,
 * any other one a FUNC record for each piece of it that is in one part.
 */
#include "breakpad_output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory_output.h"
#include "debuginfo/cfi.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/supplement.h"
#include "input_format.h"
#include "symbolication/symbolication.h"

#define DEPTH_MAX 256 /* of inlined calls; deeper ones are left out */
#define LINE_MAX_TEXT 128

#define ARCH_X86 1 /* as SymCaches number it, divided by 100 */

/* One inlined call, or one line, with the addresses that it has in a row. */
struct breakpad_inline {
    uint32_t start, end;
    uint32_t depth;
    uint32_t function;   /* of the call that was inlined */
    uint32_t file, line; /* where it was called */
};

struct breakpad_line {
    uint32_t start, end;
    uint32_t file, line;
};

/* The frames of a range: the outermost one first. */
struct frame_list {
    size_t n;
    struct symc_location at[DEPTH_MAX];
};

struct breakpad_output {
    struct symc_reader reader;
    bool
        has_no_file; /* calls from an unknown place need a file all the same */
    struct memory_output out;
    bool has_failed;  /* out of memory */
    bool *is_inlined; /* by function: somewhere */
    struct source_path path;
    char *room; /* for demangle() */

    /* the function that is being written */
    uint32_t function; /* or SYMC_NONE */
    uint32_t start, end;
    uint32_t last_public; /* function of the PUBLIC record before */
    struct breakpad_inline
        open[DEPTH_MAX]; /* calls that end where it does, so far */
    uint32_t num_open;
    struct breakpad_inline *calls;
    size_t num_calls, call_room;
    struct breakpad_line *lines;
    size_t num_lines, line_room;
};

static void put(struct breakpad_output *output, const char *data, size_t size)
{
    output->has_failed |= memory_output_write(&output->out, data, size) != 0;
}

static void breakpad_print(struct breakpad_output *output, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));

static void breakpad_print(struct breakpad_output *output, const char *format,
                           ...)
{
    char text[LINE_MAX_TEXT];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put(output, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* The rest of a line.  A line feed in it would begin another record. */
static void put_rest(struct breakpad_output *output,
                     const struct symc_string *text)
{
    size_t i, at = output->out.size;

    put(output, text->data, text->size);
    for (i = at; i < output->out.size; i++) {
        if (output->out.data[i] < ' ') {
            output->out.data[i] = ' ';
        }
    }
    put(output, "\n", 1);
}

/* dump_syms writes names as people read them, and readers take them so.  A
 * name that keeps libiberty busy or crashes it ends this process, as any bad
 * file may. */
static void readable(struct breakpad_output *output,
                     const struct symc_function_parts *parts,
                     struct symc_string *name)
{
    size_t size;

    if (linkage_sniff(&parts->name, parts->language) &&
        linkage_demangle(&parts->name, parts->language, output->room, &size)) {
        *name = (struct symc_string){output->room, size};
        return;
    }
    (void)demangle(&parts->name, parts->language, output->room, name);
}

static void put_name(struct breakpad_output *output, uint32_t function)
{
    static const struct symc_string unknown = {"<name omitted>", 14};
    struct symc_function_parts parts;
    struct symc_string name;

    symc_reader_function(&output->reader, function, &parts);
    if (parts.name.data == NULL || parts.name.size == 0) {
        name = unknown;
    } else {
        readable(output, &parts, &name);
    }
    put_rest(output, &name);
}

/* the head ---------------------------------------------------------------- */

static const char *arch_name(uint32_t arch)
{
    switch (arch / 100) {
    case 1:
        return "x86";
    case 2:
        return "x86_64";
    case 3:
        return "arm";
    case 4:
        return "arm64";
    case 5:
        return "ppc";
    case 6:
        return "ppc64";
    case 7:
        return "mips";
    case 8:
        return "mips64";
    default:
        return "unknown";
    }
}

static void put_head(struct breakpad_output *output, const uint8_t *data,
                     size_t size, const char *name)
{
    const struct symc_string module = {name, strlen(name)};
    const uint8_t *guid = output->reader.data + SYMC_AT_GUID;
    struct elf_identity identity;
    char error[200];
    bool is_elf = elf_sniff(data, size);
    unsigned i;

    breakpad_print(output, "MODULE %s %s ",
                   is_elf                    ? "Linux"
                   : macho_sniff(data, size) ? "mac"
                                             : "windows",
                   arch_name(le32(output->reader.data + SYMC_AT_ARCH)));
    for (i = 0; i < 16; i++) {
        breakpad_print(output, "%02X", guid[i]);
    }
    breakpad_print(output, "%" PRIX32 " ",
                   le32(output->reader.data + SYMC_AT_AGE));
    put_rest(output, &module);
    if (is_elf &&
        elf_identity_read(data, size, &identity, error, sizeof(error)) == 0 &&
        identity.build_id_size > 0) {
        breakpad_print(output, "INFO CODE_ID ");
        for (i = 0; i < identity.build_id_size; i++) {
            breakpad_print(output, "%02X", identity.build_id[i]);
        }
        breakpad_print(output, "\n");
    }
    breakpad_print(output, "INFO GENERATOR ngx_symcache\n");
}

static int put_files(struct breakpad_output *output)
{
    const struct symc_string *path;
    uint32_t i;

    for (i = 0; i < output->reader.num_files; i++) {
        path = source_path(&output->path, &output->reader, i);
        if (path == NULL) {
            return -1;
        }
        breakpad_print(output, "FILE %" PRIu32 " ", i);
        put_rest(output, path);
    }
    if (output->has_no_file) {
        breakpad_print(output, "FILE %" PRIu32 " ?\n", i);
    }
    return 0;
}

/* frames ------------------------------------------------------------------ */

static void read_frames(const struct breakpad_output *output,
                        uint32_t location, struct frame_list *list)
{
    struct symc_location all[DEPTH_MAX];
    struct symc_frames frames;
    struct symc_frame frame;
    size_t n = 0, i;

    symc_reader_frames(&output->reader, location, &frames);
    while (n < DEPTH_MAX && symc_reader_next(&frames, &frame)) {
        all[n++] = frame.location;
    }
    if (n == DEPTH_MAX && symc_reader_next(&frames, &frame)) {
        n = 0; /* no compiler inlines so deep */
    }
    for (i = 0; i < n; i++) {
        list->at[i] = all[n - 1 - i];
    }
    list->n = n;
}

static void mark_inlined(struct breakpad_output *output)
{
    struct frame_list list;
    uint32_t i;
    size_t k;

    for (i = 0; i < output->reader.num_ranges; i++) {
        read_frames(output, symc_reader_range_location(&output->reader, i),
                    &list);
        for (k = 1; k < list.n; k++) {
            if (list.at[k].function < output->reader.num_functions) {
                output->is_inlined[list.at[k].function] = true;
            }
            output->has_no_file |=
                list.at[k - 1].file >= output->reader.num_files;
        }
    }
}

static void put_origins(struct breakpad_output *output)
{
    uint32_t i;

    for (i = 0; i < output->reader.num_functions; i++) {
        if (output->is_inlined[i]) {
            breakpad_print(output, "INLINE_ORIGIN %" PRIu32 " ", i);
            put_name(output, i);
        }
    }
}

/* functions --------------------------------------------------------------- */

/* Ends the calls from a depth on. */
static int close_inline_records(struct breakpad_output *output, uint32_t depth)
{
    while (output->num_open > depth) {
        if (array_need(&output->calls, &output->call_room,
                       output->num_calls + 1, sizeof(*output->calls)) != 0) {
            return -1;
        }
        output->calls[output->num_calls++] = output->open[--output->num_open];
    }
    return 0;
}

static bool is_same_inline_record(const struct breakpad_inline *a,
                                  const struct breakpad_inline *b)
{
    return a->function == b->function && a->file == b->file &&
           a->line == b->line;
}

/* Adds the calls of one range to those that are open. */
static int add_inline_records(struct breakpad_output *output,
                              const struct frame_list *list, uint32_t start,
                              uint32_t end)
{
    struct breakpad_inline call;
    uint32_t i;

    for (i = 0; i + 1 < list->n; i++) {
        call = (struct breakpad_inline){start,
                                        end,
                                        i,
                                        list->at[i + 1].function,
                                        list->at[i].file,
                                        list->at[i].line};
        if (i < output->num_open &&
            is_same_inline_record(&output->open[i], &call)) {
            output->open[i].end = end;
            continue;
        }
        if (close_inline_records(output, i) != 0) {
            return -1;
        }
        output->open[output->num_open++] = call;
    }
    return close_inline_records(output, i);
}

static int add_line_record(struct breakpad_output *output,
                           const struct symc_location *at, uint32_t start,
                           uint32_t end)
{
    struct breakpad_line *last;

    if (at->file >= output->reader.num_files) {
        return 0;
    }
    last =
        output->num_lines > 0 ? &output->lines[output->num_lines - 1] : NULL;
    if (last != NULL && last->end == start && last->file == at->file &&
        last->line == at->line) {
        last->end = end;
        return 0;
    }
    if (array_need(&output->lines, &output->line_room, output->num_lines + 1,
                   sizeof(*output->lines)) != 0) {
        return -1;
    }
    output->lines[output->num_lines++] =
        (struct breakpad_line){start, end, at->file, at->line};
    return 0;
}

static int compare_inline_records(const void *a, const void *b)
{
    const struct breakpad_inline *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int put_func_record(struct breakpad_output *output)
{
    const struct breakpad_inline *call;
    const struct breakpad_line *line;

    if (output->function == SYMC_NONE) {
        return 0;
    }
    if (close_inline_records(output, 0) != 0) {
        return -1;
    }
    breakpad_print(output, "FUNC %" PRIx32 " %" PRIx32 " 0 ", output->start,
                   output->end - output->start);
    put_name(output, output->function);
    if (output->num_calls > 0) {
        qsort(output->calls, output->num_calls, sizeof(*output->calls),
              compare_inline_records);
    }
    for (call = output->calls; call != output->calls + output->num_calls;
         call++) {
        breakpad_print(output,
                       "INLINE %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
                       " %" PRIx32 " %" PRIx32 "\n",
                       call->depth, call->line,
                       call->file < output->reader.num_files
                           ? call->file
                           : output->reader.num_files,
                       call->function, call->start, call->end - call->start);
    }
    for (line = output->lines; line != output->lines + output->num_lines;
         line++) {
        breakpad_print(
            output, "%" PRIx32 " %" PRIx32 " %" PRIu32 " %" PRIu32 "\n",
            line->start, line->end - line->start, line->line, line->file);
    }
    output->num_calls = output->num_lines = 0;
    output->function = SYMC_NONE;
    return 0;
}

static int put_range_records(struct breakpad_output *output, uint32_t i)
{
    uint32_t start = symc_reader_range(&output->reader, i), function, end;
    struct symc_function_parts parts;
    struct frame_list list;

    end = i + 1 < output->reader.num_ranges
              ? symc_reader_range(&output->reader, i + 1)
              : start + 1;
    read_frames(output, symc_reader_range_location(&output->reader, i), &list);
    function = list.n > 0 ? list.at[0].function : SYMC_NONE;
    if (list.n == 0 ||
        symc_reader_function(&output->reader, function, &parts) != 0) {
        return put_func_record(output);
    }
    if (parts.language == SYMC_NONE) {
        if (put_func_record(output) != 0) {
            return -1;
        }
        if (output->last_public != function) {
            breakpad_print(output, "PUBLIC %" PRIx32 " 0 ", start);
            put_name(output, function);
            output->last_public = function;
        }
        return 0;
    }
    if (output->function != function || output->end != start) {
        if (put_func_record(output) != 0) {
            return -1;
        }
        output->function = function;
        output->start = start;
    }
    output->end = end;
    return add_inline_records(output, &list, start, end) != 0 ||
                   add_line_record(output, &list.at[list.n - 1], start, end) !=
                       0
               ? -1
               : 0;
}

static int put_func_records(struct breakpad_output *output)
{
    uint32_t i;

    output->function = output->last_public = SYMC_NONE;
    for (i = 0; i < output->reader.num_ranges; i++) {
        if (put_range_records(output, i) != 0) {
            return -1;
        }
    }
    return put_func_record(output);
}

/* all of it --------------------------------------------------------------- */

/* Does the image name the PDB that the text is of? */
static bool is_image_of(const struct supplement *beside,
                        const struct debuginfo_result *result)
{
    struct pe_code code;
    char error[200];

    return beside->image.data != NULL &&
           pe_code_read(beside->image.data, beside->image.size, &code, error,
                        sizeof(error)) == 0 &&
           code.debug_id.is_known &&
           memcmp(code.debug_id.guid, result->guid, sizeof(result->guid)) ==
               0 &&
           code.debug_id.age == result->age;
}

/* Writes the STACK records of a file, if it has any.  If they cannot be read,
 * none are written, but the names are kept. */
static int put_records(struct breakpad_output *output, const uint8_t *data,
                       size_t size, bool *has_any)
{
    const symcache_kind_e wanted = SYMCACHE_KIND_CFICACHE;
    const struct debuginfo_maker *maker = input_maker(data, size, &wanted);
    struct memory_output memory = {NULL, 0, 0};
    const struct symc_sink sink = {memory_output_write, &memory};
    struct failure failure = {FAILURE_NONE, ""};
    struct debuginfo_result result;

    memset(&result, 0, sizeof(result));
    *has_any = maker != NULL && maker->read_cfi != NULL &&
               cfi_convert(maker->read_cfi, true, data, size, &sink, &result,
                           &failure) == 0 &&
               memory.size > 0;
    if (*has_any) {
        put(output, (const char *)memory.data, memory.size);
    }
    free(memory.data);
    return failure.code == FAILURE_LIMIT ? -1 : 0;
}

/* Windows unwinds all processors but x86 by tables that are in the image. */
static int put_frames(struct breakpad_output *output, const uint8_t *data,
                      size_t size, struct debuginfo_result *result)
{
    const struct supplement *beside = supplement_get();
    bool has_any;

    if (put_records(output, data, size, &has_any) != 0) {
        return -1;
    }
    if (has_any || !result->is_pdb ||
        le32(output->reader.data + SYMC_AT_ARCH) / 100 == ARCH_X86) {
        return 0;
    }
    if (is_image_of(beside, result)) {
        return put_records(output, beside->image.data, beside->image.size,
                           &has_any);
    }
    if (result->note[0] == '\0') {
        snprintf(result->note, sizeof(result->note), "%s%s", IMAGE_NOTE,
                 beside->image.data != NULL ? ": the file beside it is not"
                                              " that image"
                                            : "");
    }
    return 0;
}

static int breakpad_write_text(struct breakpad_output *output,
                               const uint8_t *data, size_t size,
                               const char *name, const struct symc_sink *sink,
                               struct debuginfo_result *result,
                               struct failure *failure)
{
    output->is_inlined = calloc((size_t)output->reader.num_functions + 1, 1);
    output->room = malloc(DEMANGLE_ROOM);
    if (output->is_inlined == NULL || output->room == NULL) {
        return failure_memory(failure);
    }
    put_head(output, data, size, name);
    mark_inlined(output);
    if (put_files(output) != 0) {
        return failure_memory(failure);
    }
    put_origins(output);
    if (put_func_records(output) != 0 ||
        put_frames(output, data, size, result) != 0 || output->has_failed) {
        return failure_memory(failure);
    }
    return sink->write(sink->context, output->out.data, output->out.size) == 0
               ? 0
               : failure_writer(failure, SYMC_NO_WRITE);
}

int sym_output(const uint8_t *data, size_t size, const char *name,
               const struct symc_sink *sink, struct debuginfo_result *result,
               struct failure *failure)
{
    const symcache_kind_e wanted = SYMCACHE_KIND_SYMCACHE;
    const struct debuginfo_maker *maker = input_maker(data, size, &wanted);
    struct memory_output memory = {NULL, 0, 0};
    const struct symc_sink to_memory = {memory_output_write, &memory};
    struct breakpad_output *output = calloc(1, sizeof(*output));
    char error[512];
    int rc = -1;

    if (output == NULL) {
        return failure_memory(failure);
    }
    if (maker == NULL) {
        failure_set(failure, FAILURE_PORTABLE,
                    "is a PDB of .NET, for which Breakpad has no text");
    } else if (maker->convert(data, size, &to_memory, result, failure) == 0) {
        rc = symc_reader_open(&output->reader, memory.data, memory.size, error,
                              sizeof(error)) == SYMC_OPENED &&
                     symc_verify(&output->reader, error, sizeof(error)) ==
                         SYMC_SOUND
                 ? breakpad_write_text(output, data, size, name, sink, result,
                                       failure)
                 : failure_set(failure, FAILURE_DAMAGED, "is damaged: %s",
                               error);
    }
    source_path_free(&output->path);
    free(output->is_inlined);
    free(output->room);
    free(output->calls);
    free(output->lines);
    free(output->out.data);
    free(memory.data);
    free(output);
    return rc;
}
