/*
 * Copyright (C) the ngx_symcache authors
 *
 * To be preloaded: the time of day is off by as many seconds as the file that
 * CLOCK_STEP names says, eight bytes of it, which may change at any time.
 * Clocks for intervals are left alone, as a step of the real one leaves them,
 * unless CLOCK_STEP_ALL is set: then time has passed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none, *offset = &none;
static int steps_all;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("CLOCK_STEP");
    int fd = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    void *map;

    steps_all = getenv("CLOCK_STEP_ALL") != NULL;
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (fd >= 0) {
        map = mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (map != MAP_FAILED) {
            offset = map;
        }
    }
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int rc;

    if (real_clock_gettime == NULL) {
        begin();    /* a constructor that ran before ours */
    }
    rc = real_clock_gettime(id, now);
    if (rc == 0 &&
        (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ||
         (steps_all &&
          (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE)))) {
        now->tv_sec += *offset;
    }
    return rc;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    tv->tv_sec = now.tv_sec;
    tv->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
