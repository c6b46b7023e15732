/*
 * Copyright (C) the ngx_symcache authors
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/program_path.h"

/* in a build tree, and after "make install" */
static const char *const places[] = {
    SANDBOX_PROGRAM, "../libexec/ngx_symcache/" SANDBOX_PROGRAM};

static int program = -1;

int sandbox_program_open(char *error, size_t size)
{
    char path[PATH_MAX];
    size_t i;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (beside_path(path, places[i])) {
            program = open(path, O_PATH | O_CLOEXEC);
        }
        if (program >= 0) {
            return 0;
        }
    }
    if (!has_proc()) {
        snprintf(error, size, "%s cannot be found: " NO_PROC, places[0]);
        return -1;
    }
    snprintf(error, size, "%s is neither beside symcached nor in %s: %s",
             places[0], places[1], strerror(errno));
    return -1;
}

int sandbox_program_fd(void)
{
    return program;
}
