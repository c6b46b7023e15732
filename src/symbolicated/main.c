/*
 * Copyright (C) the ngx_symcache authors
 *
 * symbolicated: turns addresses into names, from the SymCaches of the stores
 * that symcached fills.  This file: options, signals, start and stop.
 */

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
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
#include "base/spool.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "sandbox/sandbox.h"
#include "worker_pool/worker_pool.h"
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
    int spool;     /* the folder of large bodies, open; -1: there is none */
    char spool_path[PATH_MAX];
    struct status_reporter *status_reporter;
    struct config_watch *watch;
    struct event *trim;
    struct event *restart;
    size_t files_allowed;
    bool stopping;
    bool needs_restart;
};

static const char usage[] =
    "usage: symbolicated [-c FILE] [-l LOGFILE] [-t] [-v] [-V] [-h]\n"
    "  -c FILE     configuration (default: " DEFAULT_CONFIG ")\n"
    "  -l LOGFILE  log to a file instead of stderr\n"
    "  -t          check the configuration and exit\n"
    "  -v          log more\n"
    "  -V          print the version and exit\n"
    "  -h          print this and exit\n"
    "signals: TERM, INT stop; HUP reloads; USR1 reopens the log\n"
    "exit: 0 done, 1 configuration, 2 usage, 71 cannot start, or not go on\n";

static void stop_daemon(struct symbolicated_daemon *d, int signo)
{
    if (!d->stopping) {
        d->stopping = true;
        service_stopping();
        log_info(0, "signal %d received, stopping", signo);
        event_base_loopbreak(d->base);
    }
}

static void set_limits(struct symbolicated_daemon *d)
{
    const struct symbolication_limits_config *limits =
        &d->settings->symbolication->limits;

    size_t files = d->files_allowed;

    if (limits->files > files) {
        log_warn(0,
                 "\"symbolication.limits.files\" is more than this machine "
                 "allows (vm.max_map_count, memory): it is taken as %zu",
                 files);
    } else if (limits->files > 0) {
        files = limits->files;
    }
    mapped_modules_limit(d->workers.mapped, files, limits->files_size);
}

/* Returns NULL, or why the old configuration stays. */
static const char *reload_settings(struct symbolicated_daemon *d, char *error,
                                   size_t size)
{
    struct settings *settings;
    struct config *config;
    unsigned i;

    if (config_read(d->options.config, NULL, &config, error, size) != 0) {
        return error;
    }
    settings = settings_new(config, true, error, size);
    config_unref(config);
    if (settings == NULL) {
        return error;
    }
    if (strcmp(settings->symbolication->listen,
               d->settings->symbolication->listen) != 0) {
        log_warn(0, "\"symbolication.listen\" takes effect at the next start");
    }
    if (!config_same_text(settings->symbolication->spool,
                          d->settings->symbolication->spool)) {
        log_warn(0, "\"symbolication.spool\" takes effect at the next start");
    }
    if (settings->symbolication->threads !=
        d->settings->symbolication->threads) {
        log_warn(0, "\"symbolication.threads\" takes effect at the next start");
    }
    if (!config_same_tenants(&settings->symbolication->symbolicator,
                             &d->settings->symbolication->symbolicator)) {
        log_warn(0, "\"symbolication.symbolicator.tenants\" takes effect at "
                    "the next start");
    }
    settings_unref(d->settings);
    d->settings = settings;
    set_limits(d);
    for (i = 0; i < d->workers.n; i++) {
        worker_configure(d->workers.list[i], settings);
    }
    status_reporter_configure(d->status_reporter, settings);
    config_watch_reloaded(d->watch, settings->config, NULL);
    return NULL;
}

/* Says wherever an operator may look that the next start would find another
 * configuration, or none. */
static void on_stale(void *arg, const char *why)
{
    struct symbolicated_daemon *d = arg;

    atomic_store(&d->workers.config_stale, why[0] != '\0');
    status_reporter_configure(d->status_reporter, d->settings);
    service_config_stale(why);
}

static void on_signal(void *arg, int signo)
{
    struct symbolicated_daemon *d = arg;
    char buf[1024];
    const char *error;

    switch (signo) {
    case SIGHUP:
        service_reloading();
        error = reload_settings(d, buf, sizeof(buf));
        if (error != NULL) {
            log_emerg(0, "%s; the old configuration stays", error);
            config_watch_reloaded(d->watch, NULL, error);
        } else {
            log_info(0, "configuration \"%s\" reloaded", d->options.config);
        }
        service_ready();
        break;
    case SIGUSR1:
        log_reopen();
        break;
    default:
        stop_daemon(d, signo);
        break;
    }
}

/* An answer has hundreds of KiB and is freed once it is sent.  malloc() would
 * give its pages back to the kernel each time, and the next answer would fault
 * them in again: 160 times for 1,000 frames.  So every thread keeps some. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

/* After bodies of thousands of clients, free memory lies between blocks in
 * use, and only this call gives it back. */
static void on_trim(evutil_socket_t fd, short what, void *arg)
{
    malloc_trim(0);
}

/* Without its folder, a body has its place in memory, as where none is
 * configured.  The descriptor stays open: a thread that is about to make a
 * file with it must not meet another one of that number. */
static void check_spool(struct symbolicated_daemon *d)
{
    if (d->spool == -1 || !directory_is_replaced(d->spool, d->spool_path)) {
        return;
    }
    spool_folder(-1);
    d->spool = -1;
    log_error(0,
              "\"symbolication.spool\": %s is another folder than at the "
              "start, which cannot be opened from the sandbox: large bodies "
              "are kept in memory until a restart",
              d->spool_path);
}

/* The next process can open, and start, what this one cannot. */
static void check_needs_restart(evutil_socket_t fd, short what, void *arg)
{
    struct symbolicated_daemon *d = arg;
    const char *why = NULL;

    check_spool(d);
    if (store_root_is_lost()) {
        why = "the folder of a store or of tenants is another one than at the "
              "start";
    } else if (spawner_is_lost()) {
        why = "the process that starts workers is gone, or hangs";
    }
    if (why != NULL && !d->stopping) {
        d->stopping = d->needs_restart = true;
        service_stopping();
        log_emerg(0, "%s: this needs a restart, stopping", why);
        event_base_loopbreak(d->base);
    }
}

static struct event *start_timer(struct symbolicated_daemon *d,
                                 unsigned seconds, event_callback_fn call)
{
    struct timeval often = {.tv_sec = (time_t)seconds};
    struct event *timer = event_new(d->base, -1, EV_PERSIST, call, d);

    if (timer != NULL && event_add(timer, &often) != 0) {
        event_free(timer);
        timer = NULL;
    }
    return timer;
}

static bool start_timers(struct symbolicated_daemon *d)
{
    d->trim = start_timer(d, TRIM_SECONDS, on_trim);
    d->restart = start_timer(d, RESTART_SECONDS, check_needs_restart);
    return d->trim != NULL && d->restart != NULL;
}

static unsigned count_threads(const struct settings *settings)
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

/* Opens the folder of large bodies, if there is one.  Returns 0, or -1 with a
 * sentence in error. */
static int open_spool(int *fd, const struct config *config, char *error,
                      size_t size)
{
    const char *path = config->symbolication.spool;

    *fd = path != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (path != NULL && *fd == -1) {
        snprintf(error, size, "symbolication.spool: %s: %s", path,
                 strerror(errno));
        return -1;
    }
    return 0;
}

/* Returns 0, or -1 with a sentence in error. */
static int use_spool(int fd, const struct config *config, char *error,
                     size_t size)
{
    if (spool_folder(fd) == 0) {
        return 0;
    }
    snprintf(error, size,
             "symbolication.spool: no file without a name can be made in %s: "
             "%s%s",
             config->symbolication.spool, strerror(errno),
             errno == EOPNOTSUPP ? ", by its file system" : "");
    return -1;
}

/* Tells whether the configuration could be used. */
static int test_config(const struct config *config)
{
    char error[1024];
    int fd, rc = open_spool(&fd, config, error, sizeof(error));

    rc = rc == 0 ? use_spool(fd, config, error, sizeof(error)) : rc;
    if (rc == 0) {
        fprintf(stderr, "symbolicated: configuration %s is good\n",
                config->file);
    } else {
        fprintf(stderr, "symbolicated: %s\n", error);
    }
    return rc == 0 ? 0 : EXIT_CONFIG;
}

static int enter_sandbox(struct symbolicated_daemon *d, char *error,
                         size_t size)
{
    struct daemon_sandbox allowed = {
        .spool = d->spool,
        .config = d->options.config,
        .log = d->options.log,
        .socket = d->listener.path,
        .port = helper_port(d->settings),
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
static int start_spawner(struct symbolicated_daemon *d, char *error,
                         size_t size)
{
    static char *const argv[] = {"symbolicated-worker", "--serve", NULL};
    unsigned n = count_threads(d->settings);

    d->spawners = calloc(n + 1, sizeof(d->spawners[0]));
    if (d->spawners == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    if (spawner_start(argv, d->spawners, n + 1, error, size) != 0) {
        return -1;
    }
    d->nspawners = n;
    demangler_start(d->spawners[n]);
    return 0;
}

static int start_workers(struct symbolicated_daemon *d, char *error,
                         size_t size)
{
    unsigned i, n = d->nspawners;
    int rc = 0;

    d->workers.list = calloc(n, sizeof(d->workers.list[0]));
    if (d->workers.list == NULL) {
        return -1;
    }
    d->workers.n = n;
    for (i = 0; i < n; i++) {
        d->workers.list[i] =
            worker_new(&d->workers, d->spawners[i], d->settings);
        if (d->workers.list[i] == NULL) {
            snprintf(error, size, "out of memory or descriptors");
            return -1;
        }
    }
    for (i = 0; i < n && rc == 0; i++) {
        rc = worker_start(d->workers.list[i]);
    }
    if (rc != 0) {
        snprintf(error, size, "cannot start a thread: %s", strerror(rc));
    }
    return rc == 0 ? 0 : -1;
}

static bool are_alive(void *arg, unsigned ms)
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

static int start_daemon(struct symbolicated_daemon *d, struct config *config)
{
    char error[1024] = "out of memory";

    daemon_ignore_signals();
    daemon_raise_descriptors();
    daemon_forbid_core();
    metrics_process_start();
    service_start();
    keep_freed_memory();
    d->settings = settings_new(config, false, error, sizeof(error));
    /* first, so that it does not keep the listener when the daemon is killed */
    if (d->settings == NULL || start_spawner(d, error, sizeof(error)) != 0 ||
        listener_open(&d->listener, d->settings->symbolication->listen, 0666,
                      error, sizeof(error)) != 0) {
        goto failed;
    }
    d->workers.listener = d->listener.fd;
    d->workers.started = time(NULL);
    d->workers.mapped = mapped_modules_new();
    d->files_allowed = mapped_modules_allowed();
    d->base = event_base_new();
    if (d->base != NULL) {
        d->status_reporter =
            status_reporter_new(d->base, &d->workers, d->settings);
        d->watch = config_watch_new(d->base, config, on_stale, d);
    }
    if (d->workers.mapped == NULL || d->status_reporter == NULL ||
        d->watch == NULL ||
        open_spool(&d->spool, config, error, sizeof(error)) != 0 ||
        enter_sandbox(d, error, sizeof(error)) != 0 ||
        use_spool(d->spool, config, error, sizeof(error)) != 0) {
        goto failed;
    }
    if (d->spool != -1) {
        snprintf(d->spool_path, sizeof(d->spool_path), "%s",
                 config->symbolication.spool);
    }
    if (sigbus_start() != 0 || signals_start(d->base, on_signal, d) != 0) {
        snprintf(error, sizeof(error), "%s", strerror(errno));
        goto failed;
    }
    if (log_start() != 0) {
        log_warn(errno, "a log that cannot be written will stop the daemon");
    }
    set_limits(d);
    if (!start_timers(d) || start_workers(d, error, sizeof(error)) != 0 ||
        service_watch(d->base, are_alive, &d->workers) != 0) {
        goto failed;
    }
    service_close_rest();
    log_info(0,
             "symbolicated " SYMCACHED_VERSION " listens on %s, threads: %u",
             d->settings->symbolication->listen, d->workers.n);
    service_ready();
    return 0;

failed:
    log_emerg(0, "%s", error);
    return -1;
}

static void finish_daemon(struct symbolicated_daemon *d)
{
    unsigned i;

    listener_unlink(&d->listener);
    config_watch_free(d->watch);
    status_reporter_free(d->status_reporter);
    for (i = 0; i < d->workers.n && d->workers.list[i] != NULL; i++) {
        worker_stop(d->workers.list[i]);
    }
    for (i = 0; i < d->workers.n; i++) {
        worker_join(d->workers.list[i]);
    }
    for (i = 0; i < d->workers.n; i++) {
        worker_free(d->workers.list[i]);
    }
    free(d->workers.list);
    free(d->spawners);
    pending_calls_clear();
    demangler_stop();
    /* d->workers.mapped stays: a thread may still look at a slow disk */
    settings_unref(d->settings);
    signals_stop();
    service_end();
    event_drop(d->trim);
    event_drop(d->restart);
    if (d->base != NULL) {
        symcached_client_end(d->base);
        event_base_free(d->base);
    }
}

int main(int argc, char **argv)
{
    static struct symbolicated_daemon d = {.listener = {.fd = -1},
                                           .spool = -1};
    struct config *config;
    char error[1024];
    int rc;

    signals_delay();
    d.options.config = DEFAULT_CONFIG;
    rc = daemon_options_read(&d.options, argc, argv, "symbolicated", usage);
    if (rc != -1) {
        return rc;
    }
    if (config_read(d.options.config, NULL, &config, error, sizeof(error)) !=
        0) {
        fprintf(stderr, "symbolicated: %s\n", error);
        return EXIT_CONFIG;
    }
    if (d.options.test) {
        rc = test_config(config);
        config_unref(config);
        return rc;
    }
    if (daemon_open_log(&d.options, "symbolicated") != 0) {
        config_unref(config);
        return EXIT_START;
    }

    rc = start_daemon(&d, config);
    config_unref(config);
    if (rc == 0) {
        event_base_dispatch(d.base);
    }
    finish_daemon(&d);
    if (rc == 0) {
        log_info(0, "stopped");
    }
    return rc == 0 && !d.needs_restart ? 0 : EXIT_START;
}
