/*
 * Copyright (C) the ngx_symcache authors
 *
 * How long a file was not used, of the time in which its use would have been
 * noted.  The clock of the day tells more than that: it is set, now and then
 * wrongly, and goes on while nobody runs.  So at each pass of cleaning it is
 * compared with how long the helper ran; what it is ahead by is a gap, which
 * counts for no file.
 *
 * Where a store was last looked at is noted in it: <root>/.clock
 *
 *   1795235000 0123456789abcdef 86400\n      time, which helper, its age
 *   1795000000 1795200000\n                  a gap; the oldest first
 */
#ifndef SYMCACHED_STORE_LIVED_H
#define SYMCACHED_STORE_LIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define LIVED_FILE ".clock"

/* The clock may go wrong by as much, in seconds, as a use is noted. */
#define LIVED_DRIFT 3600

/* more than a machine makes that is switched off each night of two years */
#define LIVED_GAPS 1024

struct lived {
    time_t wall;   /* of the last pass; 0 = never, or not known */
    uint64_t run;  /* the helper, by a number of its own */
    uint64_t ran;  /* seconds that it had run then */
    size_t ngaps;
    struct lived_gap {
        time_t from;
        time_t to;
    } gaps[LIVED_GAPS]; /* that do not overlap, the oldest first */
};

/* A helper, and what is known of its time without the clock. */
struct lived_run {
    uint64_t id;    /* see above; 0 = none */
    uint64_t ran;   /* seconds */
    uint64_t since; /* of them, those since its last pass, or all */
};

/*
 * A pass begins.  Several helpers may clean the same store: the last one may
 * be another's, and is then not older than the last of this one.  Returns the
 * seconds that the clock is ahead by since the
 * last one, which are a gap now; or below 0, if it went back; 0 within
 * LIVED_DRIFT, and where there was none.  No file lives longer than life.
 */
long long lived_pass(struct lived *lived, time_t now,
                     const struct lived_run *run, time_t life);

/*
 * There is no last pass, and when the helper began the newest use of a whole
 * store was older than its life: that is believed to be a clock that was set,
 * or a machine that was off.  Call before lived_pass(); returns the seconds of
 * the gap, or 0.
 */
long long lived_doubt(struct lived *lived, time_t newest, time_t began,
                      time_t life);

/* Not where no more files can be made: only what is old gives room there. */
bool lived_may_doubt(const char *root);

/* Below 0 for a use in the future. */
long long lived_age(const struct lived *lived, time_t used, time_t now);

/* Returns false, and knows nothing, if there is none that can be read. */
bool lived_read(struct lived *lived, const char *root);

/* Returns 0, or -1 with errno and the old one left. */
int lived_write(const struct lived *lived, const char *root);

#endif
