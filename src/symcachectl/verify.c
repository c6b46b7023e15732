/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl verify: checks whether a file is an intact SymCache.
 */
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "output.h"
#include "symcache/symcache.h"

static void print_count(struct output *output, const char *before,
                        uint32_t count, const char *what)
{
    output_text(output, before);
    output_decimal(output, count);
    output_text(output, what);
}

int verify_command(int argc, char **argv)
{
    int rc;
    char error[256];
    const char *file;
    struct symfile_reader reader;
    static struct output output;

    file = command_file("verify", argc, argv);
    if (file == NULL) {
        return COMMAND_USAGE;
    }
    rc = input_open(file, COMMAND_NOT_FOUND, &reader);
    if (rc != COMMAND_OK) {
        return rc;
    }
    switch (symfile_verify(&reader, error, sizeof(error))) {
    case SYMFILE_SOUND:
        break;
    case SYMFILE_VIOLATED:
        return command_fail(COMMAND_NOT_FOUND, file, error);
    case SYMFILE_NOT_VERIFIED:
        return command_fail(COMMAND_IO, file, error);
    }
    output_init(&output, STDOUT_FILENO);
    output_text(&output, file);
    print_count(&output, ": sound: version ", reader.version, "");
    print_count(&output, ", ", reader.num_files, " files");
    print_count(&output, ", ", reader.num_functions, " functions");
    print_count(&output, ", ", reader.num_locations, " source locations");
    print_count(&output, ", ", reader.num_ranges, " ranges");
    print_count(&output, ", ", reader.string_bytes, " bytes of strings\n");
    return output_finish(&output, COMMAND_OK);
}
