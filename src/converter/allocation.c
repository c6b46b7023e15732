/*
 * Copyright (C) the ngx_symcache authors
 *
 * The linker gives pdb2symcache and symcachectl these functions in the place of
 * those that allocate (--wrap), in the libraries that are linked in as well.  A
 * parser that gets no memory ends here, and not where each reader would go on
 * without a part of the file, or call the file damaged.
 */
#include "allocation.h"

#include <stdlib.h>
#include <unistd.h>

#include "debuginfo/failure.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

static __attribute__((noinline, cold)) void lacks_memory(void)
{
    if (allocation_message_size == 0) {
        return;
    }
    if (write(STDERR_FILENO, allocation_message, allocation_message_size) <
        0) {
        /* the exit code says it, too */
    }
    _exit(FAILURE_LIMIT);
}

void *__wrap_malloc(size_t size)
{
    void *p = __real_malloc(size);

    if (p == NULL && size > 0) {
        lacks_memory();
    }
    return p;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *p = __real_calloc(count, size);

    if (p == NULL && count > 0 && size > 0) {
        lacks_memory();
    }
    return p;
}

void *__wrap_realloc(void *p, size_t size)
{
    void *q = __real_realloc(p, size);

    if (q == NULL && size > 0) {
        lacks_memory();
    }
    return q;
}
