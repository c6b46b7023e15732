/*
 * Copyright (C) the ngx_symcache authors
 */
#include "daemon_exec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/program_path.h"
#include "symcachectl/command.h"

#define ARGS_MAX 16

/* Where "make" and "make install" put it, relative to this program. */
static const char *const places[] = {"", "../sbin/"};

static void try_beside(char *const argv[])
{
    char path[PATH_MAX], name[32];
    size_t i;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(name, sizeof(name), "%s%.16s", places[i], argv[0]);
        if (beside_path(path, name)) {
            execv(path, argv);
        }
    }
}

int daemon_exec(const char *const *args)
{
    try_beside((char *const *)args);
    execvp(args[0], (char *const *)args);
    return command_fail(COMMAND_IO, args[0], strerror(errno));
}

int daemon_exec_command(const char *command, const struct option_spec *specs,
                        size_t count, int argc, char **argv)
{
    const char *args[ARGS_MAX] = {"symcached", command};
    size_t i, n = 2;

    for (i = 0; i < count; i++) {
        if (specs[i].flag != NULL ? *specs[i].flag : *specs[i].text != NULL) {
            args[n++] = specs[i].name;
            if (specs[i].text != NULL) {
                args[n++] = *specs[i].text;
            }
        }
    }
    args[n++] = "--";
    memcpy(args + n, argv, (size_t)argc * sizeof(*args));
    return daemon_exec(args);
}
