/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sandboxed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/installed_file.h"

/* in a build tree, and after "make install" */
static const char *const places[] = {
    CHILD_SANDBOXED, "../libexec/ngx_symcache/" CHILD_SANDBOXED};

static int program = -1;

int sandboxed_open(char *error, size_t size)
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
    snprintf(error, size, "%s is neither beside symcached nor in %s: %s",
             places[0], places[1], strerror(errno));
    return -1;
}

int sandboxed_fd(void)
{
    return program;
}
