/*
 * Copyright (C) the ngx_symcache authors
 *
 * To be preloaded: the allocation of number FAIL_AT of a program fails, and says
 * "failed".  With FAIL_FIRST, those of the processes that it starts do not count.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static pid_t first; /* 0: any process */

__attribute__((constructor)) static void begin(void)
{
    first = getenv("FAIL_FIRST") != NULL ? getpid() : 0;
}

static int fails(void *caller)
{
    static long count, at;
    Dl_info place;

    if (at == 0) {
        at = atol(getenv("FAIL_AT"));
    }
    if (first != 0 && first != getpid()) {
        return 0;
    }
    if (!dladdr(caller, &place) || /* of the program, not of the C library */
        place.dli_fbase != (void *)(getauxval(AT_PHDR) & ~4095UL) ||
        ++count != at) {
        return 0;
    }
    write(2, "failed\n", 7);
    errno = ENOMEM;
    return 1;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return FAILS ? NULL : __libc_realloc(p, size);
}
