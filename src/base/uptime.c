/*
 * Copyright (C) the ngx_symcache authors
 */
#include "uptime.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "durable.h"
#include "plain_file.h"

#define UPTIME_FILES 16 /* the least number that can still be created */

/* gaps ------------------------------------------------------------------ */

static void drop_first(struct uptime *uptime)
{
    uptime->ngaps--;
    memmove(uptime->gaps, uptime->gaps + 1,
            uptime->ngaps * sizeof(uptime->gaps[0]));
}

static void add_uptime(struct uptime *uptime, time_t from, time_t to)
{
    struct uptime_gap *gaps = uptime->gaps;

    if (uptime->ngaps == UPTIME_GAPS) {
        /* The gap is as long as both.  Files that were used between them look
         * younger. */
        gaps[1].from -= gaps[0].to - gaps[0].from;
        drop_first(uptime);
    }
    if (uptime->ngaps > 0 && from < gaps[uptime->ngaps - 1].to) {
        from = gaps[uptime->ngaps - 1].to;
    }
    if (from < to) {
        gaps[uptime->ngaps++] = (struct uptime_gap){from, to};
    }
}

/* The clock was set back: no gap may end later than now. */
static void cut_uptime(struct uptime *uptime, time_t now)
{
    struct uptime_gap *last;

    while (uptime->ngaps > 0) {
        last = &uptime->gaps[uptime->ngaps - 1];
        if (last->to > now) {
            last->to = now;
        }
        if (last->from < last->to) {
            return;
        }
        uptime->ngaps--;
    }
}

/* The time since the last pass, as far as is known. */
static long long passed_since(const struct uptime *uptime, time_t now,
                              const struct uptime_run *run)
{
    long long by_clock = (long long)(now - uptime->wall), most;

    if (run->id == uptime->run && uptime->ran <= run->ran) {
        return (long long)(run->ran - uptime->ran);
    }
    /* That pass was another helper's, and later than the last one of ours. */
    most = (long long)run->since;
    return by_clock < 0 ? 0 : by_clock < most ? by_clock : most;
}

long long uptime_pass(struct uptime *uptime, time_t now,
                      const struct uptime_run *run, time_t life)
{
    long long passed = 0, ahead = 0;

    if (uptime->wall != 0) {
        passed = passed_since(uptime, now, run);
        ahead = (long long)(now - uptime->wall) - passed;
    }
    if (ahead > UPTIME_DRIFT) {
        add_uptime(uptime, uptime->wall, now - (time_t)passed);
    } else if (ahead < -UPTIME_DRIFT) {
        cut_uptime(uptime, now);
    } else {
        ahead = 0;
    }

    /* No file can be older than these gaps. */
    while (uptime->ngaps > 0 &&
           uptime_age(uptime, uptime->gaps[0].to, now) > life) {
        drop_first(uptime);
    }
    uptime->wall = now;
    uptime->run = run->id;
    uptime->ran = run->ran;
    return ahead;
}

long long uptime_doubt(struct uptime *uptime, time_t newest, time_t began,
                       time_t life)
{
    if (uptime->wall != 0 || newest <= 0 || began - newest <= life) {
        return 0;
    }
    add_uptime(uptime, newest, began);
    return began - newest;
}

bool uptime_may_doubt(const char *root)
{
    struct statvfs fs;

    return statvfs(root, &fs) != 0 || fs.f_files == 0 ||
           fs.f_favail >= UPTIME_FILES;
}

long long uptime_age(const struct uptime *uptime, time_t used, time_t now)
{
    const struct uptime_gap *gap;
    long long age = (long long)now - used;
    time_t from, to;
    size_t i;

    for (i = 0; i < uptime->ngaps; i++) {
        gap = &uptime->gaps[i];
        from = gap->from > used ? gap->from : used;
        to = gap->to < now ? gap->to : now;
        age -= from < to ? to - from : 0;
    }
    return age;
}

/* the file -------------------------------------------------------------- */

static void uptime_path(char path[PATH_MAX], const char *root, const char *end)
{
    snprintf(path, PATH_MAX, "%.1024s/" UPTIME_FILE "%s", root, end);
}

bool uptime_read(struct uptime *uptime, const char *root)
{
    char path[PATH_MAX];
    long long wall, from, to, last = LLONG_MIN;
    bool good;
    FILE *f;

    memset(uptime, 0, sizeof(*uptime));
    uptime_path(path, root, "");
    f = plain_file_read(path);
    if (f == NULL) {
        return false;
    }

    good = fscanf(f, "%lld %" SCNx64 " %" SCNu64, &wall, &uptime->run,
                  &uptime->ran) == 3 &&
           wall > 0;
    while (good && uptime->ngaps < UPTIME_GAPS &&
           fscanf(f, "%lld %lld", &from, &to) == 2) {
        good = last <= from && from < to && to <= wall;
        last = to;
        uptime->gaps[uptime->ngaps++] = (struct uptime_gap){from, to};
    }
    good = good && !ferror(f);
    fclose(f);

    if (good) {
        uptime->wall = wall;
    } else {
        memset(uptime, 0, sizeof(*uptime));
    }
    return good;
}

int uptime_write(const struct uptime *uptime, const char *root)
{
    char path[PATH_MAX], tmp[PATH_MAX];
    size_t i;
    FILE *f;

    uptime_path(path, root, "");
    uptime_path(tmp, root, ".new");
    f = plain_file_write(tmp);
    if (f == NULL) {
        return -1;
    }
    fprintf(f, "%lld %016" PRIx64 " %" PRIu64 "\n", (long long)uptime->wall,
            uptime->run, uptime->ran);
    for (i = 0; i < uptime->ngaps; i++) {
        fprintf(f, "%lld %lld\n", (long long)uptime->gaps[i].from,
                (long long)uptime->gaps[i].to);
    }
    return durable_close(f, tmp, path);
}
