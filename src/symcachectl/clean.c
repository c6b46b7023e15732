/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl clean: finds the program symcached and runs its --clean, because
 * symcached knows the rules and the folders.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "settings.h"

#define ARGS_MAX 8

/* Where "make" and "make install" put it, relative to this program. */
static const char *const places[] = {"symcached", "../sbin/symcached"};

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
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self,
                 places[i]);
        execv(path, argv);
    }
}

int clean_command(int argc, char **argv)
{
    struct settings settings = {0};
    int dry_run = 0, n = 0;
    const char *args[ARGS_MAX];
    const struct option_spec specs[] = {{"-c", NULL, &settings.config},
                                        {"--dry-run", &dry_run, NULL},
                                        {"--json", &settings.is_json, NULL}};

    argc = options_parse("clean", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("clean", "no operands", argv[0]);
    }
    args[n++] = "symcached";
    args[n++] = "--clean";
    if (dry_run) {
        args[n++] = "--dry-run";
    }
    if (settings.is_json) {
        args[n++] = "--json";
    }
    if (settings.config != NULL) {
        args[n++] = "-c";
        args[n++] = settings.config;
    }
    args[n] = NULL;
    try_beside((char *const *)args);
    execvp(args[0], (char *const *)args);
    return command_fail(COMMAND_IO, "symcached", strerror(errno));
}
