/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl transcoder: runs "symcached --transcoders", as symcached knows
 * how its transcoders are run.
 */
#include <stdbool.h>
#include <string.h>

#include "symcachectl/command.h"
#include "daemon_exec.h"
#include "symcachectl/settings.h"

#define ARGS_MAX 8

int transcoder_command(int argc, char **argv)
{
    struct settings settings = {0};
    const char *args[ARGS_MAX] = {"symcached", "--transcoders"};
    const struct option_spec specs[] = {{"-c", NULL, &settings.config}};
    int n = 2;
    bool is_init;

    argc = options_parse("transcoder", specs, 1, argc, argv);
    if (argc < 0) {
        return COMMAND_USAGE;
    }
    if (argc < 1 ||
        (strcmp(argv[0], "init") != 0 && strcmp(argv[0], "check") != 0)) {
        return command_usage("transcoder", "init or check",
                             argc > 0 ? argv[0] : NULL);
    }
    is_init = strcmp(argv[0], "init") == 0;
    if (argc > 2 || (is_init && argc < 2)) {
        return command_usage("transcoder", "one NAME",
                             argc > 2 ? argv[2] : NULL);
    }
    if (is_init) {
        args[n++] = "--init";
    }
    if (settings.config != NULL) {
        args[n++] = "-c";
        args[n++] = settings.config;
    }
    if (argc == 2) {
        args[n++] = "--";
        args[n++] = argv[1];
    }
    return daemon_exec(args);
}
