/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl clean: runs "symcached --clean", as symcached knows the rules and
 * the folders.
 */
#include <stddef.h>

#include "symcachectl/command.h"
#include "daemon_exec.h"
#include "symcachectl/settings.h"

#define ARGS_MAX 8

int clean_command(int argc, char **argv)
{
    struct settings settings = {0};
    int dry_run = 0, unknown = 0, n = 0;
    const char *args[ARGS_MAX];
    const struct option_spec specs[] = {{"-c", NULL, &settings.config},
                                        {"--unknown", &unknown, NULL},
                                        {"--dry-run", &dry_run, NULL},
                                        {"--json", &settings.is_json, NULL}};

    argc = options_parse("clean", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("clean", "no operands", argv[0]);
    }
    args[n++] = "symcached";
    args[n++] = "--clean";
    if (unknown) {
        args[n++] = "--unknown";
    }
    if (dry_run) {
        args[n++] = "--dry-run";
    }
    if (settings.is_json) {
        args[n++] = "--json";
    }
    if (settings.config != NULL) {
        args[n++] = "-c";
        args[n++] = settings.config;
    }
    args[n] = NULL;
    return daemon_exec(args);
}
