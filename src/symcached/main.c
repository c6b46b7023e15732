/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcached: finds, fetches, transcodes and publishes what the nginx module
 * asks for.  This file: options, signals, start and stop.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include "clean.h"
#include "config.h"
#include "guard.h"
#include "inspect.h"
#include "jobs.h"
#include "log.h"
#include "metrics.h"
#include "remover.h"
#include "server.h"
#include "sidecar.h"
#include "source.h"
#include "sweep_main.h"
#include "ticket.h"
#include "unpack.h"

#define DEFAULT_CONFIG "/etc/symcached.json"

/* exit codes; they are API */
enum { EXIT_CONFIG = 1, EXIT_USAGE = 2, EXIT_START = 3 };

struct options {
    const char *config;
    const char *log;
    bool test;
};

struct daemon {
    struct options options;
    struct event_base *base;
    struct sources *sources;
    struct jobs *jobs;
    struct clean *clean;
    struct server *server;
    struct event *signals[4];
    bool stopping;
};

static const char usage[] =
    "usage: symcached [-c FILE] [-l LOGFILE] [-t] [-v] [-V] [-h]\n"
    "       symcached --clean [--dry-run] [--json] [-c FILE]\n"
    "  -c FILE     configuration (default: " DEFAULT_CONFIG ")\n"
    "  -l LOGFILE  log to a file instead of stderr\n"
    "  -t          check the configuration and exit\n"
    "  -v          log every step of a job\n"
    "  -V          print the version and exit\n"
    "  -h          print this and exit\n"
    "signals: TERM, INT stop; HUP reloads; USR1 reopens the log\n"
    "exit: 0 done, 1 configuration, 2 usage, 3 cannot start\n";

/* Returns -1 to go on, or an exit code. */
static int read_options(int argc, char **argv, struct options *o)
{
    int c;

    o->config = DEFAULT_CONFIG;
    while ((c = getopt(argc, argv, "c:l:tvVh")) != -1) {
        switch (c) {
        case 'c':
            o->config = optarg;
            break;
        case 'l':
            o->log = optarg;
            break;
        case 't':
            o->test = true;
            break;
        case 'v':
            log_set_level(LOG_LEVEL_DEBUG);
            break;
        case 'V':
            puts("symcached " SYMCACHED_VERSION);
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

#define IDLE_FORMAT "store \"%s\" can make nothing: it has %s"

/* What is wrong in all likelihood, but may be meant. */
static void warn_of_stores(const struct config *config, bool test)
{
    const char *reason;
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        reason = config_store_idle(&config->stores[i]);
        if (reason == NULL) {
            continue;
        }
        if (test) {
            fprintf(stderr, "symcached: warning: " IDLE_FORMAT "\n",
                    config->stores[i].name, reason);
        } else {
            log_warn(0, IDLE_FORMAT, config->stores[i].name, reason);
        }
    }
}

static void on_drained(void *arg)
{
    struct daemon *d = arg;

    event_base_loopbreak(d->base);
}

static void stop(struct daemon *d, int signo)
{
    if (d->stopping) {
        return;
    }
    d->stopping = true;
    log_info(0, "signal %d received, stopping", signo);
    jobs_stop(d->jobs);
    server_stop(d->server, on_drained, d);
}

/* A bad file keeps the old configuration; the listener stays. */
static void reload(struct daemon *d)
{
    const struct config *old = jobs_config(d->jobs);
    struct config *config;
    char error[1024];

    if (config_read(d->options.config, &config, error, sizeof(error)) != 0) {
        metrics_add(METRIC_RELOADS_FAILED, 1);
        log_emerg(0, "%s; the old configuration stays", error);
        return;
    }

    if (strcmp(old->listen, config->listen) != 0) {
        log_warn(0, "\"listen\" takes effect at the next start");
    }
    if (jobs_configure(d->jobs, config, error, sizeof(error)) != 0) {
        metrics_add(METRIC_RELOADS_FAILED, 1);
        log_emerg(0, "%s; the old configuration stays", error);
    } else {
        clean_configure(d->clean, config);
        warn_of_stores(config, false);
        metrics_add(METRIC_RELOADS, 1);
        log_info(0, "configuration \"%s\" reloaded", d->options.config);
    }
    config_unref(config);
}

static void on_signal(evutil_socket_t signo, short events, void *arg)
{
    struct daemon *d = arg;

    switch (signo) {
    case SIGHUP:
        if (!d->stopping) {
            reload(d);
        }
        break;
    case SIGUSR1:
        if (log_open(d->options.log) != 0) {
            log_crit(errno, "cannot reopen \"%s\"", d->options.log);
        }
        break;
    default:
        stop(d, (int)signo);
        break;
    }
}

static int catch_signals(struct daemon *d)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    size_t i;

    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        d->signals[i] = evsignal_new(d->base, numbers[i], on_signal, d);
        if (d->signals[i] == NULL || event_add(d->signals[i], NULL) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Two descriptors for each held client and then some for the jobs. */
static void raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    umask(022);
}

static void on_cleaned(void *arg)
{
    struct daemon *d = arg;

    jobs_keep_stores(d->jobs);
}

static int start(struct daemon *d, struct config *config)
{
    char error[1024] = "out of memory";

    raise_limits();
    if (guard_start() != 0) {
        log_warn(errno, "no guard: transcoders may outlive a killed helper");
    }
    d->base = server_event_base();
    if (d->base == NULL || catch_signals(d) != 0) {
        goto failed;
    }
    d->sources = sources_new(d->base);
    if (d->sources == NULL) {
        goto failed;
    }
    d->jobs = jobs_new(d->base, d->sources, config);
    if (d->jobs == NULL ||
        jobs_configure(d->jobs, config, error, sizeof(error)) != 0) {
        goto failed;
    }
    d->clean = clean_new(d->base, config, on_cleaned, d);
    if (d->clean == NULL) {
        goto failed;
    }
    d->server =
        server_new(d->base, d->jobs, config->listen, error, sizeof(error));
    if (d->server == NULL) {
        goto failed;
    }
    warn_of_stores(config, false);
    log_info(0, "symcached " SYMCACHED_VERSION " listens on %s",
             config->listen);
    return 0;

failed:
    log_emerg(0, "%s", error);
    return -1;
}

static void finish(struct daemon *d)
{
    size_t i;

    server_free(d->server);
    clean_free(d->clean);
    (void)remover_settle(); /* jobs have ended; their work folders go */
    jobs_free(d->jobs);
    if (d->sources != NULL) {
        sources_free(d->sources);
    }
    for (i = 0; i < sizeof(d->signals) / sizeof(d->signals[0]); i++) {
        if (d->signals[i] != NULL) {
            event_free(d->signals[i]);
        }
    }
    if (d->base != NULL) {
        event_base_free(d->base);
    }
}

int main(int argc, char **argv)
{
    struct daemon d = {0};
    struct config *config;
    char error[1024];
    int rc;

    if (argc > 1 && strcmp(argv[1], "--unpack") == 0) {
        return unpack_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--inspect") == 0) {
        return inspect_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--gzip") == 0) {
        return sidecar_main();
    }
    if (argc > 1 && strcmp(argv[1], "--ticket") == 0) {
        return ticket_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--sweep") == 0) {
        return sweep_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--clean") == 0) {
        return sweep_command(argc, argv, DEFAULT_CONFIG);
    }

    rc = read_options(argc, argv, &d.options);
    if (rc != -1) {
        return rc;
    }
    if (config_read(d.options.config, &config, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return EXIT_CONFIG;
    }
    if (d.options.test) {
        warn_of_stores(config, true);
        fprintf(stderr, "symcached: configuration %s is good\n",
                d.options.config);
        config_unref(config);
        return 0;
    }
    if (log_open(d.options.log) != 0) {
        fprintf(stderr, "symcached: cannot open %s: %s\n", d.options.log,
                strerror(errno));
        config_unref(config);
        return EXIT_START;
    }

    rc = start(&d, config);
    config_unref(config);
    if (rc == 0) {
        event_base_dispatch(d.base);
        log_info(0, "stopped");
    }
    finish(&d);
    return rc == 0 ? 0 : EXIT_START;
}
