/*
 * Copyright (C) the ngx_symcache authors
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/log.h"
#include "base/program_path.h"
#include "message.h"
#include "worker_loop.h"

#define LIBEXEC "../libexec/ngx_symcache/"

#define START_SECONDS 10

/* A worker, until it is reaped and the daemon has had it killed, which it does
 * with each one that it knows. */
struct spawner_child {
    struct spawner_child *next;
    pid_t pid;
    size_t channel;
    int order; /* KILL, REAP, or 0 */
    bool has_ended; /* its process id may be that of another one */
    int status;
};

static struct spawner_child *spawner_children;

/* The program of which workers are copies. */
static struct {
    pid_t pid;
    int socket; /* -1: it is not there */
} first = {.socket = -1};

/* Opens the program of a name or path.  Returns -1 with errno. */
static int spawner_open_program(const char *name)
{
    static const char *const places[] = {"", LIBEXEC};
    char path[PATH_MAX], place[PATH_MAX];
    size_t i;
    int fd = -1;

    if (strchr(name, '/') != NULL) {
        return open(name, O_PATH | O_CLOEXEC);
    }
    for (i = 0; i < sizeof(places) / sizeof(places[0]) && fd == -1; i++) {
        snprintf(place, sizeof(place), "%s%s", places[i], name);
        if (beside_path(path, place)) {
            fd = open(path, O_PATH | O_CLOEXEC);
        }
    }
    return fd;
}

/* In the new process: keeps nothing but the socket and the errors' file. */
static _Noreturn void become_first(int program, char *const argv[], int socket)
{
    static char *none[] = {NULL};
    struct spawner_message message = {.order = SPAWNER_START};
    char *const *environment = none;
    sigset_t nothing;

#ifdef __SANITIZE_ADDRESS__
    environment = environ; /* it has the sanitizer's options */
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    program = fcntl(program, F_DUPFD_CLOEXEC, WORK_SOCKET + 1);
    socket = fcntl(socket, F_DUPFD, WORK_SOCKET + 1);
    if (program < 0 || dup2(socket, WORK_SOCKET) < 0) {
        _exit(1);
    }
    close_range(WORK_SOCKET + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    fexecve(program, argv, environment);
    message.error = errno;
    work_message_send(WORK_SOCKET, &message, sizeof(message), NULL, 0);
    _exit(1);
}

static void spawner_end_first(void)
{
    fd_close(first.socket);
    if (first.pid > 0) {
        kill(first.pid, SIGKILL);
    }
    first.pid = 0; /* it is reaped as others are */
    first.socket = -1;
}

/* Starts the program of which workers are copies.  Returns 0, or -1. */
static int spawner_start_first(int program, char *const argv[])
{
    static const struct timeval patience = {.tv_sec = START_SECONDS};
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        return -1;
    }
    first.pid = fork();
    if (first.pid == 0) {
        become_first(program, argv, fds[1]);
    }
    close(fds[1]);
    first.socket = fds[0];
    if (first.pid < 0 || setsockopt(first.socket, SOL_SOCKET, SO_RCVTIMEO,
                                    &patience, sizeof(patience)) != 0) {
        spawner_end_first();
        return -1;
    }
    return 0;
}

/* Has it make a copy, which gets the socket.  Returns its process id, or 0 with
 * an error as in a message. */
static pid_t spawner_copy_first(int socket, int *error)
{
    struct spawner_message message = {.order = SPAWNER_START};
    ssize_t n;
    bool is_sent = work_message_send(first.socket, &message, sizeof(message),
                                     &socket, 1);

    /* Another worker may end meanwhile.  What the other side has said is there
     * even if it ended before it was asked. */
    do {
        n = recv(first.socket, &message, sizeof(message),
                 is_sent ? 0 : MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    *error = n == sizeof(message) ? message.error : SPAWNER_ENDED;
    return n == sizeof(message) && message.pid > 0 ? message.pid : 0;
}

/* One that has died, or hangs, is started anew. */
static pid_t spawner_start_process(int program, char *const argv[], int socket,
                                   int *error)
{
    unsigned tries;
    pid_t pid = 0;

    for (tries = 0; tries < 2 && pid == 0; tries++) {
        if (first.socket < 0 && spawner_start_first(program, argv) != 0) {
            return 0;
        }
        pid = spawner_copy_first(socket, error);
        if (pid == 0) {
            spawner_end_first();
        }
    }
    return pid;
}

/* Returns the daemon's end of a new worker's socket, or -1. */
static int spawner_start_worker(int program, char *const argv[],
                                size_t channel, struct spawner_message *answer)
{
    struct spawner_child *child = calloc(1, sizeof(*child));
    int fds[2];

    if (child == NULL ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        free(child);
        return -1;
    }
    answer->pid = spawner_start_process(program, argv, fds[1], &answer->error);
    close(fds[1]);
    if (answer->pid == 0) {
        free(child);
        close(fds[0]);
        return -1;
    }
    child->pid = answer->pid;
    child->channel = channel;
    child->next = spawner_children;
    spawner_children = child;
    return fds[0];
}

/* Forgets a worker that has ended, and that the daemon wants no more of. */
static void spawner_settle(struct spawner_child **at, const int *sockets)
{
    struct spawner_child *child = *at;
    const struct spawner_message answer = {.order = SPAWNER_REAP,
                                           .pid = child->pid,
                                           .status = child->status};

    if (!child->has_ended || child->order == 0) {
        return;
    }
    if (child->order == SPAWNER_REAP) {
        work_message_send(sockets[child->channel], &answer, sizeof(answer),
                          NULL, 0);
    }
    *at = child->next;
    free(child);
}

static void spawner_reap_workers(const int *sockets)
{
    struct spawner_child **at, *child;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (at = &spawner_children;
             (child = *at) != NULL && (child->pid != pid || child->has_ended);
             at = &child->next) {
        }
        if (child != NULL) {
            child->has_ended = true;
            child->status = status;
            spawner_settle(at, sockets);
        } else if (pid == first.pid) {
            first.pid = 0;
            spawner_end_first();
        }
    }
}

static void spawner_kill_worker(const int *sockets, size_t channel,
                                const struct spawner_message *order)
{
    struct spawner_child **at, *child;

    for (at = &spawner_children;
         (child = *at) != NULL &&
         (child->pid != order->pid || child->channel != channel ||
          child->order != 0);
         at = &child->next) {
    }
    if (child != NULL) {
        if (!child->has_ended) {
            kill(child->pid, SIGKILL);
        }
        child->order = order->order;
        spawner_settle(at, sockets);
    }
}

static void spawner_obey_order(int program, char *const argv[],
                               const int *sockets, size_t channel,
                               const struct spawner_message *order)
{
    struct spawner_message answer = {.order = order->order};
    int fd, socket = sockets[channel];

    if (order->order != SPAWNER_START) {
        spawner_kill_worker(sockets, channel, order);
        return;
    }
    fd = spawner_start_worker(program, argv, channel, &answer);
    if (!work_message_send(socket, &answer, sizeof(answer), &fd, fd >= 0) &&
        fd >= 0) {
        /* without the socket, with which the worker ends: less to allocate */
        spawner_kill_worker(sockets, channel,
                            &(struct spawner_message){.order = SPAWNER_KILL,
                                                      .pid = answer.pid});
        answer.pid = 0;
        work_message_send(socket, &answer, sizeof(answer), NULL, 0);
    }
    fd_close(fd);
}

static void spawner_on_child(int signo)
{
    /* it only ends a wait */
}

/* Until the daemon has closed all of its sockets. */
static void spawner_serve_orders(int program, char *const argv[],
                                 const int *sockets, size_t n)
{
    static struct pollfd events[SPAWNER_CHANNELS_MAX];
    struct spawner_message order;
    size_t i, open = n;
    sigset_t nothing;
    ssize_t got;

    sigemptyset(&nothing);
    for (i = 0; i < n; i++) {
        events[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    }
    while (open > 0) {
        (void)ppoll(events, n, NULL, &nothing);
        spawner_reap_workers(sockets);
        for (i = 0; i < n; i++) {
            if (events[i].revents == 0) {
                continue;
            }
            events[i].revents = 0;
            got = recv(sockets[i], &order, sizeof(order), MSG_DONTWAIT);
            if (got == sizeof(order)) {
                spawner_obey_order(program, argv, sockets, i, &order);
            } else if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
                events[i].fd = -1;
                open--;
            }
        }
    }
}

static void become_spawner(int program, char *const argv[], int sockets[][2],
                           size_t n, pid_t daemon)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE};
    struct sigaction action = {.sa_handler = spawner_on_child};
    sigset_t child;
    int ours[SPAWNER_CHANNELS_MAX];
    size_t i;

    /* Landlock keeps the daemon, which is locked in when it ends, from sending
     * a signal, even the one of its death.  If this process is stopped then,
     * the kernel wakes it up: its group is an orphan. */
    (void)setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "spawner");
    for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&child); /* taken in a wait only, so that none is missed */
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    for (i = 0; i < n; i++) {
        close(sockets[i][0]);
        ours[i] = sockets[i][1];
    }
    if (getppid() == daemon) {
        spawner_serve_orders(program, argv, ours, n);
    }
    _exit(0);
}

static void spawner_close_all(int sockets[][2], size_t n, int which)
{
    while (n > 0) {
        close(sockets[--n][which]);
    }
}

int spawner_start(char *const argv[], int *sockets, size_t n, char *error,
                  size_t size)
{
    int pairs[SPAWNER_CHANNELS_MAX][2], program;
    pid_t pid, daemon = getpid();
    size_t i;

    program = spawner_open_program(argv[0]);
    if (program < 0) {
        if (!has_proc()) {
            snprintf(error, size, "%s cannot be found: " NO_PROC, argv[0]);
            return -1;
        }
        snprintf(error, size,
                 "%s is neither beside the program nor in " LIBEXEC ": %s",
                 argv[0], strerror(errno));
        return -1;
    }
    for (i = 0; i < n && i < SPAWNER_CHANNELS_MAX; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) !=
            0) {
            break;
        }
    }
    pid = i == n ? fork() : -1;
    if (pid == 0) {
        become_spawner(program, argv, pairs, n, daemon);
    }
    if (pid < 0) {
        snprintf(error, size, "no process for workers: %s", strerror(errno));
    }
    close(program);
    spawner_close_all(pairs, i, 1);
    if (pid < 0) {
        spawner_close_all(pairs, i, 0);
        return -1;
    }
    for (i = 0; i < n; i++) {
        sockets[i] = pairs[i][0];
    }
    return 0;
}

bool spawner_print_end(char text[SPAWNER_END_SIZE], int status)
{
    int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool is_killed = signo == SIGKILL || signo == SIGTERM;

    if (signo == 0) {
        snprintf(text, SPAWNER_END_SIZE, "ended with exit code %d",
                 WEXITSTATUS(status));
    } else {
        snprintf(text, SPAWNER_END_SIZE, "%s by signal %d (%s)",
                 is_killed ? "was killed from outside" : "ended", signo,
                 strsignal(signo));
    }
    return is_killed;
}

void spawner_log_error(int error)
{
    if (error > 0) {
        log_error(error, "the program of workers cannot be executed, its "
                         "package should be installed anew");
    } else if (error == SPAWNER_ENDED) {
        log_error(0, "the program of workers ends, or hangs, when it is "
                     "started; its package should be installed anew");
    } else {
        log_error(0, "no worker could be started");
    }
}

static atomic_bool is_lost;

void spawner_lose(void)
{
    atomic_store(&is_lost, true);
}

bool spawner_is_lost(void)
{
    return atomic_load(&is_lost);
}
