/*
 * Copyright (C) the ngx_symcache authors
 */

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stdout_end.h"
#include "symcachectl/terminal/printable.h"

int command_usage(const char *command, const char *what, const char *argument)
{
    fprintf(stderr, "symcachectl %s: %s%s", command, what,
            argument == NULL ? "" : ": ");
    printable_put(stderr, argument);
    fprintf(stderr, "\ntry: symcachectl %s --help\n", command);
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
    fputs("symcachectl: ", stderr);
    printable_put_address(stderr, file); /* which can be a server */
    fprintf(stderr, ": %s\n", reason);
    return code;
}

void command_no_memory(void)
{
    fputs("symcachectl: out of memory\n", stderr);
    exit(COMMAND_IO);
}

int command_finish(int code)
{
    return stdout_end("symcachectl", code, COMMAND_IO);
}
