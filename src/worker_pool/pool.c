/*
 * Copyright (C) the ngx_symcache authors
 */
#include "worker_pool.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/running_clock.h"
#include "base/scarce.h"
#include "base/spool.h"
#include "spawner.h"

#define READY 2       /* workers that are kept ready, once one was needed */
#define IDLE_MAX 32   /* used ones that wait for a body of their domain */
#define IDLE_MS 60000 /* so long */
#define BODIES_MAX 1000
#define HELD_MAX (WORK_SLOTS / 2) /* files; a body may add as many */
#define TIDY_SECONDS 5
#define SPAWNER_MS 30000 /* a start may take ten seconds, and is tried twice */

/* A file that a worker has mapped; its slot is its place in the list. */
struct pool_held {
    dev_t device;
    ino_t inode;
};

struct pool_process {
    LIST_ENTRY(pool_process) entry; /* of those that wait for a body */
    struct work_pool *pool;
    struct event *event; /* of its socket */
    int fd;
    pid_t pid; /* 0: it is reaped */
    char domain[WORK_DOMAIN_MAX];
    bool is_used;
    unsigned bodies;
    uint64_t idle_since;
    struct work *work; /* that it does, or NULL */
    struct pool_held *held;
    size_t nheld;
    size_t room;
};

LIST_HEAD(processes, pool_process);
TAILQ_HEAD(works, work);

struct work {
    TAILQ_ENTRY(work) entry; /* of waiting or of ending */
    struct work_pool *pool;
    struct pool_process
        *process;        /* NULL: it waits for one, or has none any more */
    struct event *timer; /* its worker is silent, or this is what is told */
    struct running_clock clock;
    uint64_t due; /* by this clock: its worker has been silent for too long */
    struct work_order order;
    char domain[WORK_DOMAIN_MAX];
    char *order_text;
    struct spool *body; /* NULL: it was sent */
    uint64_t body_size;
    work_fn told;
    void *arg;
    char *text;
    size_t size;
    size_t room;
    uint32_t status;
    bool is_waiting; /* in that list */
    bool is_ending;  /* the same */
    bool has_news;   /* the worker waits for us */
    bool is_dead;
    enum work_news end; /* of one that is dead */
    char loss[SPAWNER_END_SIZE + 16];
};

struct work_pool {
    struct event_base *base;
    struct work_counts *counts;
    struct event *spawned;
    struct event *tidy;
    int spawner;
    unsigned ordered; /* workers that are not there yet */
    uint64_t heard;   /* when the spawner had last nothing to do, or answered */
    unsigned nready;
    unsigned nidle;
    struct processes ready;
    struct processes idle; /* the last used one first */
    struct works waiting; /* for a worker */
    struct works ending;  /* their worker has ended: how is not known yet */
    char packet[WORK_MESSAGE_MAX];
};

/* workers ------------------------------------------------------------------ */

static void pool_order_worker(struct work_pool *pool)
{
    const struct spawner_message order = {.order = SPAWNER_START};

    if (work_message_send(pool->spawner, &order, sizeof(order), NULL, 0)) {
        if (pool->ordered++ == 0) {
            pool->heard = clock_ms();
        }
    } else if (!TAILQ_EMPTY(&pool->waiting)) { /* else nothing is lost */
        log_warn(errno, "what starts workers cannot be asked for one");
    }
}

/* So that there is one for each work that waits, and some ready. */
static void pool_order_workers(struct work_pool *pool)
{
    unsigned needed = READY, before;
    const struct work *work;

    TAILQ_FOREACH(work, &pool->waiting, entry)
    {
        needed++;
    }
    while (pool->nready + pool->ordered < needed) {
        before = pool->ordered;
        pool_order_worker(pool);
        if (pool->ordered == before) {
            break;
        }
    }
}

/* It is in no list. */
static void pool_free_process(struct pool_process *process)
{
    const struct spawner_message order = {.order = SPAWNER_KILL,
                                          .pid = process->pid};

    if (order.pid != 0) {
        work_message_send(process->pool->spawner, &order, sizeof(order), NULL,
                          0);
    }
    atomic_fetch_sub(&process->pool->counts->workers, 1);
    event_drop(process->event);
    close(process->fd);
    free(process->held);
    free(process);
}

static void pool_drop_waiting(struct pool_process *process)
{
    unsigned *n = process->is_used ? &process->pool->nidle
                                   : &process->pool->nready;

    --*n;
    LIST_REMOVE(process, entry);
    pool_free_process(process);
}

/* The worker of a work has done it, and may do another one. */
static void pool_release_process(struct pool_process *process)
{
    struct work_pool *pool = process->pool;
    struct pool_process *last, *next;

    process->work = NULL;
    if (process->domain[0] == '\0' || process->bodies >= BODIES_MAX ||
        process->nheld >= HELD_MAX) {
        pool_free_process(process);
        return;
    }
    process->idle_since = clock_ms();
    LIST_INSERT_HEAD(&pool->idle, process, entry);
    if (++pool->nidle > IDLE_MAX) {
        last = process;
        while ((next = LIST_NEXT(last, entry)) != NULL) {
            last = next;
        }
        pool_drop_waiting(last);
    }
}

static void pool_on_tidy(evutil_socket_t fd, short what, void *arg)
{
    struct work_pool *pool = arg;
    struct pool_process *process = LIST_FIRST(&pool->idle), *next;

    for (; process != NULL; process = next) {
        next = LIST_NEXT(process, entry);
        if (clock_since(process->idle_since) > IDLE_MS) {
            pool_drop_waiting(process);
        }
    }
}

/* works -------------------------------------------------------------------- */

/* Returns false if its worker has been silent for too long. */
static bool pool_wait_on(struct work *work)
{
    struct timeval wait;

    return running_clock_wait(&work->clock, work->due, &wait) &&
           event_add(work->timer, &wait) == 0;
}

static void pool_wait_for_worker(struct work *work)
{
    work->due = running_clock_ms(&work->clock) + work->order.ms;
    (void)pool_wait_on(work);
}

/* Told from the loop, as callers do not expect it from their own call. */
static void pool_end_dead_work(struct work *work, enum work_news end)
{
    static const struct timeval now;
    struct pool_process *process = work->process;

    work->is_dead = true;
    work->end = end;
    work->process = NULL;
    if (work->is_waiting) {
        TAILQ_REMOVE(&work->pool->waiting, work, entry);
        work->is_waiting = false;
    }
    if (work->is_ending) {
        TAILQ_REMOVE(&work->pool->ending, work, entry);
        work->is_ending = false;
    }
    if (process != NULL) {
        pool_free_process(process);
    }
    if (end == WORK_DIED) {
        atomic_fetch_add(&work->pool->counts->died, 1);
    }
    event_add(work->timer, &now);
}

/* A work has lost its worker: says how, for which body, and what follows. */
static void pool_lose_worker(struct work *work, enum work_news end,
                             const char *how)
{
    snprintf(work->loss, sizeof(work->loss), "its worker %s", how);
    log_error(0,
              "a worker %s: it had the body of protocol=%s size=%llu%s%s; %s",
              how, work->order.name, (unsigned long long)work->body_size,
              work->domain[0] != '\0' ? " " : "", work->domain,
              end == WORK_DIED ? "the request fails"
                               : "its client is told to try again");
    pool_end_dead_work(work, end);
}

/* Has the spawner say how it ended. */
static void pool_await_end(struct work *work)
{
    struct pool_process *process = work->process;
    const struct spawner_message order = {.order = SPAWNER_REAP,
                                          .pid = process->pid};

    event_del(process->event);
    if (!work_message_send(work->pool->spawner, &order, sizeof(order), NULL,
                           0)) {
        pool_lose_worker(work, WORK_DIED, "died, and cannot be asked for");
        return;
    }
    work->is_ending = true;
    TAILQ_INSERT_TAIL(&work->pool->ending, work, entry);
    pool_wait_for_worker(work);
}

/* A worker whose end was awaited has this status. */
static void pool_on_ended(struct work_pool *pool, pid_t pid, int status)
{
    char how[SPAWNER_END_SIZE];
    struct work *work;
    bool is_killed;

    TAILQ_FOREACH(work, &pool->ending, entry)
    {
        if (work->process->pid == pid) {
            break;
        }
    }
    if (work == NULL) {
        return; /* its call has ended meanwhile */
    }
    work->process->pid = 0;
    is_killed = spawner_print_end(how, status);
    pool_lose_worker(work, is_killed ? WORK_UNABLE : WORK_DIED, how);
}

static void pool_end_late_work(struct work *work)
{
    char how[SPAWNER_END_SIZE];

    if (work->is_ending) {
        pool_lose_worker(work, WORK_DIED, "died, and it is not known how");
    } else if (!work->is_waiting) {
        snprintf(how, sizeof(how), "was killed: it said nothing for %u ms",
                 work->order.ms);
        pool_lose_worker(work, WORK_DIED, how);
    } else {
        log_warn(0, "no worker was started within %u ms", work->order.ms);
        if (clock_since(work->pool->heard) > SPAWNER_MS) {
            spawner_lose();
        }
        pool_end_dead_work(work, WORK_UNABLE);
    }
}

static void pool_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct work *work = arg;

    if (work->is_dead) {
        work->told(work->arg, work->end);
    } else if (!pool_wait_on(work)) {
        pool_end_late_work(work);
    }
}

static void pool_tell_of_work(struct work *work, enum work_news news)
{
    event_del(work->timer);
    work->has_news = true;
    if (news != WORK_WANTS) {
        pool_release_process(work->process);
        work->process = NULL;
    }
    work->told(work->arg, news);
}

/* Returns 0, or -1 without memory. */
static int pool_add_text(struct work *work, const char *text, size_t size)
{
    if (array_need(&work->text, &work->room, work->size + size + 1, 1) != 0) {
        return -1;
    }
    memcpy(work->text + work->size, text, size);
    work->size += size;
    work->text[work->size] = '\0';
    return 0;
}

/* May the worker say that? */
static bool pool_is_allowed(const struct work *work,
                            const struct work_head *head, size_t size)
{
    return !work->has_news && head->message >= WORK_TEXT &&
           head->message <= WORK_CANNOT && head->message != WORK_HAVE &&
           size <= work->order.most - work->size;
}

/* A packet of a worker that has something to do. */
static void pool_take_packet(struct work *work, const char *packet,
                             size_t size)
{
    struct work_head head;

    memcpy(&head, packet, sizeof(head));
    size -= sizeof(head);
    if (!pool_is_allowed(work, &head, size)) {
        pool_lose_worker(work, WORK_DIED,
                         "was killed: it said what it may not");
        return;
    }
    if (head.message == WORK_CANNOT) {
        pool_lose_worker(work, WORK_UNABLE,
                         "has no memory, or cannot lock itself in");
        return;
    }
    if (pool_add_text(work, packet + sizeof(head), size) != 0) {
        pool_lose_worker(work, WORK_UNABLE,
                         "says more than there is memory for");
        return;
    }
    work->status = head.detail;
    switch (head.message) {
    case WORK_TEXT:
        pool_wait_for_worker(work);
        break;
    case WORK_ASKS:
        pool_tell_of_work(work, WORK_WANTS);
        break;
    case WORK_DONE:
        pool_tell_of_work(work, WORK_ENDED);
        break;
    default:
        pool_tell_of_work(work, WORK_REFUSED);
        break;
    }
}

static void pool_on_packet(evutil_socket_t fd, short what, void *arg)
{
    struct pool_process *process = arg;
    struct work *work = process->work;
    char *packet = process->pool->packet, how[SPAWNER_END_SIZE];
    ssize_t n = work_message_receive(fd, packet, WORK_MESSAGE_MAX, NULL, NULL);

    if (n == -1 && errno == EAGAIN) {
        return;
    }
    if (n == -1 && errno == ECONNRESET) {
        /* It has ended without reading all; what it said is behind that. */
        n = work_message_receive(fd, packet, WORK_MESSAGE_MAX, NULL, NULL);
    }
    if (work == NULL) {
        pool_drop_waiting(process); /* it has nothing to say */
    } else if (n == -1) {
        snprintf(how, sizeof(how), "cannot be heard: %s", strerror(errno));
        pool_lose_worker(work, errno == EMSGSIZE ? WORK_DIED : WORK_UNABLE,
                         how);
    } else if (n < (ssize_t)sizeof(struct work_head)) {
        pool_await_end(work);
    } else {
        pool_take_packet(work, packet, (size_t)n);
    }
}

/* The body goes along if it has no file and there is room for it. */
static bool pool_send_begin(struct work *work,
                            const struct pool_process *process)
{
    struct work_begin *packet = (struct work_begin *)work->pool->packet;
    struct spool *body = work->body;
    size_t size = work->order_text != NULL ? strlen(work->order_text) : 0;
    struct iovec pieces[2] = {{packet, sizeof(*packet) + size}};
    int fd = -1;

    *packet = (struct work_begin){.head = {WORK_BEGIN, 0},
                                  .kind = work->order.kind,
                                  .limit = work->order.limit,
                                  .text = (uint32_t)size};
    if (size > 0) {
        memcpy(packet + 1, work->order_text, size);
    }
    if (body->fd == -1 && body->size <= WORK_MESSAGE_MAX - pieces[0].iov_len) {
        pieces[1] = (struct iovec){body->data, (size_t)body->size};
    } else if ((fd = spool_file(body)) == -1) {
        return false;
    } else {
        spool_seal(body);
    }
    return work_message_send_pieces(process->fd, pieces, &fd, fd != -1);
}

static void pool_begin_work(struct work *work, struct pool_process *process)
{
    process->work = work;
    process->is_used = true;
    process->bodies++;
    memcpy(process->domain, work->domain, sizeof(process->domain));
    work->process = process;
    atomic_fetch_add(&work->pool->counts->bodies, 1);
    pool_wait_for_worker(work);
    if (!pool_send_begin(work, process)) {
        log_warn(errno, "a worker was not sent its body");
        pool_end_dead_work(work, WORK_UNABLE);
    }
    spool_unref(work->body);
    work->body = NULL;
}

/* the spawner -------------------------------------------------------------- */

static void pool_add_process(struct work_pool *pool, int fd, pid_t pid)
{
    struct pool_process *process = calloc(1, sizeof(*process));
    struct work *work = TAILQ_FIRST(&pool->waiting);

    if (process == NULL) {
        close(fd); /* it ends then */
        return;
    }
    process->pool = pool;
    process->fd = fd;
    process->pid = pid;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    atomic_fetch_add(&pool->counts->workers, 1);
    process->event = event_new(pool->base, fd, EV_READ | EV_PERSIST,
                               pool_on_packet, process);
    if (process->event == NULL || event_add(process->event, NULL) != 0) {
        pool_free_process(process);
    } else if (work != NULL) {
        TAILQ_REMOVE(&pool->waiting, work, entry);
        work->is_waiting = false;
        pool_begin_work(work, process);
    } else {
        LIST_INSERT_HEAD(&pool->ready, process, entry);
        pool->nready++;
    }
}

/* No worker can be started, now or any more. */
static void pool_fail_waiting(struct work_pool *pool)
{
    struct work *work;

    while ((work = TAILQ_FIRST(&pool->waiting)) != NULL) {
        pool_end_dead_work(work, WORK_UNABLE);
    }
}

static void pool_on_spawned(evutil_socket_t fd, short what, void *arg)
{
    struct work_pool *pool = arg;
    struct work *work;
    struct spawner_message spawned;
    int socket;
    size_t n = 1;
    ssize_t size =
        work_message_receive(fd, &spawned, sizeof(spawned), &socket, &n);

    if (size == -1 && errno == EAGAIN) {
        return;
    }
    if (size == -1 && work_message_is_lack(errno)) {
        /* the loop tries again */
        if (!TAILQ_EMPTY(&pool->waiting)) {
            log_warn(errno, "what starts workers cannot be heard");
            pool_fail_waiting(pool);
        }
        return;
    }
    pool->heard = clock_ms();
    if (size == sizeof(spawned) && spawned.order == SPAWNER_REAP) {
        pool_on_ended(pool, spawned.pid, spawned.status);
        return;
    }
    pool->ordered -= pool->ordered > 0;
    if (size == sizeof(spawned) && n == 1) {
        atomic_fetch_add(&pool->counts->started, 1);
        pool_add_process(pool, socket, spawned.pid);
        return;
    }
    if (size != sizeof(spawned)) {
        spawner_lose();
        event_del(pool->spawned);
        pool->ordered = 0;
        while ((work = TAILQ_FIRST(&pool->ending)) != NULL) {
            pool_lose_worker(work, WORK_UNABLE,
                             "died with what starts workers");
        }
    } else if (!TAILQ_EMPTY(&pool->waiting)) {
        spawner_log_error(spawned.error); /* else nothing is lost */
    }
    pool_fail_waiting(pool);
}

/* the pool ----------------------------------------------------------------- */

struct work_pool *work_pool_new(struct event_base *base, int spawner,
                                struct work_counts *counts)
{
    static const struct timeval often = {.tv_sec = TIDY_SECONDS};
    struct work_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL) {
        return NULL;
    }
    pool->base = base;
    pool->counts = counts;
    pool->spawner = spawner;
    LIST_INIT(&pool->ready);
    LIST_INIT(&pool->idle);
    TAILQ_INIT(&pool->waiting);
    TAILQ_INIT(&pool->ending);
    fcntl(spawner, F_SETFL, O_NONBLOCK);
    pool->spawned =
        event_new(base, spawner, EV_READ | EV_PERSIST, pool_on_spawned, pool);
    pool->tidy = event_new(base, -1, EV_PERSIST, pool_on_tidy, pool);
    if (pool->spawned == NULL || pool->tidy == NULL ||
        event_add(pool->spawned, NULL) != 0 ||
        event_add(pool->tidy, &often) != 0) {
        work_pool_free(pool);
        return NULL;
    }
    return pool;
}

void work_pool_free(struct work_pool *pool)
{
    struct pool_process *process;

    if (pool == NULL) {
        return;
    }
    while ((process = LIST_FIRST(&pool->ready)) != NULL ||
           (process = LIST_FIRST(&pool->idle)) != NULL) {
        pool_drop_waiting(process);
    }
    event_drop(pool->spawned);
    event_drop(pool->tidy);
    free(pool);
}

/* A worker for a work: one of its domain, or one that is ready.  NULL: one has
 * to be started. */
static struct pool_process *pool_find_process(struct work_pool *pool,
                                              const struct work *work)
{
    struct pool_process *process = LIST_FIRST(&pool->idle);

    while (process != NULL && (work->domain[0] == '\0' ||
                               strcmp(process->domain, work->domain) != 0)) {
        process = LIST_NEXT(process, entry);
    }
    if (process != NULL) {
        pool->nidle--;
    } else if ((process = LIST_FIRST(&pool->ready)) != NULL) {
        pool->nready--;
    } else {
        return NULL;
    }
    LIST_REMOVE(process, entry);
    return process;
}

struct work *work_start(struct work_pool *pool, const struct work_order *order,
                        work_fn told, void *arg)
{
    struct work *work = calloc(1, sizeof(*work));
    struct pool_process *process;

    if (work == NULL) {
        return NULL;
    }
    work->pool = pool;
    work->order = *order;
    work->told = told;
    work->arg = arg;
    work->timer = evtimer_new(pool->base, pool_on_timer, work);
    work->body = spool_ref(order->body);
    work->body_size = order->body->size;
    work->order_text = order->text != NULL ? strdup(order->text) : NULL;
    if (order->domain != NULL && strlen(order->domain) < WORK_DOMAIN_MAX) {
        memcpy(work->domain, order->domain, strlen(order->domain));
    }
    if (work->timer == NULL ||
        (order->text != NULL &&
         (work->order_text == NULL ||
          strlen(order->text) >
              WORK_MESSAGE_MAX - sizeof(struct work_begin)))) {
        work_free(work);
        return NULL;
    }
    process = pool_find_process(pool, work);
    if (process != NULL) {
        pool_begin_work(work, process);
    } else {
        work->is_waiting = true;
        TAILQ_INSERT_TAIL(&pool->waiting, work, entry);
        pool_wait_for_worker(work);
    }
    pool_order_workers(pool);
    if (pool->ordered == 0) {
        pool_fail_waiting(pool);
    }
    return work;
}

char *work_take_text(struct work *work, size_t *size)
{
    char *text = work->text;

    *size = work->size;
    work->text = NULL;
    work->size = work->room = 0;
    return text;
}

uint32_t work_status(const struct work *work)
{
    return work->status;
}

const char *work_loss(const struct work *work)
{
    return work->loss;
}

void work_free(struct work *work)
{
    if (work == NULL) {
        return;
    }
    if (work->is_waiting) {
        TAILQ_REMOVE(&work->pool->waiting, work, entry);
    }
    if (work->is_ending) {
        TAILQ_REMOVE(&work->pool->ending, work, entry);
    }
    if (work->process != NULL) {
        pool_free_process(work->process);
    }
    event_drop(work->timer);
    spool_unref(work->body);
    free(work->order_text);
    free(work->text);
    free(work);
}

/* files -------------------------------------------------------------------- */

/* A packet that fills. */
struct pool_sending {
    struct work *work;
    size_t nfiles;
    size_t nfds;
    int fds[WORK_FILES_MAX];
};

#define FILES_MAX                                                          \
    ((WORK_MESSAGE_MAX - sizeof(struct work_head)) / sizeof(struct work_file))

static bool pool_send_files(struct pool_sending *sending, bool is_last)
{
    struct work_head *head = (struct work_head *)sending->work->pool->packet;
    bool is_sent;

    *head = (struct work_head){WORK_HAVE, is_last};
    is_sent = work_message_send(sending->work->process->fd, head,
                                sizeof(*head) +
                                    sending->nfiles * sizeof(struct work_file),
                                sending->fds, sending->nfds);
    while (sending->nfds > 0) {
        close(sending->fds[--sending->nfds]);
    }
    sending->nfiles = 0;
    return is_sent;
}

/* The slot of a file, which is new when it is the next one; or WORK_NO_SLOT
 * without memory. */
static uint32_t pool_slot_of(struct pool_process *process,
                             const struct work_input_file *input)
{
    size_t i;

    for (i = 0; i < process->nheld; i++) {
        if (process->held[i].inode == input->inode &&
            process->held[i].device == input->device) {
            return (uint32_t)i;
        }
    }
    return i < WORK_SLOTS && array_need(&process->held, &process->room, i + 1,
                                        sizeof(process->held[0])) == 0
               ? (uint32_t)i
               : WORK_NO_SLOT;
}

/* Returns false if a packet could not be sent, or a file not be opened. */
static bool pool_add_file(struct pool_sending *sending,
                          const struct work_input_file *input,
                          int (*open)(void *arg, size_t input), void *arg,
                          size_t index)
{
    struct pool_process *process = sending->work->process;
    struct work_file *files =
        (struct work_file *)(sending->work->pool->packet +
                             sizeof(struct work_head));
    struct work_file file = {.index = input->index,
                             .what = input->what,
                             .state = input->state,
                             .slot = WORK_NO_SLOT};
    int fd;

    if (input->inode != 0) {
        file.slot = pool_slot_of(process, input);
        if (file.slot == WORK_NO_SLOT) {
            return false;
        }
    }
    if (file.slot == process->nheld) {
        errno = 0;
        fd = open(arg, index);
        if (fd >= 0) {
            process->held[process->nheld++] =
                (struct pool_held){input->device, input->inode};
            sending->fds[sending->nfds++] = fd;
            atomic_fetch_add(&process->pool->counts->given, 1);
            file.is_new = 1;
        } else if (is_scarce(errno)) {
            return false; /* else it was replaced meanwhile */
        } else {
            file.slot = WORK_NO_SLOT;
        }
    }
    files[sending->nfiles++] = file;
    return (sending->nfiles < FILES_MAX && sending->nfds < WORK_FILES_MAX) ||
           pool_send_files(sending, false);
}

void work_send_files(struct work *work,
                     const struct work_input_file *input_files, size_t n,
                     int (*open)(void *arg, size_t input), void *arg)
{
    struct pool_sending sending = {.work = work};
    size_t i;

    if (work->is_dead || work->is_ending) {
        return; /* since it asked: its timer tells of it, or the spawner */
    }
    work->has_news = false;
    pool_wait_for_worker(work);
    for (i = 0; i < n; i++) {
        if (!pool_add_file(&sending, &input_files[i], open, arg, i)) {
            break;
        }
    }
    if (i == n && pool_send_files(&sending, true)) {
        return;
    }
    log_warn(errno, "a worker was not sent its files");
    while (sending.nfds > 0) {
        close(sending.fds[--sending.nfds]);
    }
    pool_end_dead_work(work, WORK_UNABLE);
}

void work_give_up(struct work *work)
{
    if (!work->is_dead) {
        pool_end_dead_work(work, WORK_UNABLE);
    }
}
