/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guest_process.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/event.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/workdir.h"
#include "child/child.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "guests_report.h"
#include "guest_config.h"

#define RESTART_SECONDS 1

#define LOOK_SECONDS 2 /* between looks for its socket */

/* How long the process may take to stop: its answers have three. */
#define STOP_SECONDS 5

/* everybody may ask; who may not is kept out by the folder */
#define SOCKET_MODE 0666

/* The descriptors of the process.  The first is where the service manager
 * hands over sockets, as this one is taken (base/service_manager.h). */
enum { FD_LISTEN = CHILD_FD, FD_CONFIG, FD_REPORT, FD_LOG, FD_END };

/* The arguments in front of those that any symcached has. */
enum {
    ARG_GUESTS = 1,
    ARG_ROOT,
    ARG_COUNT,
    ARG_SIZE,
    ARG_PUBLIC_SIZE,
    ARG_IDLE,
    ARG_REST
};

struct guest_process {
    struct event_base *base;
    struct listener listener;
    int config; /* descriptor of its configuration, which has no secret */
    char *root; /* of the tenants; the configuration goes at a reload */
    char *log;  /* its whole path, or NULL */
    bool is_verbose;
    char *argv[ARG_REST + 6];
    char count[16], size[24], public_size[24], idle[16];
    struct child *child;
    int report;             /* our end of the socket, or -1 */
    struct event *reported; /* there is a message */
    struct event *restart;
    struct event *late; /* it stops and has not ended; or NULL */
    struct event *look; /* is its socket there? */
    bool has_told;      /* that it cannot be made */
    void (*done)(void *arg);
    void *arg;
    struct guests_counts counts; /* of this process */
    cJSON *tenants;              /* of the last message, or NULL */
};

/* its messages ------------------------------------------------------------ */

static void count_growth(const cJSON *message, const char *name,
                         uint64_t *before, enum metric metric)
{
    const cJSON *item = cJSON_GetObjectItem(message, name);
    uint64_t now = cJSON_IsNumber(item) && item->valuedouble > 0
                       ? (uint64_t)item->valuedouble
                       : 0;

    if (now > *before) {
        metrics_add(metric, now - *before);
        *before = now;
    }
}

static void on_report(evutil_socket_t fd, short what, void *arg)
{
    static char text[GUESTS_REPORT_MAX];
    struct guest_process *helper = arg;
    struct guests_counts *counts = &helper->counts;
    ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
    cJSON *message;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        event_del(helper->reported); /* it has ended */
        return;
    }
    message = n > 0 ? cJSON_ParseWithLength(text, (size_t)n) : NULL;
    if (message == NULL) {
        return;
    }
    count_growth(message, "started", &counts->started, METRIC_TENANTS_STARTED);
    count_growth(message, "refused", &counts->refused, METRIC_TENANTS_REFUSED);
    count_growth(message, "removed", &counts->removed, METRIC_TENANTS_REMOVED);
    cJSON_Delete(helper->tenants);
    helper->tenants = cJSON_DetachItemFromObject(message, "tenants");
    cJSON_Delete(message);
}

cJSON *guest_process_json(const struct guest_process *helper)
{
    return helper != NULL ? cJSON_Duplicate(helper->tenants, true) : NULL;
}

/* its life ---------------------------------------------------------------- */

static void drop_report(struct guest_process *helper)
{
    if (helper->reported != NULL) {
        event_free(helper->reported);
        helper->reported = NULL;
    }
    if (helper->report != -1) {
        close(helper->report);
        helper->report = -1;
    }
    cJSON_Delete(helper->tenants);
    helper->tenants = NULL;
    memset(&helper->counts, 0, sizeof(helper->counts));
}

static void restart_later(struct guest_process *helper)
{
    static const struct timeval soon = {.tv_sec = RESTART_SECONDS};

    evtimer_add(helper->restart, &soon);
}

static void process_stopped(struct guest_process *helper)
{
    void (*done)(void *arg) = helper->done;

    evtimer_del(helper->late);
    helper->done = NULL;
    done(helper->arg);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *helper = arg;

    log_warn(0,
             "the helper of clients' sources does not stop within %d s, "
             "and is killed",
             STOP_SECONDS);
    process_stopped(helper);
}

static void on_ended(void *arg, struct child_result *result)
{
    struct guest_process *helper = arg;
    size_t n = result->tail_len;
    char end[CHILD_END_SIZE];

    helper->child = NULL;
    if (helper->done != NULL) {
        process_stopped(helper);
        return;
    }
    while (n > 0 && result->tail[n - 1] == '\n') {
        result->tail[--n] = '\0';
    }
    child_end_print(end, result);
    log_error(result->error,
              "the helper of clients' sources ended with %s, and is started "
              "again in %d s%s%s",
              end, RESTART_SECONDS, n > 0 ? ": " : "", result->tail);
    drop_report(helper);
    restart_later(helper);
}

/* Returns its end of the socket, or -1 with errno. */
static int open_report(struct guest_process *helper)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    helper->report = ends[0];
    helper->reported = event_new(helper->base, ends[0], EV_READ | EV_PERSIST,
                                 on_report, helper);
    if (helper->reported == NULL || event_add(helper->reported, NULL) != 0) {
        drop_report(helper);
        close(ends[1]);
        errno = ENOMEM;
        return -1;
    }
    return ends[1];
}

/* Returns 0, or -1 with errno. */
static int start_process(struct guest_process *helper)
{
    static const char *const kept[] = {"PATH", "JOURNAL_STREAM"};
    char texts[2][PATH_MAX], *env[3] = {NULL};
    int fds[FD_END - CHILD_FD] = {helper->listener.fd, helper->config, -1,
                                  STDERR_FILENO};
    struct child_options options = {.program = "/proc/self/exe",
                                    .argv = helper->argv,
                                    .env = env,
                                    .fds = fds,
                                    .nfds = FD_END - CHILD_FD};
    const char *value;
    size_t i, n = 0;
    int end;

    /* nothing else of ours is a guest's business */
    for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        value = getenv(kept[i]);
        if (value != NULL) {
            snprintf(texts[n], sizeof(texts[n]), "%s=%s", kept[i], value);
            env[n] = texts[n];
            n++;
        }
    }
    end = open_report(helper);
    if (end == -1) {
        return -1;
    }
    fds[FD_REPORT - CHILD_FD] = end;
    helper->child = child_start(helper->base, &options, on_ended, helper);
    close(end);
    if (helper->child == NULL) {
        drop_report(helper);
        return -1;
    }
    return 0;
}

static void on_restart(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *helper = arg;

    if (helper->listener.fd == -1) { /* on_look() makes it */
        restart_later(helper);
    } else if (start_process(helper) != 0) {
        log_crit(errno, "the helper of clients' sources cannot be started");
        restart_later(helper);
    }
}

/* its socket -------------------------------------------------------------- */

/* Makes the folder of tenants and the socket in it.  Returns 0, or -1 with a
 * sentence in error. */
static int listen_in_root(struct guest_process *helper, char *error,
                          size_t size)
{
    char address[PATH_MAX];

    snprintf(address, sizeof(address), "unix:%s/" GUEST_SOCKET, helper->root);
    if (workdir_make_path(helper->root) != 0) {
        snprintf(error, size, "\"%s\" cannot be used: %s", helper->root,
                 strerror(errno));
        return -1;
    }
    return listener_open(&helper->listener, address, SOCKET_MODE, error, size);
}

/* Is the socket gone, or was it not made anew? */
static bool lacks_socket(const struct guest_process *helper)
{
    return helper->listener.fd == -1 ||
           (helper->listener.path != NULL &&
            access(helper->listener.path, F_OK) != 0 && errno == ENOENT);
}

/* Somebody has removed the socket, with the folder of tenants or what is in
 * it, as an operator may who needs room.  Nobody reaches the process then, and
 * it knows nothing of the new folder. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *helper = arg;
    char error[1024];

    if (helper->done != NULL || !lacks_socket(helper)) {
        return;
    }
    if (helper->listener.fd != -1) {
        log_warn(0,
                 "somebody has removed %s/" GUEST_SOCKET ": the folder is "
                 "made ready again, and the helper of clients' sources is "
                 "started again",
                 helper->root);
        free(helper->listener.path); /* another one may get its inode */
        helper->listener.path = NULL;
        close(helper->listener.fd);
        helper->listener.fd = -1;
    }
    if (listen_in_root(helper, error, sizeof(error)) != 0) {
        helper->listener.fd = -1;
        if (!helper->has_told) {
            log_error(0, "clients' sources cannot be used: %s", error);
        }
        helper->has_told = true;
        return;
    }
    helper->has_told = false;
    if (helper->child != NULL) {
        kill(child_pid(helper->child), SIGTERM);
    }
}

static void write_arguments(struct guest_process *helper,
                            const struct tenants_config *tenants)
{
    static char config[] = "/proc/self/fd/4";
    char **argv = helper->argv;
    size_t n = ARG_REST;

    snprintf(helper->count, sizeof(helper->count), "%u", tenants->count);
    snprintf(helper->size, sizeof(helper->size), "%" PRIu64, tenants->size);
    snprintf(helper->public_size, sizeof(helper->public_size), "%" PRIu64,
             tenants->public_size);
    snprintf(helper->idle, sizeof(helper->idle), "%u", tenants->idle);
    argv[0] = "symcached";
    argv[ARG_GUESTS] = "--guests";
    argv[ARG_ROOT] = helper->root;
    argv[ARG_COUNT] = helper->count;
    argv[ARG_SIZE] = helper->size;
    argv[ARG_PUBLIC_SIZE] = helper->public_size;
    argv[ARG_IDLE] = helper->idle;
    argv[n++] = "-c";
    argv[n++] = config;
    if (helper->log != NULL) {
        argv[n++] = "-l";
        argv[n++] = helper->log;
    }
    if (helper->is_verbose) {
        argv[n++] = "-v";
    }
}

/* Returns a descriptor of its configuration, or -1 with a sentence. */
static int write_config(const struct config *config, char *error, size_t size)
{
    cJSON *settings = guest_process_settings(config);
    struct config *read;
    int fd = -1;

    read = guest_read_settings(settings, &fd, error, size);
    cJSON_Delete(settings);
    if (read == NULL && fd != -1) {
        close(fd);
        fd = -1;
    }
    config_unref(read);
    return fd;
}

struct guest_process *guest_process_new(struct event_base *base,
                                        const struct config *config,
                                        const char *log, bool is_verbose,
                                        char *error, size_t size)
{
    const struct tenants_config *tenants =
        &config->symbolication.symbolicator.tenants;
    static const struct timeval often = {.tv_sec = LOOK_SECONDS};
    struct guest_process *helper = calloc(1, sizeof(*helper));

    snprintf(error, size, "out of memory");
    if (helper == NULL) {
        return NULL;
    }
    helper->base = base;
    helper->log = log != NULL ? realpath(log, NULL) : NULL;
    helper->root = strdup(tenants->root);
    helper->is_verbose = is_verbose;
    helper->report = helper->config = helper->listener.fd = -1;
    helper->restart = evtimer_new(base, on_restart, helper);
    helper->late = evtimer_new(base, on_late, helper);
    helper->look = event_new(base, -1, EV_PERSIST, on_look, helper);
    write_arguments(helper, tenants);
    if (helper->restart == NULL || helper->late == NULL ||
        helper->look == NULL || helper->root == NULL ||
        event_add(helper->look, &often) != 0) {
        goto failed;
    }
    helper->config = write_config(config, error, size);
    if (helper->config == -1 || listen_in_root(helper, error, size) != 0) {
        goto failed;
    }
    if (start_process(helper) != 0) {
        snprintf(error, size,
                 "the helper of clients' sources cannot be started: %s",
                 strerror(errno));
        goto failed;
    }
    return helper;

failed:
    guest_process_free(helper);
    return NULL;
}

void guest_process_reopen_log(const struct guest_process *helper)
{
    if (helper != NULL && helper->child != NULL) {
        kill(child_pid(helper->child), SIGUSR1);
    }
}

void guest_process_stop(struct guest_process *helper, void (*done)(void *arg),
                        void *arg)
{
    static const struct timeval limit = {.tv_sec = STOP_SECONDS};

    if (helper == NULL || helper->child == NULL) {
        done(arg);
        return;
    }
    helper->done = done;
    helper->arg = arg;
    evtimer_add(helper->late, &limit);
    kill(child_pid(helper->child), SIGTERM);
}

void guest_process_free(struct guest_process *helper)
{
    if (helper == NULL) {
        return;
    }
    child_cancel(helper->child);
    drop_report(helper);
    listener_unlink(&helper->listener);
    fd_close(helper->listener.fd);
    fd_close(helper->config);
    event_drop(helper->restart);
    event_drop(helper->late);
    event_drop(helper->look);
    free(helper->log);
    free(helper->root);
    free(helper);
}

/* the other side ---------------------------------------------------------- */

bool guest_options_read(struct guest_options *options, int *argc, char ***argv)
{
    char **all = *argv, pid[16];
    int fd;

    if (*argc <= ARG_REST || strcmp(all[ARG_GUESTS], "--guests") != 0) {
        return false;
    }
    for (fd = CHILD_FD; fd < FD_END; fd++) {
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
            return false;
        }
    }
    memset(options, 0, sizeof(*options));
    options->tenants.root = all[ARG_ROOT];
    options->tenants.count = (unsigned)strtoul(all[ARG_COUNT], NULL, 10);
    options->tenants.size = strtoull(all[ARG_SIZE], NULL, 10);
    options->tenants.public_size = strtoull(all[ARG_PUBLIC_SIZE], NULL, 10);
    options->tenants.idle = (unsigned)strtoul(all[ARG_IDLE], NULL, 10);
    options->report = FD_REPORT;
    (void)dup2(FD_LOG, STDERR_FILENO);
    close(FD_LOG);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    *argc -= ARG_IDLE;
    *argv += ARG_IDLE;
    return true;
}
