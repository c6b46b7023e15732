/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl tier: runs "symcached --tier", as symcached has the secrets.
 */
#include <stddef.h>

#include "symcachectl/command.h"
#include "daemon_exec.h"
#include "symcachectl/settings.h"

int tier_command(int argc, char **argv)
{
    struct settings settings = {0};
    int dry_run = 0, former = 0;
    const char *older_than = NULL;
    const struct option_spec specs[] = {{"-c", NULL, &settings.config},
                                        {"--older-than", NULL, &older_than},
                                        {"--former", &former, NULL},
                                        {"--dry-run", &dry_run, NULL},
                                        {"--json", &settings.is_json, NULL}};

    argc = options_parse("tier", specs, COUNT(specs), argc, argv);
    if (argc < 1 || argc > 2) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("tier", "ls, clean or rule", NULL);
    }
    return daemon_exec_command("--tier", specs, COUNT(specs), argc, argv);
}
