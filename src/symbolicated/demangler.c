/*
 * Copyright (C) the ngx_symcache authors
 */
#include "demangler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/sandbox.h"
#include "symbolication/symbolication.h"

#define CPU_MAX 50000000    /* ns that one name may take */
#define STEP_MS 100         /* until the worker's time is looked at again */
#define STEPS_MAX 20        /* of waiting, on a machine that is busy */
#define SUPERVISOR_MS 10000 /* then something else is wrong */
#define MEMO_SLOTS 4096     /* a power of two */

/* The first byte of an answer; after READABLE is the readable name. */
enum outcome { READABLE = 'r', UNREADABLE = 'u', LOST = 'l' };

struct question {
    uint32_t language;
    char name[LINKAGE_NAME_MAX];
};

struct answer {
    char outcome;
    char text[LINKAGE_READABLE_MAX];
};

#define QUESTION_HEAD offsetof(struct question, name)

/* the worker -------------------------------------------------------------- */

static void work(int fd)
{
    ssize_t n;
    size_t size;
    struct question question;
    struct answer answer;
    struct symc_string name = {.data = question.name};

    while ((n = read(fd, &question, sizeof(question))) > 0) {
        name.size = (size_t)n - QUESTION_HEAD;
        size = 0;
        answer.outcome = linkage_demangle(&name, question.language,
                                          answer.text, &size)
                             ? READABLE
                             : UNREADABLE;
        size = answer.outcome == READABLE ? size : 0;
        if (write(fd, &answer, 1 + size) < 0) {
            break;
        }
    }
}

/* the supervisor ---------------------------------------------------------- */

struct worker {
    pid_t pid; /* 0: there is none */
    int fd;
};

static void start_worker(struct worker *worker, int supervisor_fd)
{
    int fds[2];
    char error[200];
    const struct sandbox_limits limits = {0, 0, 0};

    worker->pid = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        return;
    }
    worker->pid = fork();
    if (worker->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[0]);
        close(supervisor_fd);
        if (sandbox_enter(&limits, NULL, error, sizeof(error)) == 0) {
            work(fds[1]);
        }
        _exit(0);
    }
    close(fds[1]);
    worker->fd = fds[0];
    if (worker->pid < 0) {
        close(worker->fd);
        worker->pid = 0;
    }
}

static void end_worker(struct worker *worker)
{
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(worker->fd);
    worker->pid = 0;
}

/* Returns the ns of processor time that a process has used. */
static int64_t cpu_time(pid_t pid)
{
    clockid_t clock;
    struct timespec used = {0, 0};

    if (clock_getcpuclockid(pid, &clock) == 0) {
        clock_gettime(clock, &used);
    }
    return used.tv_sec * (int64_t)1000000000 + used.tv_nsec;
}

/* Waits for the worker's answer, as long as a name may take. */
static bool has_answer(const struct worker *worker)
{
    unsigned i;
    int64_t begin = cpu_time(worker->pid);
    struct pollfd event = {.fd = worker->fd, .events = POLLIN};

    for (i = 0; i < STEPS_MAX; i++) {
        if (poll(&event, 1, STEP_MS) > 0) {
            return true;
        }
        if (cpu_time(worker->pid) - begin > CPU_MAX) {
            return false;
        }
    }
    return false;
}

static void supervise(int fd)
{
    ssize_t n, m;
    struct question question;
    struct answer answer;
    struct worker worker = {0, -1};

    while ((n = read(fd, &question, sizeof(question))) > 0) {
        if (worker.pid == 0) {
            start_worker(&worker, fd);
        }
        m = 0;
        if (worker.pid != 0 && write(worker.fd, &question, (size_t)n) == n &&
            has_answer(&worker)) {
            m = read(worker.fd, &answer, sizeof(answer));
        }
        if (m <= 0) {
            answer.outcome = LOST;
            m = 1;
            if (worker.pid != 0) {
                end_worker(&worker);
            }
        }
        if (write(fd, &answer, (size_t)m) < 0) {
            break;
        }
    }
    if (worker.pid != 0) {
        end_worker(&worker);
    }
}

/* Runs in the new process, which keeps nothing of the daemon but the socket.
 */
static void become_supervisor(int fd, pid_t daemon)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    size_t i;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "demangler");
    for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
    if (dup2(fd, STDERR_FILENO + 1) >= 0 && getppid() == daemon) {
        close_range(STDERR_FILENO + 2, ~0U, 0);
        supervise(STDERR_FILENO + 1);
    }
    _exit(0);
}

/* the threads ------------------------------------------------------------- */

/* A cached entry: the name, followed by the readable form. */
struct memo {
    char *text; /* NULL: nothing */
    uint32_t name_size;
    uint32_t readable_size; /* 0: it has none */
    uint32_t language;
};

static struct {
    int fd; /* -1: there is no process */
    pthread_mutex_t lock;
    struct memo memos[MEMO_SLOTS];
} demangler = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static struct memo *find(const struct symc_string *name, uint32_t language)
{
    size_t i;
    uint32_t hash = 2166136261u ^ language; /* FNV-1a */

    for (i = 0; i < name->size; i++) {
        hash = (hash ^ (uint8_t)name->data[i]) * 16777619u;
    }
    return &demangler.memos[(hash ^ hash >> 16) & (MEMO_SLOTS - 1)];
}

static void remember(struct memo *memo, const struct symc_string *name,
                     uint32_t language, const char *readable, size_t size)
{
    free(memo->text);
    memo->text = malloc(name->size + size);
    if (memo->text != NULL) {
        memcpy(memo->text, name->data, name->size);
        memcpy(memo->text + name->size, readable, size);
        memo->name_size = (uint32_t)name->size;
        memo->readable_size = (uint32_t)size;
        memo->language = language;
    }
}

/* Asks the process.  Returns the size of the answer; nothing is asked again
 * after the process is gone. */
static size_t exchange(const struct symc_string *name, uint32_t language,
                       struct answer *answer)
{
    ssize_t n = -1;
    struct question question = {.language = language};
    struct pollfd event = {.fd = demangler.fd, .events = POLLIN};

    memcpy(question.name, name->data, name->size);
    if (write(demangler.fd, &question, QUESTION_HEAD + name->size) > 0 &&
        poll(&event, 1, SUPERVISOR_MS) > 0) {
        n = read(demangler.fd, answer, sizeof(*answer));
    }
    if (n <= 0) {
        log_error(0, "names stay as linkers know them: the process that makes "
                     "them readable is gone");
        close(demangler.fd);
        demangler.fd = -1;
        return 0;
    }
    return (size_t)n;
}

static bool ask(const struct symc_string *name, uint32_t language, char *room,
                size_t *size)
{
    size_t n = 0;
    struct answer answer;
    struct memo *memo;

    pthread_mutex_lock(&demangler.lock);
    memo = find(name, language);
    if (memo->text != NULL && memo->name_size == name->size &&
        memo->language == language &&
        memcmp(memo->text, name->data, name->size) == 0) {
        *size = memo->readable_size;
        memcpy(room, memo->text + memo->name_size, *size);
    } else {
        n = demangler.fd >= 0 ? exchange(name, language, &answer) : 0;
        *size = n > 0 && answer.outcome == READABLE ? n - 1 : 0;
        memcpy(room, answer.text, *size);
        if (n > 0) {
            remember(memo, name, language, room, *size);
        }
    }
    pthread_mutex_unlock(&demangler.lock);
    return *size > 0;
}

int demangler_start(char *error, size_t size)
{
    int fds[2];
    pid_t pid, daemon = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        snprintf(error, size, "socketpair: %s", strerror(errno));
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        become_supervisor(fds[1], daemon);
    }
    close(fds[1]);
    if (pid < 0) {
        snprintf(error, size, "no process for names: %s", strerror(errno));
        close(fds[0]);
        return -1;
    }
    demangler.fd = fds[0];
    linkage_by(ask);
    return 0;
}

void demangler_stop(void)
{
    size_t i;

    if (demangler.fd >= 0) {
        close(demangler.fd);
        demangler.fd = -1;
    }
    for (i = 0; i < MEMO_SLOTS; i++) {
        free(demangler.memos[i].text);
        demangler.memos[i].text = NULL;
    }
}
