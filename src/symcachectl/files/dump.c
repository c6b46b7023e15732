/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl dump: prints a whole SymCache as text, for comparisons.  Records
 * are identified by their content and not by their number, so that one more
 * source file changes one line and not all that follow.
 */
#include <stdio.h>
#include <unistd.h>

#include "addresses.h"
#include "symcachectl/command.h"
#include "frames.h"
#include "input.h"
#include "script.h"
#include "derived/symcache/symcache.h"

/* The most frames that are printed for one range.  A hostile file could
 * have as many chains as bytes, each as long as the file. */
#define MAX_FRAMES 2048

struct dump {
    struct input input;
    struct symc_reader reader;
    struct output output;
    struct source_path path;
};

static void print_number(struct dump *d, const char *what, uint32_t number)
{
    output_text(&d->output, what);
    output_decimal(&d->output, number);
    output_text(&d->output, "\n");
}

static void print_guid(struct dump *d, const uint8_t *p)
{
    char id[64];

    snprintf(id, sizeof(id),
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10],
             p[11], p[12], p[13], p[14], p[15]);
    output_text(&d->output, "id         ");
    output_text(&d->output, id);
}

static void print_identity(struct dump *d)
{
    print_guid(d, d->reader.data + SYMC_AT_GUID);
    output_text(&d->output, d->reader.data[SYMC_AT_KIND] == 0
                                ? "\n"
                                : " (PDB 2.0: time stamp)\n");
    print_number(d, "age        ", symc_load(d->reader.data + SYMC_AT_AGE));
}

static void print_strings(struct dump *d)
{
    size_t at;
    uint32_t count;
    const char *fault;
    struct symc_string string;
    const uint8_t *section;

    section = d->reader.data + d->reader.strings;
    count = 0;
    fault = NULL;
    for (at = 0; at < d->reader.string_bytes && fault == NULL;) {
        fault = symc_string_read(section, d->reader.string_bytes, at,
                                 d->reader.version, &string);
        if (fault == NULL) {
            at =
                (size_t)((const uint8_t *)string.data - section) + string.size;
            count++;
        }
    }
    output_text(&d->output, "strings    ");
    output_decimal(&d->output, count);
    output_text(&d->output, " in ");
    output_decimal(&d->output, d->reader.string_bytes);
    output_text(&d->output, " bytes\n");
    if (fault != NULL) {
        output_text(&d->output, "           then one at ");
        output_hex(&d->output, d->reader.strings + at, 1);
        output_text(&d->output, " that ");
        output_text(&d->output, fault);
        output_text(&d->output, "\n");
    }
}

static void print_header(struct dump *d)
{
    const struct symc_reader *r = &d->reader;

    print_number(d, "version    ", r->version);
    print_identity(d);
    output_text(&d->output, "arch       ");
    output_text(&d->output, symc_arch_name(symc_load(r->data + SYMC_AT_ARCH)));
    output_text(&d->output, "\n");
    print_number(d, "files      ", r->num_files);
    print_number(d, "functions  ", r->num_functions);
    print_number(d, "locations  ", r->num_locations);
    print_number(d, "ranges     ", r->num_ranges);
    print_strings(d);
    if (r->strings + r->string_bytes < r->size) {
        output_text(&d->output, "behind it  ");
        output_decimal(&d->output, r->size - r->strings - r->string_bytes);
        output_text(&d->output, " bytes\n");
    }
}

static void print_field(struct dump *d, const char *what,
                        const struct symc_string *string)
{
    if (string->data != NULL) {
        output_text(&d->output, what);
        output_string(&d->output, string);
        output_text(&d->output, "\n");
    }
}

static int print_files(struct dump *d)
{
    uint32_t i;
    struct symc_file_parts parts;
    const struct symc_string *path;

    output_text(&d->output, "\nfiles\n");
    for (i = 0; i < d->reader.num_files; i++) {
        path = source_path(&d->path, &d->reader, i);
        if (path == NULL) {
            return -1;
        }
        output_text(&d->output, "  ");
        output_string(&d->output, path);
        output_text(&d->output, "\n");
        symc_reader_file(&d->reader, i, &parts);
        if (parts.comp_dir.size > 0) {
            print_field(d, "    compiled in ", &parts.comp_dir);
        }
        print_field(d, "    source server name      ", &parts.srcsrv_name);
        print_field(d, "    source server directory ",
                    &parts.srcsrv_directory);
        print_field(d, "    source server revision  ", &parts.srcsrv_revision);
    }
    return 0;
}

static void print_functions(struct dump *d)
{
    uint32_t i;
    struct symc_function_parts function;

    output_text(&d->output, "\nfunctions\n");
    for (i = 0; i < d->reader.num_functions; i++) {
        symc_reader_function(&d->reader, i, &function);
        output_text(&d->output, "  ");
        if (function.entry == SYMC_NONE) {
            output_text(&d->output, "inlined   ");
        } else {
            output_hex(&d->output, function.entry, 8);
        }
        output_text(&d->output, " ");
        output_text(&d->output, function.language == SYMC_NONE
                                    ? "public"
                                    : symc_language_name(function.language));
        output_text(&d->output, " ");
        if (function.name.data == NULL) {
            output_text(&d->output, "?");
        }
        output_string(&d->output, &function.name);
        output_text(&d->output, "\n");
    }
}

static int print_ranges(struct dump *d)
{
    uint32_t i;
    struct symc_frames frames;

    output_text(&d->output, "\nranges\n");
    for (i = 0; i < d->reader.num_ranges && d->output.error == 0; i++) {
        output_text(&d->output, "  ");
        output_hex(&d->output, symc_reader_range(&d->reader, i), 8);
        output_text(&d->output, " ");
        symc_reader_frames(&d->reader,
                           symc_reader_range_location(&d->reader, i), &frames);
        if (frames.next == SYMC_NONE) {
            output_text(&d->output, "-\n");
        } else if (frames_print(&d->output, &frames, &d->path, "             ",
                                MAX_FRAMES) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A PpdbCache: its files, and where in them the code of each method is. */
static void print_ppdb(struct dump *d)
{
    uint32_t i, line, file, language;
    uint64_t range;
    const struct ppdbcache_reader *r = &d->input.reader.ppdbcache;
    struct symc_string name;

    print_number(d, "ppdbcache  ", PPDBCACHE_VERSION);
    print_guid(d, r->data + PPDBCACHE_AT_GUID);
    output_text(&d->output, "\nstamp      ");
    output_hex(&d->output, symc_load(r->data + PPDBCACHE_AT_STAMP), 8);
    print_number(d, "\nfiles      ", r->num_files);
    print_number(d, "ranges     ", r->num_ranges);
    print_number(d, "strings    ", r->string_bytes);
    output_text(&d->output, "\nfiles\n");
    for (i = 0; i < r->num_files; i++) {
        ppdbcache_reader_file(r, i, &name, &language);
        output_text(&d->output, "  ");
        output_text(&d->output, symc_language_name(language));
        output_text(&d->output, " ");
        output_string(&d->output, &name);
        output_text(&d->output, "\n");
    }
    output_text(&d->output, "\nranges\n");
    for (i = 0; i < r->num_ranges && d->output.error == 0; i++) {
        range = ppdbcache_reader_range(r, i);
        ppdbcache_reader_place(r, i, &line, &file);
        ppdbcache_reader_file(r, file, &name, &language);
        output_text(&d->output, "  ");
        output_hex(&d->output, ADDRESSES_TOKEN + (range >> 32), 1);
        output_text(&d->output, "+");
        output_hex(&d->output, (uint32_t)range, 1);
        output_text(&d->output, " ");
        output_string(&d->output, &name);
        print_number(d, ":", line);
    }
}

/* A SourceCache: its files, and whether their texts are there. */
static void print_sources(struct dump *d)
{
    static const char *const statuses[SOURCECACHE_STATUSES] = {
        "", " (not in the bundle)", " (damaged)", " (not UTF-8)",
        " (too large)", " "};
    const struct sourcecache_reader *r = &d->input.reader.sourcecache;
    struct sourcecache_entry entry;
    struct symc_string link;
    const uint8_t *p;
    uint32_t i;

    print_number(d, "sourcecache ", SOURCECACHE_VERSION);
    print_guid(d, r->data + SOURCECACHE_AT_GUID);
    output_text(&d->output, "\nfiles\n");
    for (i = 0; sourcecache_reader_entry(r, i, &entry); i++) {
        output_text(&d->output, "  ");
        output_string(&d->output, entry.path.data != NULL  ? &entry.path
                                  : entry.url.data != NULL ? &entry.url
                                                           : &entry.name);
        output_text(&d->output, statuses[entry.status]);
        if (entry.status == SOURCECACHE_LINKED) {
            output_string(&d->output, &entry.url);
            output_text(&d->output, "\n");
            continue;
        }
        print_number(d, ", lines ", entry.lines);
    }
    output_text(&d->output, "\nlinks\n");
    for (i = 0; i < r->count[SOURCECACHE_LINKS]; i++) {
        p = sourcecache_record(r, SOURCECACHE_LINKS, i);
        output_text(&d->output, "  ");
        link = sourcecache_string(r, p);
        output_string(&d->output, &link);
        output_text(&d->output, symc_load(p + 16) != 0 ? "* " : " ");
        link = sourcecache_string(r, p + 8);
        output_string(&d->output, &link);
        output_text(&d->output, "\n");
    }
}

int dump_command(int argc, char **argv)
{
    int rc;
    const char *file;
    static struct dump d;

    file = command_file("dump", argc, argv);
    if (file == NULL) {
        return COMMAND_USAGE;
    }
    rc = input_open(file, COMMAND_FOREIGN, &d.input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    if (d.input.kind == SYMCACHE_KIND_CFICACHE ||
        d.input.kind == SYMCACHE_KIND_CODECACHE ||
        d.input.kind == SYMCACHE_KIND_PROGUARDCACHE) {
        return command_fail(COMMAND_FOREIGN, file, INPUT_HAS_NO_NAMES);
    }
    output_init(&d.output, STDOUT_FILENO);
    if (d.input.kind == SYMCACHE_KIND_SOURCECACHE) {
        print_sources(&d);
        return output_finish(&d.output, COMMAND_OK);
    }
    if (d.input.kind == SYMCACHE_KIND_PPDBCACHE) {
        print_ppdb(&d);
        return output_finish(&d.output, COMMAND_OK);
    }
    if (d.input.kind == SYMCACHE_KIND_JSCACHE) {
        script_dump(&d.output, &d.input.reader.jscache);
        return output_finish(&d.output, COMMAND_OK);
    }
    d.reader = d.input.reader.symcache;
    print_header(&d);
    rc = print_files(&d);
    if (rc == 0) {
        print_functions(&d);
        rc = print_ranges(&d);
    }
    if (rc != 0) {
        output_flush(&d.output);
        return command_fail(COMMAND_IO, file, "no memory for a path");
    }
    return output_finish(&d.output, COMMAND_OK);
}
