/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a whole configuration, and behind a NUL a file that it names as
 * "@/proc/self/fd/101": a secret, a key or a list of tokens.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stat_timeout.h"
#include "config/config.h"
#include "symcached/source/sources.h"

#define CONFIG_FD 100
#define NAMED_FD 101

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks at no path, for which the real one starts a process. */
int stat_with_timeout(const char *path, int how, mode_t *mode)
{
    *mode = S_IFDIR;
    errno = ENOENT;
    return strlen(path) % 2 == 0 ? 0 : -1;
}

static void put(int fd, const void *data, size_t size)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);

    if (file < 0 || write(file, data, size) != (ssize_t)size ||
        dup2(file, fd) != fd) {
        abort();
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *named = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t n = named != NULL ? (size_t)(named - data) : size;
    char name[32], error[1024] = "";
    struct config *config;

    put(CONFIG_FD, data, n);
    put(NAMED_FD, data + n + (named != NULL), size - n - (named != NULL));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", CONFIG_FD);
    if (config_read(name, source_types, &config, error, sizeof(error)) == 0) {
        config_unref(config);
    } else if (strncmp(error, name, strlen(name)) != 0) {
        abort(); /* refused without a place */
    }
    if (config_read(name, NULL, &config, error, sizeof(error)) == 0) {
        config_unref(config);
    }
    return 0;
}
