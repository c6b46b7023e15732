/*
 * Copyright (C) the ngx_symcache authors
 */
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int failure_work(struct failure *failure)
{
    return failure_set(failure, FAILURE_LIMIT,
                       "needs more work than a file of its size may");
}

int failure_writer(struct failure *failure, enum symc_status status)
{
    switch (status) {
    case SYMC_OK:
        return 0;
    case SYMC_TOO_DEEP:
        return failure_set(failure, FAILURE_LIMIT,
                           "has functions that are inlined too deep");
    case SYMC_NO_WRITE:
        return errno == EFBIG
                   ? failure_set(failure, FAILURE_LIMIT,
                                 "output is larger than that of a file of "
                                 "its size may be")
                   : failure_set(failure, FAILURE_IO,
                                 "output cannot be written: %s",
                                 strerror(errno));
    default:
        return failure_memory(failure);
    }
}
