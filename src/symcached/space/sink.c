/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int sink_write(struct sink *sink, const void *data, size_t len)
{
    const uint8_t *p = data;
    ssize_t n;

    if (sink->error != 0) {
        return -1;
    }
    if (len > sink->max - sink->written) {
        sink->error = EFBIG;
        return -1;
    }

    while (len > 0) {
        n = write(sink->fd, p, len);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            sink->error = errno;
            return -1;
        }
        p += n;
        len -= (size_t)n;
        sink->written += (uint64_t)n;
    }

    return 0;
}

void sink_reason(const struct sink *sink, char *text, size_t size)
{
    if (sink->error == EFBIG) {
        snprintf(text, size, "larger than download_size (%" PRIu64 " bytes)",
                 sink->max);
    } else {
        snprintf(text, size, "write: %s", strerror(sink->error));
    }
}
