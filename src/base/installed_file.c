/*
 * Copyright (C) the ngx_symcache authors
 */
#include "installed_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_path(char path[PATH_MAX], const char *name)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;
    size_t room;

    if (n <= 0) {
        return false;
    }

    path[n] = '\0';
    slash = strrchr(path, '/');
    room = PATH_MAX - (size_t)(slash + 1 - path);
    return snprintf(slash + 1, room, "%s", name) < (int)room;
}
