/*
 * Copyright (C) the ngx_symcache authors
 */

#include "daemon_start.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"
#include "release.h"
#include "stdout_end.h"

int daemon_options_read(struct daemon_options *options, int argc, char **argv,
                        const char *name, const char *usage)
{
    static const struct option long_options[] = {
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "c:l:tvVh", long_options, NULL)) !=
           -1) {
        switch (c) {
        case 'c':
            options->config = optarg;
            break;
        case 'l':
            options->log = optarg;
            break;
        case 't':
            options->test = true;
            break;
        case 'v':
            options->verbose = true;
            log_set_level(LOG_LEVEL_DEBUG);
            break;
        case 'V':
            printf("%s %s\n", name, SYMCACHED_VERSION);
            return stdout_end(name, 0, EXIT_START);
        case 'h':
            fputs(usage, stdout);
            return stdout_end(name, 0, EXIT_START);
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    return -1;
}

int daemon_open_log(const struct daemon_options *options, const char *name)
{
    if (log_open(options->log) != 0) {
        fprintf(stderr, "%s: cannot open %s: %s\n", name, options->log,
                strerror(errno));
        return -1;
    }
    return 0;
}

void daemon_ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void daemon_forbid_core(void)
{
    static const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
}

void daemon_raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
