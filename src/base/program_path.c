/*
 * Copyright (C) the ngx_symcache authors
 */
#include "program_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

bool has_proc(void)
{
    return access("/proc/self", F_OK) == 0;
}

static bool is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

/* Daemons are installed in sbin, and what they run in bin. */
static bool program_beside(const char *name, char path[PATH_MAX])
{
    char in_bin[NAME_MAX + sizeof("../bin/")];

    if (beside_path(path, name) && is_executable(path)) {
        return true;
    }
    snprintf(in_bin, sizeof(in_bin), "../bin/%s", name);
    return beside_path(path, in_bin) && is_executable(path);
}

static bool in_path(const char *name, char path[PATH_MAX])
{
    const char *dirs = getenv("PATH"), *end;

    for (dirs = dirs == NULL ? PROGRAM_PATH : dirs; *dirs != '\0';
         dirs = *end == '\0' ? end : end + 1) {
        end = strchrnul(dirs, ':');
        if (end > dirs &&
            snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - dirs), dirs,
                     name) < PATH_MAX &&
            is_executable(path)) {
            return true;
        }
    }
    return false;
}

int program_path_find(const char *name, char path[PATH_MAX], char *error,
                      size_t size)
{
    if (in_path(name, path) || program_beside(name, path)) {
        return 0;
    }
    snprintf(error, size,
             "no transcoder: \"%.150s\" is neither in PATH nor beside "
             "symcached",
             name);
    return -1;
}
