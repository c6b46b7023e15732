/*
 * Copyright (C) the ngx_symcache authors
 */
#include "memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "debuginfo/failure.h"
#include "sandbox/sandbox.h"

/* Bytes that the C library takes at most beyond those that it is asked for. */
#define MARGIN ((uint64_t)2 << 20)

static char message[4400];
static size_t message_size;

/* /proc/self/statm, open: in the sandbox no file can be opened, and limits
 * cannot be read. */
static int statm = -1;
static uint64_t address_space = UINT64_MAX, data = UINT64_MAX; /* limits */

static uint64_t soft_limit(__rlimit_resource_t resource)
{
    struct rlimit now;

    return getrlimit(resource, &now) == 0 && now.rlim_cur != RLIM_INFINITY
               ? now.rlim_cur
               : UINT64_MAX;
}

void memory_limit(uint64_t bytes)
{
    address_space = bytes < address_space ? bytes : address_space;
}

static bool memory_is_over(uint64_t pages, size_t size, uint64_t limit)
{
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE) + MARGIN;

    return used > limit || size > limit - used;
}

/* Do so many bytes exceed a limit?  As the kernel counts: all pages, and those
 * that are private and can be written to. */
static bool is_limit_reached(size_t size)
{
    char text[200], *p = text;
    ssize_t n = pread(statm, text, sizeof(text) - 1, 0);
    uint64_t pages[6] = {0};
    unsigned i;

    if (n <= 0) { /* there is no /proc */
        return address_space != UINT64_MAX || data != UINT64_MAX;
    }
    text[n] = '\0';
    for (i = 0; i < 6; i++) {
        pages[i] = strtoull(p, &p, 10);
    }
    return memory_is_over(pages[0], size, address_space) ||
           memory_is_over(pages[5], size, data);
}

static void memory_print(const char *text, size_t size)
{
    if (write(STDERR_FILENO, text, size) < 0) {
        /* the exit code says it, too */
    }
}

static void lacks_memory(size_t size)
{
    static const char limit[] = "needs more memory than it may have\n";
    static const char machine[] = "needs more memory than there is\n";

    memory_print(message, message_size);
    if (is_limit_reached(size)) {
        memory_print(limit, sizeof(limit) - 1);
        _exit(FAILURE_LIMIT);
    }
    memory_print(machine, sizeof(machine) - 1);
    _exit(FAILURE_TEMPORARY);
}

void memory_must_suffice(const char *program, const char *file)
{
    int n = snprintf(message, sizeof(message), "%s: %s: ", program, file);

    statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    address_space = soft_limit(RLIMIT_AS);
    data = soft_limit(RLIMIT_DATA);
    message_size =
        (size_t)n < sizeof(message) ? (size_t)n : sizeof(message) - 1;
    allocation_must_succeed(lacks_memory);
}
