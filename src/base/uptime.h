/*
 * Copyright (C) the ngx_symcache authors
 *
 * How long a file was unused, counting only time in which its use would have
 * been noted.  The clock alone does not show that: it may be set wrongly, and
 * it goes on while no helper is running.  Therefore each pass of cleaning
 * compares the clock with the time for which the helper has been running.  If
 * the clock is ahead, the difference is a gap, which does not age any file.
 *
 * The time of the last pass is noted in the folder that it cleans, in
 * <root>/.clock:
 *
 *   1795235000 0123456789abcdef 86400\n      time, helper, for how long it ran
 *   1795000000 1795200000\n                  a gap; the oldest is first
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define UPTIME_FILE ".clock"

/* Seconds by which the clock may be wrong: a use is noted no more exactly. */
#define UPTIME_DRIFT 3600

/* enough for a machine that is switched off each night for two years */
#define UPTIME_GAPS 1024

struct uptime {
    time_t wall;  /* of the last pass; 0 = never, or not known */
    uint64_t run; /* which helper, by a number that it has chosen */
    uint64_t ran; /* seconds for which that helper had been running */
    size_t ngaps;
    struct uptime_gap {
        time_t from;
        time_t to;
    } gaps[UPTIME_GAPS]; /* they do not overlap; the oldest is first */
};

/* A helper, and for how long it has been running, by a monotonic clock. */
struct uptime_run {
    uint64_t id;    /* as in struct uptime; 0 = none */
    uint64_t ran;   /* seconds */
    uint64_t since; /* seconds since its last pass, or since it began */
};

/*
 * A pass begins.  Several helpers may clean the same store, so the last pass
 * may have been another helper's; it was then later than the last one of this
 * helper.  No file is older than life, in seconds.
 *
 * Returns the seconds by which the clock got ahead since the last pass, which
 * become a gap; less than 0 if the clock was set back; and 0 if it was right
 * within UPTIME_DRIFT, or if there was no pass before.
 */
long long uptime_pass(struct uptime *uptime, time_t now,
                      const struct uptime_run *run, time_t life);

/*
 * Handles a store without a last pass, in which the newest use was older than
 * its life when the helper began.  That is taken for a clock that was set, or
 * for a machine that was off.  It is called before uptime_pass().  Returns the
 * seconds of the gap, or 0.
 */
long long uptime_doubt(struct uptime *uptime, time_t newest, time_t began,
                       time_t life);

/* False where no more files can be created, because only the removal of old
 * files makes room there. */
bool uptime_may_doubt(const char *root);

/* Less than 0 for a use in the future. */
long long uptime_age(const struct uptime *uptime, time_t used, time_t now);

/* Returns false, with nothing known, if there is no file that can be read. */
bool uptime_read(struct uptime *uptime, const char *root);

/* Returns 0; or -1 with errno, and the former file stays. */
int uptime_write(const struct uptime *uptime, const char *root);
