/*
 * Copyright (C) the ngx_symcache authors
 */
#include "scratch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 64

static struct {
    uint8_t *data;
    size_t size;
    size_t used;
    int fd;
} scratch;

void scratch_use(void *mapping, size_t size, int fd)
{
    scratch.fd = fd;
    scratch.data = mapping;
    scratch.size = size;
    scratch.used = 0;
}

void *scratch_allocate(size_t size)
{
    void *memory;

    if (size >= scratch.size - scratch.used) {
        return malloc(size > 0 ? size : 1);
    }
    memory = scratch.data + scratch.used;
    size += -size & (ALIGNMENT - 1);
    scratch.used =
        size < scratch.size - scratch.used ? scratch.used + size : scratch.size;
    return memory;
}

static bool is_mapped(const uint8_t *p)
{
    return scratch.size > 0 && p >= scratch.data &&
           p < scratch.data + scratch.size;
}

void scratch_free(void *memory)
{
    if (!is_mapped(memory)) {
        free(memory);
    }
}

void scratch_copy(void *to, const void *from, size_t size)
{
    size_t done = 0;
    ssize_t n;

    while (is_mapped(to) && done < size) {
        n = pwrite(scratch.fd, (const uint8_t *)from + done, size - done,
                   (off_t)((uint8_t *)to + done - scratch.data));
        if (n <= 0) {
            break; /* the mapping takes it, or SIGBUS tells that none can */
        }
        done += (size_t)n;
    }
    if (done < size) {
        memcpy((uint8_t *)to + done, (const uint8_t *)from + done,
               size - done);
    }
}
