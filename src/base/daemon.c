/*
 * Copyright (C) the ngx_symcache authors
 */

#include "daemon.h"

#include <stdio.h>
#include <unistd.h>

#include "log.h"
#include "release.h"

int daemon_options_read(struct daemon_options *options, int argc, char **argv,
                        const char *name, const char *usage)
{
    int c;

    while ((c = getopt(argc, argv, "c:l:tvVh")) != -1) {
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
            log_set_level(LOG_LEVEL_DEBUG);
            break;
        case 'V':
            printf("%s %s\n", name, SYMCACHED_VERSION);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
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
