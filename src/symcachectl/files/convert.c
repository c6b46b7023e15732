/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl convert: makes a SymCache of a file with debug information, a
 * PpdbCache of a portable PDB, a CfiCache, a ProguardCache of a mapping, or a
 * JsCache of a script and its source map.
 */
#include <string.h>

#include "run_conversion.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"

int convert_command(int argc, char **argv)
{
    int is_strict = 0, is_like = 0, is_text = 0, is_script;
    const char *kind = NULL;
    struct conversion c = {
        .program = "symcachectl", .folder = ".", .has_sandbox = true,
        .is_durable = true};
    const struct option_spec specs[] = {
        {"-o", NULL, &c.output},
        {"--arch", NULL, &c.choice.arch},
        {"--id", NULL, &c.choice.id},
        {"--kind", NULL, &kind},
        {"--text", &is_text, NULL},
        {"--altlink", NULL, &c.altlink},
        {"--dwp", NULL, &c.dwp},
        {"--image", NULL, &c.image},
        {"--symbol-map", NULL, &c.symbol_map},
        {"--line-mapping", NULL, &c.line_mapping},
        {"--like-symbolic", &is_like, NULL},
        {"--strict", &is_strict, NULL}};

    argc = options_parse("convert", specs, COUNT(specs), argc, argv);
    if (argc < 1) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("convert", "no FILE", NULL);
    }
    c.input = argv[0];
    c.is_strict = is_strict != 0;
    c.is_like_symbolic = is_like != 0;
    c.is_text = is_text != 0;
    c.has_wanted = kind != NULL;
    if (kind != NULL && !conversion_output(kind, &c.wanted)) {
        return command_usage("convert", "no such kind", kind);
    }
    is_script = kind != NULL && c.wanted == SYMCACHE_KIND_JSCACHE;
    if (argc > 1 + is_script) {
        return command_usage("convert",
                             argc == 2 && kind == NULL
                                 ? "a MAP needs --kind jscache, and there is "
                                   "one FILE only"
                                 : "more than one FILE",
                             argv[1 + is_script]);
    }
    c.map = argc > 1 ? argv[1] : NULL;
    if (c.is_text && (kind == NULL || c.wanted != SYMCACHE_KIND_CFICACHE)) {
        return command_usage("convert", "--text without --kind cficache",
                             NULL);
    }
    return conversion_has_files(&c) ? run_conversion(&c) : COMMAND_IO;
}
