/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl lookup: what is at certain addresses.  No memory is allocated
 * for an address.  Output is written in large pieces, but always before
 * waiting for input, so that another program can ask and read in turn.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "addresses.h"
#include "symcachectl/command.h"
#include "frames.h"
#include "input.h"
#include "script.h"

#define SHOWN 40 /* bytes of a line that is not an address */

struct lookup {
    struct input input;
    addresses_parse_fn parse;
    struct output output;
    struct addresses addresses;
    struct source_path path;
    int is_json;
    int has_missed;
    int has_found;
};

static void note(struct lookup *l, bool is_found)
{
    l->has_found = l->has_found || is_found;
    l->has_missed = l->has_missed || !is_found;
}

/* The place of an offset in a method of .NET, whose name is not in the file. */
static int print_place(struct lookup *l, uint64_t address)
{
    struct ppdbcache_place place;
    bool is_found = ppdbcache_reader_lookup(
        &l->input.reader.ppdbcache, (uint32_t)(address >> 32),
        (uint32_t)address, &place);

    note(l, is_found);
    output_text(&l->output, l->is_json ? "{\"token\": \"" : "");
    output_hex(&l->output, ADDRESSES_TOKEN + (address >> 32), 1);
    output_text(&l->output, l->is_json ? "\", \"il\": \"" : "+");
    output_hex(&l->output, (uint32_t)address, 1);
    if (!is_found) {
        output_text(&l->output, l->is_json ? "\", \"file\": null}\n"
                                           : "\n    not found\n");
        return 0;
    }
    if (l->is_json) {
        output_text(&l->output, "\", \"language\": \"");
        output_text(&l->output, symc_language_name(place.language));
        output_text(&l->output, "\", \"file\": ");
        output_json(&l->output, &place.file);
        output_text(&l->output, ", \"line\": ");
    } else {
        output_text(&l->output, "\n    ");
        output_string(&l->output, &place.file);
        output_text(&l->output, ":");
    }
    output_decimal(&l->output, place.line);
    output_text(&l->output, l->is_json ? "}\n" : "\n");
    return 0;
}

static int print(struct lookup *l, uint64_t address)
{
    int rc;
    struct symc_frames frames;

    if (l->input.kind == SYMCACHE_KIND_PPDBCACHE) {
        return print_place(l, address);
    }
    if (l->input.kind == SYMCACHE_KIND_JSCACHE) {
        note(l, script_print(&l->output, &l->input.reader.jscache, address,
                             l->is_json != 0));
        return 0;
    }
    symc_reader_lookup(&l->input.reader.symcache, address, &frames);
    note(l, frames.next != SYMC_NONE);
    if (l->is_json) {
        output_text(&l->output, "{\"address\": \"");
        output_hex(&l->output, address, 1);
        output_text(&l->output, "\", \"frames\": ");
        rc = frames_print_json(&l->output, &frames, &l->path);
        output_text(&l->output, "}\n");
        return rc;
    }
    output_hex(&l->output, address, 1);
    if (frames.next == SYMC_NONE) {
        output_text(&l->output, "\n    not found\n");
        return 0;
    }
    output_text(&l->output, "\n    ");
    return frames_print(&l->output, &frames, &l->path, "    ", UINT32_MAX);
}

static int no_memory(struct lookup *l, const char *file)
{
    output_flush(&l->output);
    return command_fail(COMMAND_IO, file, "no memory for a path");
}

static int bad_line(struct lookup *l)
{
    size_t size;
    struct symc_string text;
    static struct output error;

    output_flush(&l->output);
    if (l->addresses.error != 0) {
        return command_fail(COMMAND_IO, "standard input",
                            strerror(l->addresses.error));
    }
    size = l->addresses.size < SHOWN ? l->addresses.size : SHOWN;
    text.data = l->addresses.text;
    text.size = size;
    output_init(&error, STDERR_FILENO);
    output_text(&error, "symcachectl lookup: standard input:");
    output_decimal(&error, l->addresses.line);
    output_text(&error, ": no address: ");
    output_string(&error, &text);
    output_text(&error, size < l->addresses.size ? "...\n" : "\n");
    output_flush(&error);
    return COMMAND_USAGE;
}

static int from_stdin(struct lookup *l, const char *file)
{
    int rc;
    uint64_t address;

    addresses_init(&l->addresses, STDIN_FILENO);
    for (;;) {
        if (!addresses_is_ready(&l->addresses)) {
            output_flush(&l->output);
        }
        if (l->output.error != 0) {
            return COMMAND_OK; /* output_finish() reports the error */
        }
        rc = addresses_next(&l->addresses, l->parse, &address);
        if (rc == 0) {
            return COMMAND_OK;
        }
        if (rc < 0) {
            return bad_line(l);
        }
        if (print(l, address) != 0) {
            return no_memory(l, file);
        }
    }
}

static int check_addresses(const struct lookup *l, int count, char **texts)
{
    int i;
    uint64_t address;

    for (i = 0; i < count; i++) {
        if (l->parse(texts[i], strlen(texts[i]), &address) != 0) {
            return command_usage("lookup",
                                 l->input.kind == SYMCACHE_KIND_PPDBCACHE
                                     ? "no METHOD+IL"
                                 : l->input.kind == SYMCACHE_KIND_JSCACHE
                                     ? "no LINE:COLUMN"
                                     : "no address",
                                 texts[i]);
        }
    }
    return COMMAND_OK;
}

static int from_arguments(struct lookup *l, const char *file, int count,
                          char **texts)
{
    int i;
    uint64_t address;

    for (i = 0; i < count; i++) {
        if (l->parse(texts[i], strlen(texts[i]), &address) == 0 &&
            print(l, address) != 0) {
            return no_memory(l, file);
        }
    }
    return COMMAND_OK;
}

int lookup_command(int argc, char **argv)
{
    int i, rc;
    const char *file;
    static struct lookup l;

    for (i = 0; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--json") != 0) {
            return command_usage("lookup", "unknown option", argv[i]);
        }
        l.is_json = 1;
    }
    if (i == argc) {
        return command_usage("lookup", "no FILE", NULL);
    }
    file = argv[i++];
    if (i < argc && strcmp(argv[i], "--json") == 0) {
        l.is_json = 1;
        i++;
    }
    if (i == argc && strcmp(file, "-") == 0) {
        return command_usage("lookup",
                             "standard input cannot be both FILE "
                             "and addresses",
                             NULL);
    }
    rc = input_open(file, COMMAND_FOREIGN, &l.input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    if (l.input.kind == SYMCACHE_KIND_CFICACHE ||
        l.input.kind == SYMCACHE_KIND_CODECACHE ||
        l.input.kind == SYMCACHE_KIND_SOURCECACHE ||
        l.input.kind == SYMCACHE_KIND_PROGUARDCACHE) {
        return command_fail(COMMAND_FOREIGN, file, INPUT_HAS_NO_NAMES);
    }
    l.parse = l.input.kind == SYMCACHE_KIND_PPDBCACHE ? addresses_parse_method
              : l.input.kind == SYMCACHE_KIND_JSCACHE ? script_parse
                                                      : addresses_parse;
    if (check_addresses(&l, argc - i, argv + i) != COMMAND_OK) {
        return COMMAND_USAGE;
    }
    output_init(&l.output, STDOUT_FILENO);
    rc = i < argc ? from_arguments(&l, file, argc - i, argv + i)
                  : from_stdin(&l, file);
    if (rc == COMMAND_OK && l.has_missed && !l.has_found) {
        rc = COMMAND_NOT_FOUND;
    }
    return output_finish(&l.output, rc);
}
