/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pending_calls.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/fd_close.h"
#include "base/hash_table.h"
#include "proto/key.h"

struct pending_answer {
    struct api_answer answer;
    unsigned refs;
    char data[];
};

LIST_HEAD(polls, pending_poll);

struct pending_call {
    TAILQ_ENTRY(pending_call) entry; /* of those that have ended */
    uint64_t hash;
    uint64_t ended;             /* clock_ms(); 0: the call goes on */
    struct pending_answer *answer; /* or NULL: there was no room */
    struct polls polls;         /* that wait for the end */
    char id[PENDING_CALL_ID_SIZE];
};

struct pending_inbox {
    struct polls polls; /* that are to be told */
    struct event *event;
    int fd; /* an eventfd */
};

static struct {
    pthread_mutex_t lock;
    struct table table;
    TAILQ_HEAD(, pending_call) ended; /* the first one to end first */
    size_t size;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .ended = TAILQ_HEAD_INITIALIZER(all.ended)};

/* under the lock ----------------------------------------------------------- */

static void unref_pending_answer(struct pending_answer *answer)
{
    if (answer != NULL && --answer->refs == 0) {
        free(answer);
    }
}

static size_t pending_size_of(const struct pending_call *pending)
{
    return sizeof(*pending) +
           (pending->answer != NULL ? pending->answer->answer.size : 0);
}

static void drop_pending(struct pending_call *pending)
{
    all.size -= pending_size_of(pending);
    TAILQ_REMOVE(&all.ended, pending, entry);
    table_remove(&all.table, pending->hash, (uintptr_t)pending);
    unref_pending_answer(pending->answer);
    free(pending);
}

static void evict_pending(void)
{
    uint64_t now = clock_ms();
    struct pending_call *pending;

    while ((pending = TAILQ_FIRST(&all.ended)) != NULL &&
           now - pending->ended > PENDING_CALL_ANSWERED_MS) {
        drop_pending(pending);
    }
}

static bool pending_has_room(size_t size, size_t most)
{
    return size <= most && all.size <= most - size;
}

static struct pending_call *find_pending(const char *id)
{
    uint64_t hash = table_hash_text(&all.table, id);
    struct pending_call *pending;
    size_t at = 0;

    while ((pending = (struct pending_call *)table_next(&all.table, hash,
                                                        &at)) != NULL &&
           strcmp(pending->id, id) != 0) {
    }
    return pending;
}

/* calls -------------------------------------------------------------------- */

/* A random UUID (RFC 9562, version 4) but for the digits of the node. */
static int make_pending_id(char id[PENDING_CALL_ID_SIZE], unsigned node)
{
    uint8_t b[16];

    if (getrandom(b, sizeof(b), GRND_NONBLOCK) != sizeof(b)) {
        return -1;
    }
    b[0] = (uint8_t)(node >> 8);
    b[1] = (uint8_t)node;
    b[6] = (uint8_t)(0x40 | (b[6] & 0x0F));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3F));
    (void)symcache_debug_id_write(id, b, 0);
    return 0;
}

struct pending_call *pending_call_new(unsigned node, size_t most)
{
    struct pending_call *pending = calloc(1, sizeof(*pending));
    bool is_in = false;

    if (pending == NULL || make_pending_id(pending->id, node) != 0) {
        free(pending);
        return NULL;
    }
    LIST_INIT(&pending->polls);
    pending->hash = table_hash_text(&all.table, pending->id);
    pthread_mutex_lock(&all.lock);
    evict_pending();
    if (pending_has_room(sizeof(*pending), most) &&
        table_add(&all.table, pending->hash, (uintptr_t)pending) == 0) {
        all.size += sizeof(*pending);
        is_in = true;
    }
    pthread_mutex_unlock(&all.lock);
    if (!is_in) {
        free(pending);
        return NULL;
    }
    return pending;
}

const char *pending_call_id(const struct pending_call *pending)
{
    return pending->id;
}

static struct pending_answer *copy_pending_reply(const struct api_reply *reply)
{
    struct pending_answer *answer = malloc(sizeof(*answer) + reply->body->size);

    if (answer != NULL) {
        answer->refs = 1;
        answer->answer = (struct api_answer){.status = reply->status,
                                             .type = reply->type,
                                             .data = answer->data,
                                             .size = reply->body->size};
        if (reply->body->size > 0) {
            memcpy(answer->data, reply->body->data, reply->body->size);
        }
    }
    return answer;
}

bool pending_call_end(struct pending_call *pending,
                      const struct api_reply *reply, size_t most)
{
    struct pending_answer *answer = copy_pending_reply(reply);
    struct pending_poll *poll;
    bool is_kept;

    pthread_mutex_lock(&all.lock);
    evict_pending();
    pending->ended = clock_ms();
    TAILQ_INSERT_TAIL(&all.ended, pending, entry);
    while ((poll = LIST_FIRST(&pending->polls)) != NULL) {
        LIST_REMOVE(poll, entry);
        LIST_INSERT_HEAD(&poll->inbox->polls, poll, entry);
        poll->answer = answer;
        if (answer != NULL) {
            answer->refs++;
        }
        eventfd_write(poll->inbox->fd, 1);
    }
    is_kept = answer != NULL && pending_has_room(answer->answer.size, most);
    if (is_kept) {
        pending->answer = answer;
        all.size += answer->answer.size;
    } else {
        unref_pending_answer(answer);
    }
    pthread_mutex_unlock(&all.lock);
    return is_kept;
}

/* polls -------------------------------------------------------------------- */

static void on_pending_ended(evutil_socket_t fd, short what, void *arg)
{
    struct pending_inbox *inbox = arg;
    struct pending_poll *poll;
    eventfd_t n;

    eventfd_read(fd, &n);
    do {
        pthread_mutex_lock(&all.lock);
        poll = LIST_FIRST(&inbox->polls);
        if (poll != NULL) {
            LIST_REMOVE(poll, entry);
            poll->inbox = NULL;
        }
        pthread_mutex_unlock(&all.lock);
        if (poll != NULL) {
            poll->told(poll->arg);
        }
    } while (poll != NULL);
}

struct pending_inbox *pending_inbox_new(struct event_base *base)
{
    struct pending_inbox *inbox = calloc(1, sizeof(*inbox));

    if (inbox == NULL) {
        return NULL;
    }
    LIST_INIT(&inbox->polls);
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    inbox->event = event_new(base, inbox->fd, EV_READ | EV_PERSIST,
                             on_pending_ended, inbox);
    if (inbox->fd == -1 || inbox->event == NULL ||
        event_add(inbox->event, NULL) != 0) {
        pending_inbox_free(inbox);
        return NULL;
    }
    return inbox;
}

void pending_inbox_free(struct pending_inbox *inbox)
{
    if (inbox == NULL) {
        return;
    }
    event_drop(inbox->event);
    fd_close(inbox->fd);
    free(inbox);
}

enum api_poll_news pending_poll_start(struct pending_poll *poll,
                                      struct pending_inbox *inbox,
                                      const char *id, void (*told)(void *arg),
                                      void *arg)
{
    enum api_poll_news news = API_POLL_UNKNOWN;
    struct pending_call *pending;

    poll->told = told;
    poll->arg = arg;
    pthread_mutex_lock(&all.lock);
    evict_pending();
    pending = find_pending(id);
    if (pending != NULL && pending->ended == 0) {
        poll->inbox = inbox;
        LIST_INSERT_HEAD(&pending->polls, poll, entry);
        news = API_POLL_RUNS;
    } else if (pending != NULL) {
        poll->answer = pending->answer;
        if (poll->answer != NULL) {
            poll->answer->refs++;
        }
        news = API_POLL_ENDED;
    }
    pthread_mutex_unlock(&all.lock);
    return news;
}

const struct api_answer *pending_poll_answer(const struct pending_poll *poll)
{
    const struct pending_answer *answer;

    /* a call that goes on may just now end in another thread */
    pthread_mutex_lock(&all.lock);
    answer = poll->answer;
    pthread_mutex_unlock(&all.lock);
    return answer != NULL ? &answer->answer : NULL;
}

void pending_poll_end(struct pending_poll *poll)
{
    pthread_mutex_lock(&all.lock);
    if (poll->inbox != NULL) {
        LIST_REMOVE(poll, entry);
        poll->inbox = NULL;
    }
    unref_pending_answer(poll->answer);
    poll->answer = NULL;
    pthread_mutex_unlock(&all.lock);
}

/* the process -------------------------------------------------------------- */

void pending_calls_evict(void)
{
    pthread_mutex_lock(&all.lock);
    evict_pending();
    pthread_mutex_unlock(&all.lock);
}

void pending_calls_clear(void)
{
    struct pending_call *pending;

    pthread_mutex_lock(&all.lock);
    while ((pending = TAILQ_FIRST(&all.ended)) != NULL) {
        drop_pending(pending);
    }
    table_free(&all.table);
    pthread_mutex_unlock(&all.lock);
}

size_t pending_calls_bytes(void)
{
    size_t size;

    pthread_mutex_lock(&all.lock);
    size = all.size;
    pthread_mutex_unlock(&all.lock);
    return size;
}
