/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl tier: runs "symcached --tier", as symcached has the secrets.
 */
#include <stddef.h>

#include "symcachectl/command.h"
#include "daemon_exec.h"
#include "symcachectl/settings.h"

#define ARGS_MAX 12

int tier_command(int argc, char **argv)
{
    struct settings settings = {0};
    int dry_run = 0, former = 0, n = 0, i;
    const char *older_than = NULL, *args[ARGS_MAX];
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
    args[n++] = "symcached";
    args[n++] = "--tier";
    if (dry_run) {
        args[n++] = "--dry-run";
    }
    if (former) {
        args[n++] = "--former";
    }
    if (settings.is_json) {
        args[n++] = "--json";
    }
    if (older_than != NULL) {
        args[n++] = "--older-than";
        args[n++] = older_than;
    }
    if (settings.config != NULL) {
        args[n++] = "-c";
        args[n++] = settings.config;
    }
    args[n++] = "--";
    for (i = 0; i < argc; i++) {
        args[n++] = argv[i];
    }
    args[n] = NULL;
    return daemon_exec(args);
}
