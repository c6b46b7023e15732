/*
 * Copyright (C) the ngx_symcache authors
 */
#include "receipt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"
#include "room.h"

#define RECEIPT_ROOM_STEP (64 * 1024 * 1024) /* between two looks */

static bool receipt_fail(struct receipt *receipt, enum receipt_problem problem,
                         const char *reason)
{
    receipt->problem = problem;
    snprintf(receipt->reason, sizeof(receipt->reason), "%s", reason);
    return false;
}

static bool receipt_reserve(struct receipt *receipt, uint64_t bytes)
{
    char reason[sizeof(receipt->reason)];

    receipt->looked = receipt->resume.have;
    if (room_reserve(receipt->fd, bytes, receipt->cache, reason,
                     sizeof(reason)) != 0) {
        metrics_add(METRIC_FETCH_NO_ROOM, 1);
        return receipt_fail(receipt, RECEIPT_NO_ROOM, reason);
    }
    return true;
}

bool receipt_begin(struct receipt *receipt, const char *url, int64_t length)
{
    if (ftruncate(receipt->fd, 0) != 0 ||
        lseek(receipt->fd, 0, SEEK_SET) != 0) {
        return receipt_fail(receipt, RECEIPT_FAILED, strerror(errno));
    }
    resume_begin(&receipt->resume, url, length);
    return receipt_reserve(receipt, length > 0 ? (uint64_t)length : 0);
}

bool receipt_continue(struct receipt *receipt)
{
    return resume_fits(&receipt->resume) ||
           receipt_fail(receipt, RECEIPT_RANGE,
                        "not the range that was asked for");
}

bool receipt_write(struct receipt *receipt, const void *data, size_t len)
{
    struct resume *resume = &receipt->resume;
    const char *p = data;
    ssize_t written;

    if (len > receipt->max - resume->have) {
        return receipt_fail(receipt, RECEIPT_TOO_LARGE, "");
    }
    if (resume->have - receipt->looked >= RECEIPT_ROOM_STEP &&
        !receipt_reserve(receipt, 0)) {
        return false;
    }

    while (len > 0) {
        written = write(receipt->fd, p, len);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return receipt_fail(receipt, RECEIPT_FAILED, strerror(errno));
        }
        p += written;
        len -= (size_t)written;
        resume->have += (uint64_t)written;
    }
    return true;
}

void receipt_judge(const struct receipt *receipt, struct verdict *verdict)
{
    if (receipt->problem == RECEIPT_TOO_LARGE) {
        verdict_say(verdict, SOURCE_UNUSABLE, false, "");
        snprintf(verdict->detail, sizeof(verdict->detail),
                 "larger than %" PRIu64 " bytes", receipt->max);
    } else {
        verdict_say(verdict, SOURCE_FAILED, receipt->problem == RECEIPT_RANGE,
                    receipt->reason);
    }
}
