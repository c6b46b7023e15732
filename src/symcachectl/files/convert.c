/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl convert: makes a SymCache of a file with debug information, a
 * PpdbCache of a portable PDB, or a CfiCache.
 */
#include <signal.h>
#include <string.h>

#include "symcachectl/command.h"
#include "converter/converter.h"
#include "symcachectl/options.h"

static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
    stop = signo;
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

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
    catch_signals();
    switch (conversion_run(&c, &stop)) {
    case FAILURE_NONE:
        return COMMAND_OK;
    case FAILURE_IO:
    case FAILURE_SANDBOX:
        return COMMAND_IO;
    default:
        return stop != 0 ? COMMAND_INTERRUPTED : COMMAND_NOT_FOUND;
    }
}
