/*
 * Copyright (C) the ngx_symcache authors
 *
 * The linker gives programs that parse untrusted files these functions in the
 * place of those that allocate (--wrap), in the libraries that are linked in as
 * well.  A parser that gets no memory can end here, and not
 * where each reader would go on without a part of the file, or call the file
 * damaged.
 */
#include "sandbox.h"

#include <stdint.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

static void (*on_lack)(size_t size);

void allocation_must_succeed(void (*lacks)(size_t size))
{
    on_lack = lacks;
}

static __attribute__((noinline, cold)) void lacks_memory(size_t size)
{
    if (on_lack != NULL) {
        on_lack(size);
    }
}

void *__wrap_malloc(size_t size)
{
    void *p = __real_malloc(size);

    if (p == NULL && size > 0) {
        lacks_memory(size);
    }
    return p;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *p = __real_calloc(count, size);

    if (p == NULL && count > 0 && size > 0) {
        lacks_memory(size > SIZE_MAX / count ? SIZE_MAX : count * size);
    }
    return p;
}

void *__wrap_realloc(void *p, size_t size)
{
    void *q = __real_realloc(p, size);

    if (q == NULL && size > 0) {
        lacks_memory(size);
    }
    return q;
}
