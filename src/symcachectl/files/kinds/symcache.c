/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kinds.h"

#include "symbolication/symbolication.h"

/* The most frames that are printed for one range.  A hostile file could
 * have as many chains as bytes, each as long as the file. */
#define MAX_FRAMES 2048

struct symcache_print {
    const struct symc_reader *reader;
    struct output *output;
    struct source_path *path;
};

static void symcache_counts(struct output *output,
                            const union derived_reader *reader)
{
    const struct symc_reader *r = &reader->symcache;

    output_text(output, "version ");
    output_decimal(output, r->version);
    kind_print_count(output, r->num_files, " files");
    kind_print_count(output, r->num_functions, " functions");
    kind_print_count(output, r->num_locations, " source locations");
    kind_print_count(output, r->num_ranges, " ranges");
    kind_print_count(output, r->string_bytes, " bytes of strings\n");
}

static void print_identity(struct symcache_print *symcache)
{
    kind_print_guid(symcache->output, symcache->reader->data + SYMC_AT_GUID);
    output_text(symcache->output, symcache->reader->data[SYMC_AT_KIND] == 0
                                      ? "\n"
                                      : " (PDB 2.0: time stamp)\n");
    kind_print_number(symcache->output, "age        ",
                      le32(symcache->reader->data + SYMC_AT_AGE));
}

static void print_strings(struct symcache_print *symcache)
{
    size_t at;
    uint32_t count;
    const char *fault;
    struct symc_string string;
    const uint8_t *section;

    section = symcache->reader->data + symcache->reader->strings;
    count = 0;
    fault = NULL;
    for (at = 0; at < symcache->reader->string_bytes && fault == NULL;) {
        fault = symc_string_read(section, symcache->reader->string_bytes, at,
                                 symcache->reader->version, &string);
        if (fault == NULL) {
            at =
                (size_t)((const uint8_t *)string.data - section) + string.size;
            count++;
        }
    }
    output_text(symcache->output, "strings    ");
    output_decimal(symcache->output, count);
    output_text(symcache->output, " in ");
    output_decimal(symcache->output, symcache->reader->string_bytes);
    output_text(symcache->output, " bytes\n");
    if (fault != NULL) {
        output_text(symcache->output, "           then one at ");
        output_hex(symcache->output, symcache->reader->strings + at, 1);
        output_text(symcache->output, " that ");
        output_text(symcache->output, fault);
        output_text(symcache->output, "\n");
    }
}

static void print_header(struct symcache_print *symcache)
{
    const struct symc_reader *r = symcache->reader;

    kind_print_number(symcache->output, "version    ", r->version);
    print_identity(symcache);
    output_text(symcache->output, "arch       ");
    output_text(symcache->output,
                symc_arch_name(le32(r->data + SYMC_AT_ARCH)));
    output_text(symcache->output, "\n");
    kind_print_number(symcache->output, "files      ", r->num_files);
    kind_print_number(symcache->output, "functions  ", r->num_functions);
    kind_print_number(symcache->output, "locations  ", r->num_locations);
    kind_print_number(symcache->output, "ranges     ", r->num_ranges);
    print_strings(symcache);
    if (r->strings + r->string_bytes < r->size) {
        output_text(symcache->output, "behind it  ");
        output_decimal(symcache->output,
                       r->size - r->strings - r->string_bytes);
        output_text(symcache->output, " bytes\n");
    }
}

static void print_field(struct symcache_print *symcache, const char *what,
                        const struct symc_string *string)
{
    if (string->data != NULL) {
        output_text(symcache->output, what);
        output_string(symcache->output, string);
        output_text(symcache->output, "\n");
    }
}

static int print_files(struct symcache_print *symcache)
{
    uint32_t i;
    struct symc_file_parts parts;
    const struct symc_string *path;

    output_text(symcache->output, "\nfiles\n");
    for (i = 0; i < symcache->reader->num_files; i++) {
        path = source_path(symcache->path, symcache->reader, i);
        if (path == NULL) {
            return -1;
        }
        output_text(symcache->output, "  ");
        output_string(symcache->output, path);
        output_text(symcache->output, "\n");
        symc_reader_file(symcache->reader, i, &parts);
        if (parts.comp_dir.size > 0) {
            print_field(symcache, "    compiled in ", &parts.comp_dir);
        }
        print_field(symcache, "    source server name      ",
                    &parts.srcsrv_name);
        print_field(symcache, "    source server directory ",
                    &parts.srcsrv_directory);
        print_field(symcache, "    source server revision  ",
                    &parts.srcsrv_revision);
    }
    return 0;
}

static void print_functions(struct symcache_print *symcache)
{
    uint32_t i;
    struct symc_function_parts function;

    output_text(symcache->output, "\nfunctions\n");
    for (i = 0; i < symcache->reader->num_functions; i++) {
        symc_reader_function(symcache->reader, i, &function);
        output_text(symcache->output, "  ");
        if (function.entry == SYMC_NONE) {
            output_text(symcache->output, "inlined   ");
        } else {
            output_hex(symcache->output, function.entry, 8);
        }
        output_text(symcache->output, " ");
        output_text(symcache->output,
                    function.language == SYMC_NONE
                        ? "public"
                        : symc_language_name(function.language));
        output_text(symcache->output, " ");
        if (function.name.data == NULL) {
            output_text(symcache->output, "?");
        }
        output_string(symcache->output, &function.name);
        output_text(symcache->output, "\n");
    }
}

static const struct symc_string symcache_unknown = {"?", 1};

static const struct symc_string *symcache_name(const struct symc_frame *frame)
{
    return frame->function.name.data == NULL ? &symcache_unknown
                                             : &frame->function.name;
}

/*
 * Prints at most max frames, one in each line: "function at file:line", with
 * "(inlined)" unless it is the outermost one.  All lines but the first begin
 * with the indent.  "?" stands for what is unknown.  Returns 0, or -1 without
 * memory.
 */
static int symcache_print_frames(struct output *output,
                                 struct symc_frames *frames,
                                 struct source_path *path, const char *indent,
                                 uint32_t max)
{
    uint32_t n;
    struct symc_frame frame;
    const struct symc_string *file;

    for (n = 0; symc_reader_next(frames, &frame); n++) {
        if (n > 0) {
            output_text(output, indent);
        }
        if (n == max) {
            output_text(output, "... and its callers\n");
            break;
        }
        file = source_path(path, frames->reader, frame.location.file);
        if (file == NULL) {
            return -1;
        }
        output_string(output, symcache_name(&frame));
        output_text(output, " at ");
        output_string(output, file->size == 0 ? &symcache_unknown : file);
        output_text(output, ":");
        output_decimal(output, frame.location.line);
        output_text(output, frame.is_inlined ? " (inlined)\n" : "\n");
    }
    return 0;
}

/* Prints all frames as a JSON array.  Returns 0, or -1 without memory. */
static int symcache_print_frames_json(struct output *output,
                                      struct symc_frames *frames,
                                      struct source_path *path)
{
    int is_first;
    struct symc_frame frame;
    const struct symc_string *file;

    output_text(output, "[");
    for (is_first = 1; symc_reader_next(frames, &frame); is_first = 0) {
        file = source_path(path, frames->reader, frame.location.file);
        if (file == NULL) {
            return -1;
        }
        output_text(output,
                    is_first ? "{\"function\": " : ", {\"function\": ");
        output_json(output, symcache_name(&frame));
        output_text(output, ", \"entry\": ");
        if (frame.function.entry == SYMC_NONE) {
            output_text(output, "null");
        } else {
            output_text(output, "\"");
            output_hex(output, frame.function.entry, 1);
            output_text(output, "\"");
        }
        output_text(output, ", \"language\": \"");
        output_text(output, symc_language_name(frame.function.language));
        output_text(output, "\", \"file\": ");
        if (file->size == 0) {
            output_text(output, "null");
        } else {
            output_json(output, file);
        }
        output_text(output, ", \"line\": ");
        output_decimal(output, frame.location.line);
        output_text(output, frame.is_inlined ? ", \"inlined\": true}"
                                             : ", \"inlined\": false}");
    }
    output_text(output, "]");
    return 0;
}

static int print_ranges(struct symcache_print *symcache)
{
    uint32_t i;
    struct symc_frames frames;

    output_text(symcache->output, "\nranges\n");
    for (i = 0;
         i < symcache->reader->num_ranges && symcache->output->error == 0;
         i++) {
        output_text(symcache->output, "  ");
        output_hex(symcache->output, symc_reader_range(symcache->reader, i),
                   8);
        output_text(symcache->output, " ");
        symc_reader_frames(symcache->reader,
                           symc_reader_range_location(symcache->reader, i),
                           &frames);
        if (frames.next == SYMC_NONE) {
            output_text(symcache->output, "-\n");
        } else if (symcache_print_frames(symcache->output, &frames,
                                         symcache->path, "             ",
                                         MAX_FRAMES) != 0) {
            return -1;
        }
    }
    return 0;
}

static int symcache_dump(struct output *output,
                         const union derived_reader *reader)
{
    static struct source_path path;
    struct symcache_print symcache = {&reader->symcache, output, &path};

    print_header(&symcache);
    if (print_files(&symcache) != 0) {
        return -1;
    }
    print_functions(&symcache);
    return print_ranges(&symcache);
}

static int symcache_lookup(struct output *output,
                           const union derived_reader *reader,
                           uint64_t address, bool is_json)
{
    static struct source_path path;
    struct symc_frames frames;
    int rc = 0;
    bool is_found;

    symc_reader_lookup(&reader->symcache, address, &frames);
    is_found = frames.next != SYMC_NONE;
    if (is_json) {
        output_text(output, "{\"address\": \"");
        output_hex(output, address, 1);
        output_text(output, "\", \"frames\": ");
        rc = symcache_print_frames_json(output, &frames, &path);
        output_text(output, "}\n");
        return rc == 0 ? is_found : -1;
    }
    output_hex(output, address, 1);
    output_text(output, is_found ? "\n    " : "\n    not found\n");
    if (is_found) {
        rc = symcache_print_frames(output, &frames, &path, "    ", UINT32_MAX);
    }
    return rc == 0 ? is_found : -1;
}

const struct kind_printer kind_symcache = {
    .counts = symcache_counts,
    .dump = symcache_dump,
    .lookup = symcache_lookup,
    .parse = addresses_parse,
    .no_address = "no address",
};
