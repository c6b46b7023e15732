/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcached: finds, fetches, transcodes and publishes what the nginx module
 * asks for.  This file: options, signals, start and stop.
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include "child/child.h"
#include "symcached/store/store.h"
#include "config/config.h"
#include "symcached/negcache/negcache.h"
#include "symcached/job/job.h"
#include "base/log.h"
#include "base/release.h"
#include "base/service_manager.h"
#include "metrics/metrics.h"
#include "sandbox/sandbox.h"
#include "config_reload.h"
#include "base/async_unlink.h"
#include "base/daemon_start.h"
#include "symcached/server/server.h"
#include "symcached/source/sources.h"
#include "symcached/tier/tier.h"
#include "symcached/transcode/transcode.h"
#include "symcached/space/space.h"
#include "symcached/guest/guest.h"
#include "base/signals.h"
#include "base/stat_timeout.h"
#include "base/stdout_end.h"
#include "base/task.h"
#include "symcached/fetch/fetch.h"
#include "symcached/upload_index/upload_index.h"

#define DEFAULT_CONFIG "/etc/symcached.json"

/* How long the helper waits at its end for the processes that it killed. */
#define KILL_MS 1000
#define EXIT_COMMAND 3 /* of one that does not serve: see usage */

struct symcached_daemon {
    struct daemon_options options;
    struct event_base *base;
    struct tiers *tiers;
    struct sources *sources;
    struct scheduler *scheduler;
    struct guest_process *guest_process; /* of clients' sources, or NULL */
    bool is_guest; /* this is that one */
    struct guest_options guest;
    struct guests *guests;
    struct evict *evict;
    struct server *server;
    struct config_watch *watch;
    struct task *reload; /* under way, or NULL */
    bool reload_again;
    bool stopping;
    unsigned open; /* while it stops: what has not ended */
};

static const char usage[] =
    "usage: symcached [-c FILE] [-l LOGFILE] [-t] [-v] [-V] [-h]\n"
    "       symcached --clean [--unknown] [--dry-run] [--json] [-c FILE]\n"
    "       symcached --transcoders [--init] [-c FILE] [NAME]\n"
    "       symcached --tier ls|clean|rule [OPTION...] [-c FILE] [TIER]\n"
    "  -c FILE     configuration (default: " DEFAULT_CONFIG ")\n"
    "  -l LOGFILE  log to a file instead of stderr\n"
    "  -t          check the configuration and exit\n"
    "  -v          log every step of a job\n"
    "  -V, --version  print the version and exit\n"
    "  -h, --help     print this and exit\n"
    "signals: TERM, INT stop; HUP reloads; USR1 reopens the log\n"
    "exit: 0 done, 1 configuration, 2 usage, 3 --clean or --tier failed, 71 "
    "cannot start\n";

static void print_warning(const char *text)
{
    fprintf(stderr, "symcached: warning: %s\n", text);
}

static void log_warning(const char *text)
{
    log_warn(0, "%s", text);
}

/* One line: the kinds that a store makes, and of which formats. */
static void print_makes(const struct store_config *store)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    char formats[CONFIG_FORMATS_TEXT];
    const struct transcoder_config *t;
    unsigned n = 0;
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        t = &store->transcoders[i];
        if (t->command != NULL) {
            symcache_version_print(version, &t->version);
            config_formats_print(formats, t->inputs, ", ");
            fprintf(stderr, "%s%s %s of %s", n++ > 0 ? "; " : "",
                    symcache_kind_text(t->makes), version, formats);
        }
    }
    if (n == 0) {
        fputs(store->nsources > 0 ? "nothing; it serves what its sources have"
                                  : "nothing", stderr);
    }
    fputc('\n', stderr);
}

/* Warns of uploads that were there.  Returns how many warnings that are. */
static unsigned print_lost_uploads(const struct config *config)
{
    const char *root = config->uploads.root;
    char text[PATH_MAX];
    mode_t mode;

    /* a disk that hangs would not answer this process either */
    if (root == NULL ||
        (stat_with_timeout(root, F_OK, &mode) != 0 && errno == ETIMEDOUT) ||
        root_mark_check(config) == 0) {
        return 0;
    }
    snprintf(text, sizeof(text),
             "uploads.root: \"%.1024s/" ROOT_MARK "\" was there and is "
             "missing, as if the disk were: no upload is called absent",
             root);
    print_warning(text);
    return 1;
}

/* -t */
static void print_test(const struct config *config)
{
    unsigned n = warnings_tell(config, true, print_warning) +
                 print_lost_uploads(config);
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        fprintf(stderr, "symcached: store %s makes ", config->stores[i].name);
        print_makes(&config->stores[i]);
    }

    fprintf(stderr, "symcached: configuration %s ", config->file);
    if (n == 0) {
        fputs("is good\n", stderr);
    } else {
        fprintf(stderr, "has no error, and %u warning%s\n", n,
                n == 1 ? "" : "s");
    }
}

static void on_drained(void *arg)
{
    struct symcached_daemon *daemon = arg;

    if (--daemon->open == 0) {
        event_base_loopbreak(daemon->base);
    }
}

static void stop(struct symcached_daemon *daemon, int signo)
{
    if (daemon->stopping) {
        return;
    }
    daemon->stopping = true;
    service_stopping();
    log_info(0, "signal %d received, stopping", signo);
    task_cancel(daemon->reload);
    scheduler_stop(daemon->scheduler);
    if (daemon->guests != NULL) {
        guests_stop(daemon->guests);
    }
    daemon->open = 2;
    guest_process_stop(daemon->guest_process, on_drained, daemon);
    server_stop(daemon->server, on_drained, daemon);
}

static void show_stale(bool stale)
{
    metrics_show("symcached_config_stale", "",
                 "Is the configuration in use not the file's?", stale);
}

/* Says wherever an operator may look that the next start would find another
 * configuration, or none. */
static void on_stale(void *arg, const char *why)
{
    struct symcached_daemon *daemon = arg;

    show_stale(why[0] != '\0');
    server_config_stale(daemon->server, why);
    service_config_stale(why);
}

static void keep_old(struct symcached_daemon *daemon, const char *error)
{
    metrics_add(METRIC_RELOADS_FAILED, 1);
    log_emerg(0, "%s; the old configuration stays", error);
    config_watch_reloaded(daemon->watch, NULL, error);
}

/* Uses a new configuration, but keeps the sockets of the old one. */
static void configure(struct symcached_daemon *daemon, struct config *config)
{
    const struct config *old = scheduler_config(daemon->scheduler);
    char error[1024];

    if (!config_same_text(old->listen, config->listen)) {
        log_warn(0, "\"listen\" takes effect at the next start");
    }
    if (!config_same_text(old->admin_listen, config->admin_listen)) {
        log_warn(0, "\"admin_listen\" takes effect at the next start");
    }
    if (!config_same_tenants(&old->symbolication.symbolicator,
                             &config->symbolication.symbolicator)) {
        log_warn(0, "\"symbolication.symbolicator.tenants\" takes effect at "
                    "the next start");
    }
    if (scheduler_configure(daemon->scheduler, config, error, sizeof(error)) !=
        0) {
        keep_old(daemon, error);
        return;
    }
    total_configure(config);
    evict_configure(daemon->evict, config);
    server_configure(daemon->server);
    config_watch_reloaded(daemon->watch, config, NULL);
    warnings_look(daemon->base, config, log_warning);
    metrics_add(METRIC_RELOADS, 1);
    log_info(0, "configuration \"%s\" reloaded", daemon->options.config);
}

static void reload(struct symcached_daemon *daemon);

static void on_read(void *arg, struct config *config, const char *error)
{
    struct symcached_daemon *daemon = arg;
    bool again = daemon->reload_again;

    daemon->reload = NULL;
    daemon->reload_again = false;
    if (config == NULL) {
        keep_old(daemon, error);
    } else {
        configure(daemon, config);
        config_unref(config);
    }
    if (again) {
        reload(daemon);
    } else {
        service_ready();
    }
}

/*
 * A signal that comes while the file is being read may be for a change that
 * this reading has missed, so the file is then read once more.
 */
static void reload(struct symcached_daemon *daemon)
{
    if (daemon->reload != NULL) {
        daemon->reload_again = true;
        return;
    }
    service_reloading();
    daemon->reload = config_reload_start(daemon->base, daemon->options.config,
                                         on_read, daemon);
    if (daemon->reload == NULL) {
        keep_old(daemon, strerror(errno));
        service_ready();
    }
}

static void on_signal(void *arg, int signo)
{
    struct symcached_daemon *daemon = arg;

    switch (signo) {
    case SIGHUP:
        if (!daemon->stopping) {
            reload(daemon);
        }
        break;
    case SIGUSR1:
        log_reopen();
        guest_process_reopen_log(daemon->guest_process);
        break;
    default:
        stop(daemon, signo);
        break;
    }
}

static void on_cleaned(void *arg)
{
    struct symcached_daemon *daemon = arg;

    scheduler_keep_stores(daemon->scheduler);
}

/* Are there sources of clients? */
static bool has_guests(const struct config *config)
{
    const struct symbolicator_config *symbolicator =
        &config->symbolication.symbolicator;

    return symbolicator->enabled &&
           symbolicator->sources == SYMBOLICATOR_SOURCES_ALLOW;
}

/* Starts this process's part in sources of clients. */
static int start_guests(struct symcached_daemon *daemon, struct config *config,
                        char *error, size_t size)
{
    struct tenants_config *tenants = &daemon->guest.tenants;

    if (!daemon->is_guest && has_guests(config)) {
        daemon->guest_process =
            guest_process_new(daemon->base, config, daemon->options.log,
                              daemon->options.verbose, error, size);
        return daemon->guest_process != NULL ? 0 : -1;
    }
    if (!daemon->is_guest) {
        return 0;
    }
    tenants->hosts = config->symbolication.symbolicator.tenants.hosts;
    tenants->nhosts = config->symbolication.symbolicator.tenants.nhosts;
    tenants->tier = config->symbolication.symbolicator.tenants.tier;
    daemon->guests = guests_new(daemon->base, daemon->tiers, config, tenants);
    if (daemon->guests == NULL ||
        guests_report(daemon->guests, daemon->guest.report) != 0) {
        snprintf(error, size, "\"%s\" cannot be used: %s", tenants->root,
                 strerror(errno));
        return -1;
    }
    return 0;
}

/* Which machine of a fleet is this, and of which version is it? */
static void show_info(void)
{
    char name[HOST_NAME_MAX + 1] = "", labels[HOST_NAME_MAX + 64], *c;

    gethostname(name, sizeof(name) - 1);
    for (c = name; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= '\x7f' || strchr("\"\\", *c) != NULL) {
            *c = '_';
        }
    }
    snprintf(labels, sizeof(labels),
             "node=\"%s\",version=\"" SYMCACHED_VERSION "\"", name);
    metrics_show("symcached_info", labels, "Always 1.", 1);
}

/* The configuration of a guest helper was written by no operator. */
static void warn_operator(struct symcached_daemon *daemon,
                          struct config *config)
{
    if (!daemon->is_guest) {
        warnings_look(daemon->base, config, log_warning);
    }
}

static void tell_start(const struct config *config)
{
    log_info(0, "symcached " SYMCACHED_VERSION " listens on %s%s%s%s%s",
             config->listen, config->admin_listen != NULL ? " and " : "",
             config->admin_listen != NULL ? config->admin_listen : "",
             config->uploads.listen != NULL ? ", for uploads on " : "",
             config->uploads.listen != NULL ? config->uploads.listen : "");
}

/* What the process has whatever its configuration says. */
static void prepare_process(void)
{
    daemon_ignore_signals();
    daemon_raise_descriptors();
    daemon_forbid_core();
    metrics_process_start();
    umask(022);
    service_start();
    if (reaper_start() != 0) {
        log_warn(errno, "no guard: transcoders may outlive a killed helper");
    }
    if (log_start() != 0) {
        log_warn(errno, "a log that cannot be written will stop the helper");
    }
}

static int start(struct symcached_daemon *daemon, struct config *config)
{
    char error[1024] = "out of memory";

    prepare_process();
    if (sandbox_program_open(error, sizeof(error)) != 0) {
        goto failed;
    }
    daemon->base = server_event_base();
    if (daemon->base == NULL ||
        signals_start(daemon->base, on_signal, daemon) != 0) {
        goto failed;
    }
    daemon->tiers = tiers_new(daemon->base, config);
    daemon->sources = daemon->tiers != NULL
                          ? sources_new(daemon->base, daemon->tiers)
                          : NULL;
    if (daemon->sources == NULL) {
        goto failed;
    }
    daemon->scheduler =
        scheduler_new(daemon->base, daemon->sources, daemon->tiers, config);
    if (daemon->scheduler == NULL ||
        scheduler_configure(daemon->scheduler, config, error, sizeof(error)) !=
            0) {
        goto failed;
    }
    total_configure(config);
    daemon->evict = evict_new(daemon->base, config, on_cleaned, daemon);
    if (daemon->evict == NULL ||
        start_guests(daemon, config, error, sizeof(error)) != 0) {
        goto failed;
    }
    daemon->server =
        server_new(daemon->base, daemon->scheduler, daemon->guests,
                   daemon->guest_process, daemon->evict, error, sizeof(error));
    if (daemon->server == NULL ||
        service_watch(daemon->base, NULL, NULL) != 0) {
        goto failed;
    }
    daemon->watch = config_watch_new(daemon->base, config, on_stale, daemon);
    if (daemon->watch == NULL) {
        snprintf(error, sizeof(error), "out of memory");
        goto failed;
    }
    service_close_rest();
    warn_operator(daemon, config);
    show_info();
    show_stale(false);
    tell_start(config);
    service_ready();
    return 0;

failed:
    log_emerg(0, "%s", error);
    return -1;
}

static void finish(struct symcached_daemon *daemon)
{
    guest_process_free(daemon->guest_process);
    guests_free(daemon->guests);
    config_watch_free(daemon->watch);
    server_free(daemon->server);
    evict_free(daemon->evict);
    child_settle(KILL_MS);
    async_unlink_settle(); /* jobs have ended; their work folders go */
    file_digest_settle(KILL_MS);
    scheduler_free(daemon->scheduler);
    if (daemon->sources != NULL) {
        sources_free(daemon->sources);
    }
    tiers_free(daemon->tiers);
    task_cancel_all();
    signals_stop();
    service_end();
    if (daemon->base != NULL) {
        event_base_free(daemon->base);
    }
}

int main(int argc, char **argv)
{
    struct symcached_daemon daemon = {0};
    struct config *config;
    char error[1024];
    int rc;

    if (argc > 1 && strcmp(argv[1], "--spnego") == 0) {
        return spnego_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--evict") == 0) {
        return evict_pass_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--forget") == 0) {
        return forget_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "--clean") == 0) {
        rc = clean_command(argc, argv, source_types, DEFAULT_CONFIG);
        return stdout_end("symcached", rc, EXIT_COMMAND);
    }
    if (argc > 1 && strcmp(argv[1], "--transcoders") == 0) {
        rc = transcoders_command(argc, argv, source_types, DEFAULT_CONFIG);
        return stdout_end("symcached", rc, EXIT_COMMAND);
    }
    if (argc > 1 && strcmp(argv[1], "--tier") == 0) {
        rc = tier_command(argc, argv, source_types, DEFAULT_CONFIG);
        return stdout_end("symcached", rc, EXIT_COMMAND);
    }

    signals_delay();
    daemon.is_guest = guest_options_read(&daemon.guest, &argc, &argv);
    daemon.options.config = DEFAULT_CONFIG;
    rc = daemon_options_read(&daemon.options, argc, argv, "symcached", usage);
    if (rc != -1) {
        return rc;
    }
    if (config_read(daemon.options.config, source_types, &config, error,
                    sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return EXIT_CONFIG;
    }
    if (daemon.options.test) {
        print_test(config);
        config_unref(config);
        return 0;
    }
    if (daemon_open_log(&daemon.options, "symcached") != 0) {
        config_unref(config);
        return EXIT_START;
    }

    (void)sandbox_bwrap_prepare(); /* else each transcoder tries again */
    rc = start(&daemon, config);
    config_unref(config);
    if (rc == 0) {
        event_base_dispatch(daemon.base);
        log_info(0, "stopped");
    }
    finish(&daemon);
    return rc == 0 ? 0 : EXIT_START;
}
