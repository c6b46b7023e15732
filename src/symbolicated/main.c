/*
 * Copyright (C) the ngx_symcache authors
 *
 * symbolicated: turns addresses into names, from the SymCaches of the stores
 * that symcached fills.  This file: options, signals, start and stop.
 */

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/daemon_start.h"
#include "base/event.h"
#include "base/log.h"
#include "base/release.h"
#include "base/service_manager.h"
#include "base/signals.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "sandbox/sandbox.h"
#include "worker_pool/worker_pool.h"
#include "body_folder.h"
#include "demangler.h"
#include "symbolicated/calls/pending_calls.h"
#include "symbolicated/search/symcached_client.h"
#include "status_reporter.h"
#include "store_roots.h"
#include "worker_thread.h"

#define TRIM_SECONDS 60
#define RESTART_SECONDS 5

#define DEFAULT_CONFIG "/etc/symcached.json"

struct symbolicated_daemon {
    struct daemon_options options;
    struct event_base *base;
    struct settings *settings;
    struct listener listener;
    struct workers workers;
    int *spawners; /* a socket for each thread, by which it has workers */
    unsigned nspawners;
    struct status_reporter *status_reporter;
    struct config_watch *watch;
    struct event *trim;
    struct event *restart;
    size_t files_allowed;
    bool stopping;
    bool needs_restart;
};

static const char daemon_usage[] =
    "usage: symbolicated [-c FILE] [-l LOGFILE] [-t] [-v] [-V] [-h]\n"
    "  -c FILE     configuration (default: " DEFAULT_CONFIG ")\n"
    "  -l LOGFILE  log to a file instead of stderr\n"
    "  -t          check the configuration and exit\n"
    "  -v          log more\n"
    "  -V, --version  print the version and exit\n"
    "  -h, --help     print this and exit\n"
    "signals: TERM, INT stop; HUP reloads; USR1 reopens the log\n"
    "exit: 0 done, 1 configuration, 2 usage, 71 cannot start, or not go on\n";

static void stop_daemon(struct symbolicated_daemon *daemon, int signo)
{
    if (!daemon->stopping) {
        daemon->stopping = true;
        service_stopping();
        log_info(0, "signal %d received, stopping", signo);
        event_base_loopbreak(daemon->base);
    }
}

static void limit_daemon(struct symbolicated_daemon *daemon)
{
    const struct symbolication_limits_config *limits =
        &daemon->settings->symbolication->limits;

    size_t files = daemon->files_allowed;

    if (limits->files > files) {
        log_warn(0,
                 "\"symbolication.limits.files\" is more than this machine "
                 "allows (vm.max_map_count, memory): it is taken as %zu",
                 files);
    } else if (limits->files > 0) {
        files = limits->files;
    }
    mapped_modules_limit(daemon->workers.mapped, files, limits->files_size);
}

/* Returns NULL, or why the old configuration stays. */
static const char *reload_daemon(struct symbolicated_daemon *daemon,
                                 char *error, size_t size)
{
    struct settings *settings;
    struct config *config;
    unsigned i;

    if (config_read(daemon->options.config, NULL, &config, error, size) != 0) {
        return error;
    }
    settings = settings_new(config, true, error, size);
    config_unref(config);
    if (settings == NULL) {
        return error;
    }
    if (strcmp(settings->symbolication->listen,
               daemon->settings->symbolication->listen) != 0) {
        log_warn(0, "\"symbolication.listen\" takes effect at the next start");
    }
    if (!config_same_text(settings->symbolication->spool,
                          daemon->settings->symbolication->spool)) {
        log_warn(0, "\"symbolication.spool\" takes effect at the next start");
    }
    if (settings->symbolication->threads !=
        daemon->settings->symbolication->threads) {
        log_warn(0, "\"symbolication.threads\" takes effect at the next start");
    }
    if (!config_same_tenants(&settings->symbolication->symbolicator,
                             &daemon->settings->symbolication->symbolicator)) {
        log_warn(0, "\"symbolication.symbolicator.tenants\" takes effect at "
                    "the next start");
    }
    settings_unref(daemon->settings);
    daemon->settings = settings;
    limit_daemon(daemon);
    for (i = 0; i < daemon->workers.n; i++) {
        worker_configure(daemon->workers.list[i], settings);
    }
    status_reporter_configure(daemon->status_reporter, settings);
    config_watch_reloaded(daemon->watch, settings->config, NULL);
    return NULL;
}

/* Says wherever an operator may look that the next start would find another
 * configuration, or none. */
static void on_stale_config(void *arg, const char *why)
{
    struct symbolicated_daemon *daemon = arg;

    atomic_store(&daemon->workers.config_stale, why[0] != '\0');
    status_reporter_configure(daemon->status_reporter, daemon->settings);
    service_config_stale(why);
}

static void signal_daemon(void *arg, int signo)
{
    struct symbolicated_daemon *daemon = arg;
    char buf[1024];
    const char *error;

    switch (signo) {
    case SIGHUP:
        service_reloading();
        error = reload_daemon(daemon, buf, sizeof(buf));
        if (error != NULL) {
            log_emerg(0, "%s; the old configuration stays", error);
            config_watch_reloaded(daemon->watch, NULL, error);
        } else {
            log_info(0, "configuration \"%s\" reloaded",
                     daemon->options.config);
        }
        service_ready();
        break;
    case SIGUSR1:
        log_reopen();
        break;
    default:
        stop_daemon(daemon, signo);
        break;
    }
}

/* An answer has hundreds of KiB and is freed once it is sent.  malloc() would
 * give its pages back to the kernel each time, and the next answer would fault
 * them in again: 160 times for 1,000 frames.  So every thread keeps some. */
static void keep_daemon_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

/* After bodies of thousands of clients, free memory lies between blocks in
 * use, and only this call gives it back. */
static void trim_daemon_memory(evutil_socket_t fd, short what, void *arg)
{
    malloc_trim(0);
}

/* The next process can open, and start, what this one cannot. */
static void check_needs_restart(evutil_socket_t fd, short what, void *arg)
{
    struct symbolicated_daemon *daemon = arg;
    const char *why = NULL;

    body_folder_check();
    if (store_root_is_lost()) {
        why = "the folder of a store or of tenants is another one than at the "
              "start";
    } else if (spawner_is_lost()) {
        why = "the process that starts workers is gone, or hangs";
    }
    if (why != NULL && !daemon->stopping) {
        daemon->stopping = daemon->needs_restart = true;
        service_stopping();
        log_emerg(0, "%s: this needs a restart, stopping", why);
        event_base_loopbreak(daemon->base);
    }
}

static struct event *start_daemon_timer(struct symbolicated_daemon *daemon,
                                        unsigned seconds,
                                        event_callback_fn call)
{
    struct timeval often = {.tv_sec = (time_t)seconds};
    struct event *timer =
        event_new(daemon->base, -1, EV_PERSIST, call, daemon);

    if (timer != NULL && event_add(timer, &often) != 0) {
        event_free(timer);
        timer = NULL;
    }
    return timer;
}

static bool start_timers(struct symbolicated_daemon *daemon)
{
    daemon->trim =
        start_daemon_timer(daemon, TRIM_SECONDS, trim_daemon_memory);
    daemon->restart =
        start_daemon_timer(daemon, RESTART_SECONDS, check_needs_restart);
    return daemon->trim != NULL && daemon->restart != NULL;
}

static unsigned count_daemon_threads(const struct settings *settings)
{
    cpu_set_t set;
    int n;

    if (settings->symbolication->threads > 0) {
        return settings->symbolication->threads;
    }
    n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? (unsigned)n : 1;
}

/* The port of symcached, or 0: its socket is a file. */
static unsigned helper_port(const struct settings *settings)
{
    const struct sockaddr_storage *address = &settings->helper.address;

    switch (address->ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    default:
        return 0;
    }
}

/* Tells whether the configuration could be used. */
static int test_daemon_config(const struct config *config)
{
    char error[1024];
    int rc = body_folder_open(config, error, sizeof(error));

    rc = rc == 0 ? body_folder_use(error, sizeof(error)) : rc;
    if (rc == 0) {
        fprintf(stderr, "symbolicated: configuration %s is good\n",
                config->file);
    } else {
        fprintf(stderr, "symbolicated: %s\n", error);
    }
    return rc == 0 ? 0 : EXIT_CONFIG;
}

static int enter_sandbox(struct symbolicated_daemon *daemon, char *error,
                         size_t size)
{
    struct daemon_sandbox allowed = {
        .spool = body_folder_descriptor(),
        .config = daemon->options.config,
        .log = daemon->options.log,
        .socket = daemon->listener.path,
        .port = helper_port(daemon->settings),
    };
    int rc;

    allowed.nroots = store_roots_list(&allowed.roots);
    rc = daemon_sandbox_enter(&allowed, error, size);
    if (rc > 0) {
        log_warn(0, "this kernel has no Landlock, or it is switched off: what "
                    "takes symbolicated over can read all that its user can "
                    "read");
    }
    return rc < 0 ? -1 : 0;
}

/* Makes the process that starts others.  Returns 0, or -1 with a sentence in
 * error. */
static int start_spawner(struct symbolicated_daemon *daemon, char *error,
                         size_t size)
{
    static char *const argv[] = {"symbolicated-worker", "--serve", NULL};
    unsigned n = count_daemon_threads(daemon->settings);

    daemon->spawners = calloc(n + 1, sizeof(daemon->spawners[0]));
    if (daemon->spawners == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    if (spawner_start(argv, daemon->spawners, n + 1, error, size) != 0) {
        return -1;
    }
    daemon->nspawners = n;
    demangler_start(daemon->spawners[n]);
    return 0;
}

static int start_workers(struct symbolicated_daemon *daemon, char *error,
                         size_t size)
{
    unsigned i, n = daemon->nspawners;
    int rc = 0;

    daemon->workers.list = calloc(n, sizeof(daemon->workers.list[0]));
    if (daemon->workers.list == NULL) {
        return -1;
    }
    daemon->workers.n = n;
    for (i = 0; i < n; i++) {
        daemon->workers.list[i] = worker_new(
            &daemon->workers, daemon->spawners[i], daemon->settings);
        if (daemon->workers.list[i] == NULL) {
            snprintf(error, size, "out of memory or descriptors");
            return -1;
        }
    }
    for (i = 0; i < n && rc == 0; i++) {
        rc = worker_start(daemon->workers.list[i]);
    }
    if (rc != 0) {
        snprintf(error, size, "cannot start a thread: %s", strerror(rc));
    }
    return rc == 0 ? 0 : -1;
}

static bool workers_are_alive(void *arg, unsigned ms)
{
    const struct workers *workers = arg;
    unsigned i;

    for (i = 0; i < workers->n; i++) {
        if (!worker_is_alive(workers->list[i], ms)) {
            return false;
        }
    }
    return true;
}

static int start_daemon(struct symbolicated_daemon *daemon,
                        struct config *config)
{
    char error[1024] = "out of memory";

    daemon_ignore_signals();
    daemon_raise_descriptors();
    daemon_forbid_core();
    metrics_process_start();
    service_start();
    keep_daemon_memory();
    daemon->settings = settings_new(config, false, error, sizeof(error));
    /* first, so that it does not keep the listener when the daemon is killed */
    if (daemon->settings == NULL ||
        start_spawner(daemon, error, sizeof(error)) != 0 ||
        listener_open(&daemon->listener,
                      daemon->settings->symbolication->listen, 0666, error,
                      sizeof(error)) != 0) {
        goto failed;
    }
    daemon->workers.listener = daemon->listener.fd;
    daemon->workers.started = time(NULL);
    daemon->workers.mapped = mapped_modules_new();
    daemon->files_allowed = mapped_modules_allowed();
    daemon->base = event_base_new();
    if (daemon->base != NULL) {
        daemon->status_reporter = status_reporter_new(
            daemon->base, &daemon->workers, daemon->settings);
        daemon->watch =
            config_watch_new(daemon->base, config, on_stale_config, daemon);
    }
    if (daemon->workers.mapped == NULL || daemon->status_reporter == NULL ||
        daemon->watch == NULL ||
        body_folder_open(config, error, sizeof(error)) != 0 ||
        enter_sandbox(daemon, error, sizeof(error)) != 0 ||
        body_folder_use(error, sizeof(error)) != 0) {
        goto failed;
    }
    if (sigbus_start() != 0 ||
        signals_start(daemon->base, signal_daemon, daemon) != 0) {
        snprintf(error, sizeof(error), "%s", strerror(errno));
        goto failed;
    }
    if (log_start() != 0) {
        log_warn(errno, "a log that cannot be written will stop the daemon");
    }
    limit_daemon(daemon);
    if (!start_timers(daemon) ||
        start_workers(daemon, error, sizeof(error)) != 0 ||
        service_watch(daemon->base, workers_are_alive, &daemon->workers) !=
            0) {
        goto failed;
    }
    service_close_rest();
    log_info(0,
             "symbolicated " SYMCACHED_VERSION " listens on %s, threads: %u",
             daemon->settings->symbolication->listen, daemon->workers.n);
    service_ready();
    return 0;

failed:
    log_emerg(0, "%s", error);
    return -1;
}

static void finish_daemon(struct symbolicated_daemon *daemon)
{
    unsigned i;

    listener_unlink(&daemon->listener);
    config_watch_free(daemon->watch);
    status_reporter_free(daemon->status_reporter);
    for (i = 0; i < daemon->workers.n && daemon->workers.list[i] != NULL;
         i++) {
        worker_stop(daemon->workers.list[i]);
    }
    for (i = 0; i < daemon->workers.n; i++) {
        worker_join(daemon->workers.list[i]);
    }
    for (i = 0; i < daemon->workers.n; i++) {
        worker_free(daemon->workers.list[i]);
    }
    free(daemon->workers.list);
    free(daemon->spawners);
    pending_calls_clear();
    demangler_stop();
    /* its workers.mapped stays: a thread may still look at a slow disk */
    settings_unref(daemon->settings);
    signals_stop();
    service_end();
    event_drop(daemon->trim);
    event_drop(daemon->restart);
    if (daemon->base != NULL) {
        symcached_client_end(daemon->base);
        event_base_free(daemon->base);
    }
}

int main(int argc, char **argv)
{
    static struct symbolicated_daemon daemon = {.listener = {.fd = -1}};
    struct config *config;
    char error[1024];
    int rc;

    signals_delay();
    daemon.options.config = DEFAULT_CONFIG;
    rc = daemon_options_read(&daemon.options, argc, argv, "symbolicated",
                             daemon_usage);
    if (rc != -1) {
        return rc;
    }
    if (config_read(daemon.options.config, NULL, &config, error,
                    sizeof(error)) != 0) {
        fprintf(stderr, "symbolicated: %s\n", error);
        return EXIT_CONFIG;
    }
    if (daemon.options.test) {
        rc = test_daemon_config(config);
        config_unref(config);
        return rc;
    }
    if (daemon_open_log(&daemon.options, "symbolicated") != 0) {
        config_unref(config);
        return EXIT_START;
    }

    rc = start_daemon(&daemon, config);
    config_unref(config);
    if (rc == 0) {
        event_base_dispatch(daemon.base);
    }
    finish_daemon(&daemon);
    if (rc == 0) {
        log_info(0, "stopped");
    }
    return rc == 0 && !daemon.needs_restart ? 0 : EXIT_START;
}
