/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl verify: checks whether a file is an intact SymCache, PpdbCache,
 * CfiCache, CodeCache, JsCache, SourceCache or ProguardCache.
 */
#include <unistd.h>

#include "symcachectl/command.h"
#include "input.h"
#include "symcachectl/terminal/output.h"

static void print_count(struct output *output, const char *before,
                        uint32_t count, const char *what)
{
    output_text(output, before);
    output_decimal(output, count);
    output_text(output, what);
}

static void print_code(struct output *output,
                       const struct codecache_reader *code)
{
    print_count(output, ": sound: CodeCache, version ", CODECACHE_VERSION, "");
    print_count(output, ", ", code->num_parts, " parts");
    print_count(output, ", ", code->num_marks, " marks\n");
}

static void print_mapping(struct output *output,
                          const struct proguardcache_reader *mapping)
{
    print_count(output, ": sound: ProguardCache, version ",
                PROGUARDCACHE_VERSION, "");
    print_count(output, ", ", mapping->counts[PROGUARDCACHE_CLASSES],
                " classes");
    print_count(output, ", ", mapping->counts[PROGUARDCACHE_MEMBERS],
                " members\n");
}

static void print_sound(struct output *output, const char *file,
                        const struct input *input)
{
    const struct symc_reader *r = &input->reader.symcache;
    const struct ppdbcache_reader *ppdb = &input->reader.ppdbcache;
    const struct cficache_reader *cfi = &input->reader.cficache;
    const struct jscache_reader *js = &input->reader.jscache;
    const struct sourcecache_reader *sources = &input->reader.sourcecache;

    output_text(output, file);
    if (input->kind == SYMCACHE_KIND_JSCACHE) {
        print_count(output, ": sound: JsCache, version ", JSCACHE_VERSION,
                    "");
        print_count(output, ", ", js->num_files, " files");
        print_count(output, ", ", js->num_positions, " positions");
        print_count(output, ", ", js->string_bytes, " bytes of strings\n");
        return;
    }
    if (input->kind == SYMCACHE_KIND_CFICACHE) {
        print_count(output, ": sound: CfiCache, version ", CFICACHE_VERSION,
                    "");
        print_count(output, ", ", cfi->num_points[CFICACHE_RULES],
                    " ranges");
        print_count(output, ", ", cfi->num_rules, " rules");
        print_count(output, ", ", cfi->num_wins, " STACK WIN records\n");
        return;
    }
    if (input->kind == SYMCACHE_KIND_CODECACHE) {
        print_code(output, &input->reader.codecache);
        return;
    }
    if (input->kind == SYMCACHE_KIND_SOURCECACHE) {
        print_count(output, ": sound: SourceCache, version ",
                    SOURCECACHE_VERSION, "");
        print_count(output, ", ", sources->count[SOURCECACHE_ENTRIES],
                    " files");
        print_count(output, ", ", sources->count[SOURCECACHE_LINKS],
                    " links\n");
        return;
    }
    if (input->kind == SYMCACHE_KIND_PROGUARDCACHE) {
        print_mapping(output, &input->reader.proguardcache);
        return;
    }
    if (input->kind == SYMCACHE_KIND_PPDBCACHE) {
        print_count(output, ": sound: PpdbCache, version ", PPDBCACHE_VERSION,
                    "");
        print_count(output, ", ", ppdb->num_files, " files");
        print_count(output, ", ", ppdb->num_ranges, " ranges");
        print_count(output, ", ", ppdb->string_bytes,
                    " bytes of strings\n");
        return;
    }
    print_count(output, ": sound: version ", r->version, "");
    print_count(output, ", ", r->num_files, " files");
    print_count(output, ", ", r->num_functions, " functions");
    print_count(output, ", ", r->num_locations, " source locations");
    print_count(output, ", ", r->num_ranges, " ranges");
    print_count(output, ", ", r->string_bytes, " bytes of strings\n");
}

int verify_command(int argc, char **argv)
{
    int rc;
    char error[256];
    const char *file;
    struct input input;
    static struct output output;

    file = command_file("verify", argc, argv);
    if (file == NULL) {
        return COMMAND_USAGE;
    }
    rc = input_open(file, COMMAND_NOT_FOUND, &input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    switch (derived_type(input.kind)
                ->verify(&input.reader, error, sizeof(error))) {
    case SYMC_SOUND:
        break;
    case SYMC_VIOLATED:
        return command_fail(COMMAND_NOT_FOUND, file, error);
    case SYMC_NOT_VERIFIED:
        return command_fail(COMMAND_IO, file, error);
    }
    output_init(&output, STDOUT_FILENO);
    print_sound(&output, file, &input);
    return output_finish(&output, COMMAND_OK);
}
