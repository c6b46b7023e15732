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

#include "symcachectl/files/kinds/kinds.h"
#include "symcachectl/command.h"
#include "addresses.h"
#include "input.h"

#define SHOWN 40 /* bytes of a line that is not an address */

struct lookup {
    struct input input;
    const struct kind_printer *printer;
    struct output output;
    struct addresses addresses;
    bool is_json;
    int has_missed;
    int has_found;
};

static void note_lookup(struct lookup *lookup, bool is_found)
{
    lookup->has_found = lookup->has_found || is_found;
    lookup->has_missed = lookup->has_missed || !is_found;
}

static int print_lookup(struct lookup *lookup, uint64_t address)
{
    int found = lookup->printer->lookup(&lookup->output, &lookup->input.reader,
                                        address, lookup->is_json);

    note_lookup(lookup, found > 0);
    return found < 0 ? -1 : 0;
}

static int no_memory(struct lookup *lookup, const char *file)
{
    output_flush(&lookup->output);
    return command_fail(COMMAND_IO, file, "no memory for a path");
}

static int bad_line(struct lookup *lookup)
{
    size_t size;
    struct symc_string text;
    static struct output error;

    output_flush(&lookup->output);
    if (lookup->addresses.error != 0) {
        return command_fail(COMMAND_IO, "standard input",
                            strerror(lookup->addresses.error));
    }
    size = lookup->addresses.size < SHOWN ? lookup->addresses.size : SHOWN;
    text.data = lookup->addresses.text;
    text.size = size;
    output_init(&error, STDERR_FILENO);
    output_text(&error, "symcachectl lookup: standard input:");
    output_decimal(&error, lookup->addresses.line);
    output_text(&error, ": no address: ");
    output_string(&error, &text);
    output_text(&error, size < lookup->addresses.size ? "...\n" : "\n");
    output_flush(&error);
    return COMMAND_USAGE;
}

static int from_stdin(struct lookup *lookup, const char *file)
{
    int rc;
    uint64_t address;

    addresses_init(&lookup->addresses);
    for (;;) {
        if (!addresses_is_ready(&lookup->addresses)) {
            output_flush(&lookup->output);
        }
        if (lookup->output.error != 0) {
            return COMMAND_OK; /* output_finish() reports the error */
        }
        rc = addresses_next(&lookup->addresses, lookup->printer->parse,
                            &address);
        if (rc == 0) {
            return COMMAND_OK;
        }
        if (rc < 0) {
            return bad_line(lookup);
        }
        if (print_lookup(lookup, address) != 0) {
            return no_memory(lookup, file);
        }
    }
}

static int check_addresses(const struct lookup *lookup, int count,
                           char **texts)
{
    int i;
    uint64_t address;

    for (i = 0; i < count; i++) {
        if (lookup->printer->parse(texts[i], strlen(texts[i]), &address) !=
            0) {
            return command_usage("lookup", lookup->printer->no_address,
                                 texts[i]);
        }
    }
    return COMMAND_OK;
}

static int lookup_from_arguments(struct lookup *lookup, const char *file,
                                 int count, char **texts)
{
    int i;
    uint64_t address;

    for (i = 0; i < count; i++) {
        if (lookup->printer->parse(texts[i], strlen(texts[i]), &address) ==
                0 &&
            print_lookup(lookup, address) != 0) {
            return no_memory(lookup, file);
        }
    }
    return COMMAND_OK;
}

int lookup_command(int argc, char **argv)
{
    int i, rc;
    const char *file;
    static struct lookup lookup;

    for (i = 0; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--json") != 0) {
            return command_usage("lookup", "unknown option", argv[i]);
        }
        lookup.is_json = true;
    }
    if (i == argc) {
        return command_usage("lookup", "no FILE", NULL);
    }
    file = argv[i++];
    if (i < argc && strcmp(argv[i], "--json") == 0) {
        lookup.is_json = true;
        i++;
    }
    if (i == argc && strcmp(file, "-") == 0) {
        return command_usage("lookup",
                             "standard input cannot be both FILE "
                             "and addresses",
                             NULL);
    }
    rc = input_open(file, COMMAND_FOREIGN, &lookup.input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    lookup.printer = kind_printer(lookup.input.kind);
    if (lookup.printer->lookup == NULL) {
        return command_fail(COMMAND_FOREIGN, file, INPUT_HAS_NO_NAMES);
    }
    if (check_addresses(&lookup, argc - i, argv + i) != COMMAND_OK) {
        return COMMAND_USAGE;
    }
    output_init(&lookup.output, STDOUT_FILENO);
    rc = i < argc ? lookup_from_arguments(&lookup, file, argc - i, argv + i)
                  : from_stdin(&lookup, file);
    if (rc == COMMAND_OK && lookup.has_missed && !lookup.has_found) {
        rc = COMMAND_NOT_FOUND;
    }
    return output_finish(&lookup.output, rc);
}
