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

int clean_command(int argc, char **argv)
{
    struct settings settings = {0};
    int dry_run = 0, unknown = 0;
    const struct option_spec specs[] = {{"-c", NULL, &settings.config},
                                        {"--unknown", &unknown, NULL},
                                        {"--dry-run", &dry_run, NULL},
                                        {"--json", &settings.is_json, NULL}};

    argc = options_parse("clean", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("clean", "no operands", argv[0]);
    }
    return daemon_exec_command("--clean", specs, COUNT(specs), 0, argv);
}
