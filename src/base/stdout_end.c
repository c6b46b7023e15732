/*
 * Copyright (C) the ngx_symcache authors
 */
#include "stdout_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int stdout_end(const char *program, int code, int failure)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return code;
    }
    fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
    return failure;
}
