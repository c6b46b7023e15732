/*
 * Copyright (C) the ngx_symcache authors
 */
#include "demangler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "symbolication/symbolication.h"
#include "worker_pool/worker_pool.h"

#define CPU_MAX 50000000  /* ns that one name may take */
#define STEP_MS 100       /* until the worker's time is looked at again */
#define STEPS_MAX 20      /* of waiting, on a machine that is busy */
#define SPAWNER_MS 30000  /* then something else is wrong: a start may take ten
                             seconds, and is tried twice */
#define MEMO_SLOTS 4096   /* a power of two */
#define END_MS 1000       /* to hear how a worker has ended */
#define LOGGED_MAX 200    /* bytes of a name */
#define PAUSE_MS 1000     /* when none could be started, names stay as they are
                             so long: each would try again */

struct demangle_request {
    struct work_begin begin;
    char name[LINKAGE_NAME_MAX];
};

struct demangle_reply {
    struct work_head head;
    char text[LINKAGE_READABLE_MAX];
};

/* A remembered answer: the name, followed by the readable form. */
struct demangler_memo {
    char *text; /* NULL: nothing */
    uint32_t name_size;
    uint32_t readable_size; /* 0: it has none */
    uint32_t language;
};

static struct {
    int spawner; /* -1: there is no process, or none any more */
    pid_t worker; /* 0: there is none */
    int fd;       /* its socket */
    uint64_t failed; /* when none could be started; 0: it could */
    pthread_mutex_t lock;
    struct demangler_memo memos[MEMO_SLOTS];
} demangler = {.spawner = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* the worker -------------------------------------------------------------- */

/* Gives an order, and waits for its answer, which takes its place; that to an
 * earlier one may still come before it.  Returns false without an answer. */
static bool demangler_ask_spawner(struct spawner_message *message, unsigned ms,
                                  int *socket, size_t *n)
{
    const int order = message->order;
    struct pollfd event = {.fd = demangler.spawner, .events = POLLIN};
    size_t room = *n;

    if (!work_message_send(demangler.spawner, message, sizeof(*message), NULL,
                           0)) {
        return false;
    }
    do {
        *n = room;
        if (poll(&event, 1, (int)ms) <= 0 ||
            work_message_receive(demangler.spawner, message, sizeof(*message),
                                 socket, n) != sizeof(*message)) {
            return false;
        }
    } while (message->order != order);
    return true;
}

/* Returns false if the spawner is gone, or hangs. */
static bool demangler_start_worker(void)
{
    struct spawner_message message = {.order = SPAWNER_START};
    size_t n = 1;

    errno = 0;
    if (!demangler_ask_spawner(&message, SPAWNER_MS, &demangler.fd, &n)) {
        if (!work_message_is_lack(errno)) {
            return false;
        }
        log_warn(errno, "what starts workers cannot be asked for one");
        demangler.failed = clock_ms();
        return true;
    }
    demangler.worker = n == 1 ? message.pid : 0;
    demangler.failed = n == 1 ? 0 : clock_ms();
    if (n == 0) {
        spawner_log_error(message.error);
    }
    return true;
}

static void demangler_end_worker(void)
{
    const struct spawner_message order = {.order = SPAWNER_KILL,
                                          .pid = demangler.worker};

    work_message_send(demangler.spawner, &order, sizeof(order), NULL, 0);
    close(demangler.fd);
    demangler.worker = 0;
}

/* The same of one that has ended by itself.  Prints how, and returns whether
 * its question is not to blame. */
static bool demangler_reap_worker(char how[SPAWNER_END_SIZE])
{
    struct spawner_message message = {.order = SPAWNER_REAP,
                                      .pid = demangler.worker};
    size_t none = 0;

    close(demangler.fd);
    demangler.worker = 0;
    if (!demangler_ask_spawner(&message, END_MS, NULL, &none)) {
        snprintf(how, SPAWNER_END_SIZE, "died, and it is not known how");
        return false;
    }
    return spawner_print_end(how, message.status);
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

/* What came of waiting for the worker. */
enum wait {
    WAIT_ANSWER,
    WAIT_DIED,
    WAIT_KILLED,   /* from outside */
    WAIT_TOO_LONG, /* it computes for longer than a name may take */
    WAIT_STALLED,  /* it hardly runs, which is not the name's fault */
    WAIT_LACKS     /* memory */
};

static enum wait demangler_wait_for_answer(void)
{
    unsigned i;
    int64_t begin = cpu_time(demangler.worker);
    struct pollfd event = {.fd = demangler.fd, .events = POLLIN};

    for (i = 0; i < STEPS_MAX; i++) {
        if (poll(&event, 1, STEP_MS) > 0) {
            return WAIT_ANSWER;
        }
        if (cpu_time(demangler.worker) - begin > CPU_MAX) {
            return WAIT_TOO_LONG;
        }
    }
    return WAIT_STALLED;
}

/* Returns the size of the answer, or -1: there is no worker any more, as there
 * was no answer in time, or it has died; how is printed. */
static ssize_t demangler_ask_worker(const struct symc_string *name,
                                    uint32_t language,
                                    struct demangle_reply *answer,
                                    enum wait *waited,
                                    char how[SPAWNER_END_SIZE])
{
    static const char *const ends[] = {
        [WAIT_TOO_LONG] = "was killed: it took too long",
        [WAIT_STALLED] = "was killed: it hardly ran for two seconds",
        [WAIT_LACKS] = "has no memory"};
    struct demangle_request question = {
        .begin = {.head = {.message = WORK_BEGIN},
                  .kind = LINKAGE_WORK,
                  .limit = language}};
    size_t none = 0;
    ssize_t n = -1;

    *waited = WAIT_ANSWER;
    memcpy(question.name, name->data, name->size);
    if (work_message_send(demangler.fd, &question,
                          sizeof(question.begin) + name->size, NULL, 0)) {
        *waited = demangler_wait_for_answer();
        if (*waited == WAIT_ANSWER) {
            n = work_message_receive(demangler.fd, answer, sizeof(*answer),
                                     NULL, &none);
        }
    }
    if (*waited == WAIT_ANSWER && n < (ssize_t)sizeof(answer->head)) {
        *waited = demangler_reap_worker(how) ? WAIT_KILLED : WAIT_DIED;
        return -1;
    }
    if (*waited == WAIT_ANSWER && answer->head.message == WORK_CANNOT) {
        *waited = WAIT_LACKS;
    }
    if (*waited != WAIT_ANSWER) {
        demangler_end_worker();
        snprintf(how, SPAWNER_END_SIZE, "%s", ends[*waited]);
        n = -1;
    }
    return n;
}

/* the threads ------------------------------------------------------------- */

static struct demangler_memo *
demangler_find_readable(const struct symc_string *name, uint32_t language)
{
    size_t i;
    uint32_t hash = 2166136261u ^ language; /* FNV-1a */

    for (i = 0; i < name->size; i++) {
        hash = (hash ^ (uint8_t)name->data[i]) * 16777619u;
    }
    return &demangler.memos[(hash ^ hash >> 16) & (MEMO_SLOTS - 1)];
}

static void demangler_remember_readable(struct demangler_memo *memo,
                                        const struct symc_string *name,
                                        uint32_t language,
                                        const char *readable, size_t size)
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

/* Starts a worker if there is none.  Returns false if there cannot be one. */
static bool demangler_has_worker(void)
{
    if (demangler.worker == 0 && demangler.failed != 0 &&
        clock_since(demangler.failed) < PAUSE_MS) {
        return false;
    }
    if (demangler.worker == 0 && demangler.spawner != -1 &&
        !demangler_start_worker()) {
        spawner_lose();
        close(demangler.spawner);
        demangler.spawner = -1;
    }
    return demangler.worker != 0;
}

/* Asks the process.  Returns the size of the readable form, 0: there is none,
 * or -1: nobody can be asked now. */
static ssize_t demangler_exchange(const struct symc_string *name,
                                  uint32_t language,
                                  struct demangle_reply *answer)
{
    char how[SPAWNER_END_SIZE];
    enum wait waited;
    bool is_new;
    ssize_t n;

    do { /* one that was there may have died of something else */
        is_new = demangler.worker == 0;
        if (!demangler_has_worker()) {
            return -1;
        }
        n = demangler_ask_worker(name, language, answer, &waited, how);
    } while (n < 0 && waited <= WAIT_KILLED && !is_new);
    if (n < 0) {
        log_warn(0,
                 "a worker that makes names readable %s: it had the name "
                 "\"%.*s\" (%u bytes), which stays as it is",
                 how, (int)(name->size < LOGGED_MAX ? name->size : LOGGED_MAX),
                 name->data, (unsigned)name->size);
        linkage_failed();
        return waited == WAIT_DIED || waited == WAIT_TOO_LONG ? 0 : -1;
    }
    return answer->head.message == WORK_DONE
               ? n - (ssize_t)sizeof(answer->head)
               : 0;
}

static bool demangler_ask_child(const struct symc_string *name,
                                uint32_t language, char *room, size_t *size)
{
    ssize_t n;
    struct demangle_reply answer;
    struct demangler_memo *memo;

    pthread_mutex_lock(&demangler.lock);
    memo = demangler_find_readable(name, language);
    if (memo->text != NULL && memo->name_size == name->size &&
        memo->language == language &&
        memcmp(memo->text, name->data, name->size) == 0) {
        *size = memo->readable_size;
        memcpy(room, memo->text + memo->name_size, *size);
    } else {
        n = demangler_exchange(name, language, &answer);
        *size = n > 0 ? (size_t)n : 0;
        memcpy(room, answer.text, *size);
        if (n >= 0) {
            demangler_remember_readable(memo, name, language, room, *size);
        }
    }
    pthread_mutex_unlock(&demangler.lock);
    return *size > 0;
}

void demangler_start(int spawner)
{
    demangler.spawner = spawner;
    linkage_by(demangler_ask_child);
}

void demangler_stop(void)
{
    size_t i;

    if (demangler.worker != 0) {
        demangler_end_worker();
    }
    if (demangler.spawner != -1) {
        close(demangler.spawner);
        demangler.spawner = -1;
    }
    for (i = 0; i < MEMO_SLOTS; i++) {
        free(demangler.memos[i].text);
        demangler.memos[i].text = NULL;
    }
}
