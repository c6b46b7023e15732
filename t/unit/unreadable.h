/*
 * Copyright (C) the ngx_symcache authors
 *
 * A readdir() that fails, in the place of the C library's.
 */
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

static int unreadable; /* 0, or the errno of each readdir() */

struct dirent *readdir(DIR *dir)
{
    static struct dirent *(*real)(DIR *);

    if (unreadable != 0) {
        errno = unreadable;
        return NULL;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "readdir64");
    }
    return real(dir);
}
