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
    struct guest_process *process = arg;
    struct guests_counts *counts = &process->counts;
    ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
    cJSON *message;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        event_del(process->reported); /* it has ended */
        return;
    }
    message = n > 0 ? cJSON_ParseWithLength(text, (size_t)n) : NULL;
    if (message == NULL) {
        return;
    }
    count_growth(message, "started", &counts->started, METRIC_TENANTS_STARTED);
    count_growth(message, "refused", &counts->refused, METRIC_TENANTS_REFUSED);
    count_growth(message, "removed", &counts->removed, METRIC_TENANTS_REMOVED);
    cJSON_Delete(process->tenants);
    process->tenants = cJSON_DetachItemFromObject(message, "tenants");
    cJSON_Delete(message);
}

cJSON *guest_process_json(const struct guest_process *process)
{
    return process != NULL ? cJSON_Duplicate(process->tenants, true) : NULL;
}

/* its life ---------------------------------------------------------------- */

static void drop_report(struct guest_process *process)
{
    if (process->reported != NULL) {
        event_free(process->reported);
        process->reported = NULL;
    }
    if (process->report != -1) {
        close(process->report);
        process->report = -1;
    }
    cJSON_Delete(process->tenants);
    process->tenants = NULL;
    memset(&process->counts, 0, sizeof(process->counts));
}

static void restart_later(struct guest_process *process)
{
    static const struct timeval soon = {.tv_sec = RESTART_SECONDS};

    evtimer_add(process->restart, &soon);
}

static void process_stopped(struct guest_process *process)
{
    void (*done)(void *arg) = process->done;

    evtimer_del(process->late);
    process->done = NULL;
    done(process->arg);
}

static void guest_process_on_late(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *process = arg;

    log_warn(0,
             "the helper of clients' sources does not stop within %d s, "
             "and is killed",
             STOP_SECONDS);
    process_stopped(process);
}

static void on_ended(void *arg, struct child_result *result)
{
    struct guest_process *process = arg;
    size_t n = result->tail_len;
    char end[CHILD_END_SIZE];

    process->child = NULL;
    if (process->done != NULL) {
        process_stopped(process);
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
    drop_report(process);
    restart_later(process);
}

/* Returns its end of the socket, or -1 with errno. */
static int open_report(struct guest_process *process)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    process->report = ends[0];
    process->reported = event_new(process->base, ends[0], EV_READ | EV_PERSIST,
                                  on_report, process);
    if (process->reported == NULL || event_add(process->reported, NULL) != 0) {
        drop_report(process);
        close(ends[1]);
        errno = ENOMEM;
        return -1;
    }
    return ends[1];
}

/* Returns 0, or -1 with errno. */
static int start_process(struct guest_process *process)
{
    static const char *const kept[] = {"PATH", "JOURNAL_STREAM"};
    char texts[2][PATH_MAX], *env[3] = {NULL};
    int fds[FD_END - CHILD_FD] = {process->listener.fd, process->config, -1,
                                  STDERR_FILENO};
    struct child_options options = {.program = "/proc/self/exe",
                                    .argv = process->argv,
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
    end = open_report(process);
    if (end == -1) {
        return -1;
    }
    fds[FD_REPORT - CHILD_FD] = end;
    process->child = child_start(process->base, &options, on_ended, process);
    close(end);
    if (process->child == NULL) {
        drop_report(process);
        return -1;
    }
    return 0;
}

static void on_restart(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *process = arg;

    if (process->listener.fd == -1) { /* on_look() makes it */
        restart_later(process);
    } else if (start_process(process) != 0) {
        log_crit(errno, "the helper of clients' sources cannot be started");
        restart_later(process);
    }
}

/* its socket -------------------------------------------------------------- */

/* Makes the folder of tenants and the socket in it.  Returns 0, or -1 with a
 * sentence in error. */
static int listen_in_root(struct guest_process *process, char *error,
                          size_t size)
{
    char address[PATH_MAX];

    snprintf(address, sizeof(address), "unix:%s/" GUEST_SOCKET, process->root);
    if (workdir_make_path(process->root) != 0) {
        snprintf(error, size, "\"%s\" cannot be used: %s", process->root,
                 strerror(errno));
        return -1;
    }
    return listener_open(&process->listener, address, SOCKET_MODE, error,
                         size);
}

/* Is the socket gone, or was it not made anew? */
static bool lacks_socket(const struct guest_process *process)
{
    return process->listener.fd == -1 ||
           (process->listener.path != NULL &&
            access(process->listener.path, F_OK) != 0 && errno == ENOENT);
}

/* Somebody has removed the socket, with the folder of tenants or what is in
 * it, as an operator may who needs room.  Nobody reaches the process then, and
 * it knows nothing of the new folder. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct guest_process *process = arg;
    char error[1024];

    if (process->done != NULL || !lacks_socket(process)) {
        return;
    }
    if (process->listener.fd != -1) {
        log_warn(0,
                 "somebody has removed %s/" GUEST_SOCKET ": the folder is "
                 "made ready again, and the helper of clients' sources is "
                 "started again",
                 process->root);
        free(process->listener.path); /* another one may get its inode */
        process->listener.path = NULL;
        close(process->listener.fd);
        process->listener.fd = -1;
    }
    if (listen_in_root(process, error, sizeof(error)) != 0) {
        process->listener.fd = -1;
        if (!process->has_told) {
            log_error(0, "clients' sources cannot be used: %s", error);
        }
        process->has_told = true;
        return;
    }
    process->has_told = false;
    if (process->child != NULL) {
        kill(child_pid(process->child), SIGTERM);
    }
}

static void write_arguments(struct guest_process *process,
                            const struct tenants_config *tenants)
{
    static char config[] = "/proc/self/fd/4";
    char **argv = process->argv;
    size_t n = ARG_REST;

    snprintf(process->count, sizeof(process->count), "%u", tenants->count);
    snprintf(process->size, sizeof(process->size), "%" PRIu64, tenants->size);
    snprintf(process->public_size, sizeof(process->public_size), "%" PRIu64,
             tenants->public_size);
    snprintf(process->idle, sizeof(process->idle), "%u", tenants->idle);
    argv[0] = "symcached";
    argv[ARG_GUESTS] = "--guests";
    argv[ARG_ROOT] = process->root;
    argv[ARG_COUNT] = process->count;
    argv[ARG_SIZE] = process->size;
    argv[ARG_PUBLIC_SIZE] = process->public_size;
    argv[ARG_IDLE] = process->idle;
    argv[n++] = "-c";
    argv[n++] = config;
    if (process->log != NULL) {
        argv[n++] = "-l";
        argv[n++] = process->log;
    }
    if (process->is_verbose) {
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
    struct guest_process *process = calloc(1, sizeof(*process));

    snprintf(error, size, "out of memory");
    if (process == NULL) {
        return NULL;
    }
    process->base = base;
    process->log = log != NULL ? realpath(log, NULL) : NULL;
    process->root = strdup(tenants->root);
    process->is_verbose = is_verbose;
    process->report = process->config = process->listener.fd = -1;
    process->restart = evtimer_new(base, on_restart, process);
    process->late = evtimer_new(base, guest_process_on_late, process);
    process->look = event_new(base, -1, EV_PERSIST, on_look, process);
    write_arguments(process, tenants);
    if (process->restart == NULL || process->late == NULL ||
        process->look == NULL || process->root == NULL ||
        event_add(process->look, &often) != 0) {
        goto failed;
    }
    process->config = write_config(config, error, size);
    if (process->config == -1 || listen_in_root(process, error, size) != 0) {
        goto failed;
    }
    if (start_process(process) != 0) {
        snprintf(error, size,
                 "the helper of clients' sources cannot be started: %s",
                 strerror(errno));
        goto failed;
    }
    return process;

failed:
    guest_process_free(process);
    return NULL;
}

void guest_process_reopen_log(const struct guest_process *process)
{
    if (process != NULL && process->child != NULL) {
        kill(child_pid(process->child), SIGUSR1);
    }
}

void guest_process_stop(struct guest_process *process, void (*done)(void *arg),
                        void *arg)
{
    static const struct timeval limit = {.tv_sec = STOP_SECONDS};

    if (process == NULL || process->child == NULL) {
        done(arg);
        return;
    }
    process->done = done;
    process->arg = arg;
    evtimer_add(process->late, &limit);
    kill(child_pid(process->child), SIGTERM);
}

void guest_process_free(struct guest_process *process)
{
    if (process == NULL) {
        return;
    }
    child_cancel(process->child);
    drop_report(process);
    listener_unlink(&process->listener);
    fd_close(process->listener.fd);
    fd_close(process->config);
    event_drop(process->restart);
    event_drop(process->late);
    event_drop(process->look);
    free(process->log);
    free(process->root);
    free(process);
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
