/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SINK_LOOK (1024 * 1024) /* bytes between two checks of free space */

static int look(struct sink *sink, size_t len)
{
    struct statvfs fs;
    uint64_t left;

    if (sink->keep == 0 || len <= sink->space) {
        return 0;
    }
    if (fstatvfs(sink->fd, &fs) != 0) {
        return errno;
    }

    left = (uint64_t)fs.f_bavail * fs.f_frsize;
    left = left > sink->keep ? left - sink->keep : 0;
    if (left < len) {
        return ENOSPC;
    }
    sink->space = left < SINK_LOOK || len > SINK_LOOK ? left : SINK_LOOK;
    return 0;
}

static void count(struct sink *sink, size_t n)
{
    sink->written += n;
    sink->space -= sink->keep > 0 ? n : 0;
}

size_t sink_copy(struct sink *sink, int in, size_t len)
{
    ssize_t n;

    if (sink->error != 0 || len > sink->max - sink->written ||
        look(sink, len) != 0) {
        return 0;
    }
    n = copy_file_range(in, NULL, sink->fd, NULL, len, 0);
    if (n <= 0) {
        return 0;
    }
    count(sink, (size_t)n);
    return (size_t)n;
}

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
    sink->error = look(sink, len);
    if (sink->error != 0) {
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
        count(sink, (size_t)n);
    }

    return 0;
}

bool sink_is_full(const struct sink *sink)
{
    return sink->error == ENOSPC || sink->error == EDQUOT;
}

void sink_reason(const struct sink *sink, char *text, size_t size)
{
    if (sink->error == EFBIG) {
        snprintf(text, size, "larger than download_size (%" PRIu64 " bytes)",
                 sink->max);
    } else if (sink_is_full(sink) && sink->keep > 0) {
        snprintf(text, size, "no room: would leave less than cache.min_free");
    } else if (sink_is_full(sink)) {
        snprintf(text, size, "no room: %s", strerror(sink->error));
    } else {
        snprintf(text, size, "write: %s", strerror(sink->error));
    }
}
