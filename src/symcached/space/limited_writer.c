/*
 * Copyright (C) the ngx_symcache authors
 */
#include "limited_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/disk_full.h"
#include "total_size.h"

#define CHECK_BYTES (1024 * 1024) /* between two checks of free space */

static bool exceeds_lent(const struct limited_writer *writer, size_t len)
{
    return writer->lent > 0 && (writer->written > writer->lent ||
                                len > writer->lent - writer->written);
}

static int look_at_space(struct limited_writer *writer, size_t len)
{
    struct statvfs fs;
    uint64_t left;

    if (writer->keep == 0 || len <= writer->space) {
        return 0;
    }
    if (fstatvfs(writer->fd, &fs) != 0) {
        return errno;
    }

    left = (uint64_t)fs.f_bavail * fs.f_frsize;
    left = left > writer->keep ? left - writer->keep : 0;
    if (left < len) {
        return ENOSPC;
    }
    writer->space =
        left < CHECK_BYTES || len > CHECK_BYTES ? left : CHECK_BYTES;
    return 0;
}

static void count_written(struct limited_writer *writer, size_t n)
{
    writer->written += n;
    writer->space -= writer->keep > 0 ? n : 0;
}

size_t limited_writer_copy(struct limited_writer *writer, int in, size_t len)
{
    ssize_t n;

    if (writer->error != 0 || len > writer->max - writer->written ||
        exceeds_lent(writer, len) || look_at_space(writer, len) != 0) {
        return 0;
    }
    n = copy_file_range(in, NULL, writer->fd, NULL, len, 0);
    if (n <= 0) {
        return 0;
    }
    count_written(writer, (size_t)n);
    return (size_t)n;
}

int limited_writer_write(struct limited_writer *writer, const void *data,
                         size_t len)
{
    const uint8_t *p = data;
    ssize_t n;

    if (writer->error != 0) {
        return -1;
    }
    if (len > writer->max - writer->written) {
        writer->error = EFBIG;
        return -1;
    }
    writer->over = exceeds_lent(writer, len);
    writer->error = writer->over ? EDQUOT : look_at_space(writer, len);
    if (writer->error != 0) {
        return -1;
    }

    while (len > 0) {
        n = write(writer->fd, p, len);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            /* RLIMIT_FSIZE, or the file system's own limit */
            writer->error = errno == EFBIG ? EOVERFLOW : errno;
            return -1;
        }
        p += n;
        len -= (size_t)n;
        count_written(writer, (size_t)n);
    }

    return 0;
}

bool limited_writer_is_full(const struct limited_writer *writer)
{
    return disk_is_full(writer->error);
}

void limited_writer_reason(const struct limited_writer *writer, char *text,
                           size_t size)
{
    if (writer->error == EFBIG) {
        snprintf(text, size, "larger than download_size (%" PRIu64 " bytes)",
                 writer->max);
    } else if (writer->error == EOVERFLOW) {
        snprintf(text, size,
                 "larger than symcached may write: ulimit -f, LimitFSIZE= or "
                 "the file system");
    } else if (writer->over) {
        snprintf(text, size, TOTAL_NONE);
    } else if (limited_writer_is_full(writer) && writer->keep > 0) {
        snprintf(text, size, "no room: would leave less than cache.min_free");
    } else if (limited_writer_is_full(writer)) {
        snprintf(text, size, "no room: %s", strerror(writer->error));
    } else {
        snprintf(text, size, "write: %s", strerror(writer->error));
    }
}
