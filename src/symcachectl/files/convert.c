/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl convert: makes a SymCache of a file with debug information, a
 * PpdbCache of a portable PDB, or a CfiCache.
 */
#include <string.h>

#include "conversion.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"

int convert_command(int argc, char **argv)
{
    int is_strict = 0, is_text = 0;
    const char *kind = NULL;
    struct conversion c = {
        .program = "symcachectl", .folder = ".", .has_sandbox = true,
        .is_durable = true};
    const struct option_spec specs[] = {{"-o", NULL, &c.output},
                                        {"--arch", NULL, &c.choice.arch},
                                        {"--id", NULL, &c.choice.id},
                                        {"--kind", NULL, &kind},
                                        {"--text", &is_text, NULL},
                                        {"--strict", &is_strict, NULL}};

    argc = options_parse("convert", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc != 1) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("convert",
                                        argc == 0 ? "no FILE"
                                                  : "more than one FILE",
                                        argc == 0 ? NULL : argv[1]);
    }
    c.input = argv[0];
    c.is_strict = is_strict != 0;
    c.is_text = is_text != 0;
    c.has_wanted = kind != NULL;
    if (kind != NULL && !conversion_output(kind, &c.wanted)) {
        return command_usage("convert", "no such kind", kind);
    }
    if (c.is_text && (kind == NULL || c.wanted != DEBUGINFO_CFICACHE)) {
        return command_usage("convert", "--text without --kind cficache",
                             NULL);
    }
    return conversion_command(&c);
}
