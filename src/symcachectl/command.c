/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>
#include <string.h>

#include "command.h"

int command_usage(const char *command, const char *what, const char *argument)
{
    fprintf(stderr,
            "symcachectl %s: %s%s%s\n"
            "try: symcachectl --help\n",
            command, what, argument == NULL ? "" : ": ",
            argument == NULL ? "" : argument);
    return COMMAND_USAGE;
}

const char *command_file(const char *command, int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "--") == 0) {
        argc--;
        argv++;
    } else if (argc > 0 && argv[0][0] == '-' && argv[0][1] != '\0') {
        command_usage(command, "unknown option", argv[0]);
        return NULL;
    }
    if (argc != 1) {
        command_usage(command, argc == 0 ? "no FILE" : "more than one FILE",
                      argc == 0 ? NULL : argv[1]);
        return NULL;
    }
    return argv[0];
}

int command_fail(int code, const char *file, const char *reason)
{
    fprintf(stderr, "symcachectl: %s: %s\n", file, reason);
    return code;
}
