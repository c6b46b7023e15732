/*
 * Copyright (C) the ngx_symcache authors
 *
 * What /proc tells is read from descriptors that were opened at the start, as a
 * sandboxed daemon cannot open them.
 */

#include "metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static time_t started;
static struct rlimit descriptors;
static int statm = -1;
static DIR *fds; /* or NULL */
static pthread_mutex_t fds_lock = PTHREAD_MUTEX_INITIALIZER;

void metrics_process_start(void)
{
    started = time(NULL);
    getrlimit(RLIMIT_NOFILE, &descriptors);
    statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    fds = opendir("/proc/self/fd");
}

static void print_process_metric(struct evbuffer *buf, const char *name,
                                 const char *type, const char *help,
                                 double value)
{
    evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name,
                        help, name, type, name, value);
}

static double seconds(const struct timeval *tv)
{
    return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static void print_memory(struct evbuffer *buf)
{
    double page = (double)sysconf(_SC_PAGESIZE);
    unsigned long long all, resident;
    char text[128];
    ssize_t n = pread(statm, text, sizeof(text) - 1, 0);

    if (n <= 0) {
        return;
    }
    text[n] = '\0';
    if (sscanf(text, "%llu %llu", &all, &resident) == 2) {
        print_process_metric(buf, "process_virtual_memory_bytes", "gauge",
                             "Virtual memory size in bytes.",
                             (double)all * page);
        print_process_metric(buf, "process_resident_memory_bytes", "gauge",
                             "Resident memory size in bytes.",
                             (double)resident * page);
    }
}

static void print_descriptors(struct evbuffer *buf)
{
    const struct dirent *entry;
    unsigned n = 0;

    if (fds != NULL) {
        pthread_mutex_lock(&fds_lock);
        rewinddir(fds);
        while ((entry = readdir(fds)) != NULL) {
            n += entry->d_name[0] != '.';
        }
        pthread_mutex_unlock(&fds_lock);
        print_process_metric(buf, "process_open_fds", "gauge",
                             "Number of open file descriptors.", n);
    }
    print_process_metric(buf, "process_max_fds", "gauge",
                         "Maximum number of open file descriptors.",
                         (double)descriptors.rlim_cur);
}

void metrics_print_process(struct evbuffer *buf)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        print_process_metric(
            buf, "process_cpu_seconds_total", "counter",
            "Total user and system CPU time spent in seconds.",
            seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
    }
    print_memory(buf);
    print_descriptors(buf);
    print_process_metric(
        buf, "process_start_time_seconds", "gauge",
        "Start time of the process since unix epoch in seconds.",
        (double)started);
}
