/*
 * Copyright (C) the ngx_symcache authors
 */
#include "uptime.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/durable.h"

#define LIVED_FILES 16 /* the least number that can still be created */

/* gaps ------------------------------------------------------------------ */

static void drop_first(struct lived *lived)
{
    lived->ngaps--;
    memmove(lived->gaps, lived->gaps + 1,
            lived->ngaps * sizeof(lived->gaps[0]));
}

static void add(struct lived *lived, time_t from, time_t to)
{
    struct lived_gap *gaps = lived->gaps;

    if (lived->ngaps == LIVED_GAPS) {
        /* The gap is as long as both.  What was used between them looks
         * younger. */
        gaps[1].from -= gaps[0].to - gaps[0].from;
        drop_first(lived);
    }
    if (lived->ngaps > 0 && from < gaps[lived->ngaps - 1].to) {
        from = gaps[lived->ngaps - 1].to;
    }
    if (from < to) {
        gaps[lived->ngaps++] = (struct lived_gap){from, to};
    }
}

/* The clock was set back: no gap may end later than now. */
static void cut(struct lived *lived, time_t now)
{
    struct lived_gap *last;

    while (lived->ngaps > 0) {
        last = &lived->gaps[lived->ngaps - 1];
        if (last->to > now) {
            last->to = now;
        }
        if (last->from < last->to) {
            return;
        }
        lived->ngaps--;
    }
}

/* The time since the last pass, as far as is known. */
static long long passed_since(const struct lived *lived, time_t now,
                              const struct lived_run *run)
{
    long long by_clock = (long long)(now - lived->wall), most;

    if (run->id == lived->run && lived->ran <= run->ran) {
        return (long long)(run->ran - lived->ran);
    }
    /* That pass was another helper's, and later than the last one of ours. */
    most = (long long)run->since;
    return by_clock < 0 ? 0 : by_clock < most ? by_clock : most;
}

long long lived_pass(struct lived *lived, time_t now,
                     const struct lived_run *run, time_t life)
{
    long long passed = 0, ahead = 0;

    if (lived->wall != 0) {
        passed = passed_since(lived, now, run);
        ahead = (long long)(now - lived->wall) - passed;
    }
    if (ahead > LIVED_DRIFT) {
        add(lived, lived->wall, now - (time_t)passed);
    } else if (ahead < -LIVED_DRIFT) {
        cut(lived, now);
    } else {
        ahead = 0;
    }

    /* No file can be older than these gaps. */
    while (lived->ngaps > 0 &&
           lived_age(lived, lived->gaps[0].to, now) > life) {
        drop_first(lived);
    }
    lived->wall = now;
    lived->run = run->id;
    lived->ran = run->ran;
    return ahead;
}

long long lived_doubt(struct lived *lived, time_t newest, time_t began,
                      time_t life)
{
    if (lived->wall != 0 || newest <= 0 || began - newest <= life) {
        return 0;
    }
    add(lived, newest, began);
    return began - newest;
}

bool lived_may_doubt(const char *root)
{
    struct statvfs fs;

    return statvfs(root, &fs) != 0 || fs.f_files == 0 ||
           fs.f_favail >= LIVED_FILES;
}

long long lived_age(const struct lived *lived, time_t used, time_t now)
{
    const struct lived_gap *gap;
    long long age = (long long)now - used;
    time_t from, to;
    size_t i;

    for (i = 0; i < lived->ngaps; i++) {
        gap = &lived->gaps[i];
        from = gap->from > used ? gap->from : used;
        to = gap->to < now ? gap->to : now;
        age -= from < to ? to - from : 0;
    }
    return age;
}

/* the file -------------------------------------------------------------- */

static void path_of(char path[PATH_MAX], const char *root, const char *end)
{
    snprintf(path, PATH_MAX, "%.1024s/" LIVED_FILE "%s", root, end);
}

bool lived_read(struct lived *lived, const char *root)
{
    char path[PATH_MAX];
    long long wall, from, to, last = LLONG_MIN;
    bool good;
    FILE *f;

    memset(lived, 0, sizeof(*lived));
    path_of(path, root, "");
    f = fopen(path, "re");
    if (f == NULL) {
        return false;
    }

    good = fscanf(f, "%lld %" SCNx64 " %" SCNu64, &wall, &lived->run,
                  &lived->ran) == 3 &&
           wall > 0;
    while (good && lived->ngaps < LIVED_GAPS &&
           fscanf(f, "%lld %lld", &from, &to) == 2) {
        good = last <= from && from < to && to <= wall;
        last = to;
        lived->gaps[lived->ngaps++] = (struct lived_gap){from, to};
    }
    good = good && !ferror(f);
    fclose(f);

    if (good) {
        lived->wall = wall;
    } else {
        memset(lived, 0, sizeof(*lived));
    }
    return good;
}

int lived_write(const struct lived *lived, const char *root)
{
    char path[PATH_MAX], tmp[PATH_MAX];
    size_t i;
    FILE *f;

    path_of(path, root, "");
    path_of(tmp, root, ".new");
    f = fopen(tmp, "we");
    if (f == NULL) {
        return -1;
    }
    fprintf(f, "%lld %016" PRIx64 " %" PRIu64 "\n", (long long)lived->wall,
            lived->run, lived->ran);
    for (i = 0; i < lived->ngaps; i++) {
        fprintf(f, "%lld %lld\n", (long long)lived->gaps[i].from,
                (long long)lived->gaps[i].to);
    }
    return durable_close(f, tmp, path);
}
