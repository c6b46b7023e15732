/*
 * Copyright (C) the ngx_symcache authors
 */
#include "daemon_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symcachectl/command.h"

/* Where "make" and "make install" put it, relative to this program. */
static const char *const places[] = {"", "../sbin/"};

static void try_beside(char *const argv[])
{
    char self[PATH_MAX], path[PATH_MAX + 32];
    const char *slash;
    ssize_t n;
    size_t i;

    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0) {
        return;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    for (i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s/%s%.16s", (int)(slash - self), self,
                 places[i], argv[0]);
        execv(path, argv);
    }
}

int daemon_exec(const char *const *args)
{
    try_beside((char *const *)args);
    execvp(args[0], (char *const *)args);
    return command_fail(COMMAND_IO, args[0], strerror(errno));
}
