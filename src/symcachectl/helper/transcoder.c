/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl transcoder: runs "symcached --transcoders", as symcached knows
 * how its transcoders are run.
 */
#include <string.h>

#include "symcachectl/command.h"
#include "daemon_exec.h"
#include "symcachectl/settings.h"

int transcoder_command(int argc, char **argv)
{
    struct settings settings = {0};
    int is_init = 0;
    const struct option_spec specs[] = {{"-c", NULL, &settings.config}};
    const struct option_spec of_daemon[] = {{"--init", &is_init, NULL},
                                            {"-c", NULL, &settings.config}};

    argc = options_parse("transcoder", specs, COUNT(specs), argc, argv);
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
    return daemon_exec_command("--transcoders", of_daemon, COUNT(of_daemon),
                               argc - 1, argv + 1);
}
