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
