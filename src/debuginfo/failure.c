/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdarg.h>
#include <stdio.h>

#include "failure.h"

int failure_set(struct failure *failure, enum failure_code code,
                const char *format, ...)
{
    va_list args;

    if (failure->code == FAILURE_NONE) {
        failure->code = code;
        va_start(args, format);
        vsnprintf(failure->text, sizeof(failure->text), format, args);
        va_end(args);
    }
    return -1;
}

int failure_at(struct failure *failure, uint32_t stream, uint64_t offset,
               const char *what)
{
    return failure_set(failure, FAILURE_DAMAGED,
                       "is damaged: %s (stream %lu, offset %llu)", what,
                       (unsigned long)stream, (unsigned long long)offset);
}

int failure_memory(struct failure *failure)
{
    return failure_set(failure, FAILURE_LIMIT,
                       "needs more memory than there is");
}
