/*
 * Copyright (C) the ngx_symcache authors
 *
 * Calls that go on after their connection has waited for long enough, and for
 * a while their answers.  A poll finds one by its id, in whichever thread it
 * runs, and waits for its end.  For all threads; only calls that go on come
 * here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include "symbolicated/api/api.h"

#define PENDING_CALL_ID_SIZE 37 /* "8-4-4-4-12" and a NUL */

/* How long there is an answer after the call's end. */
#define PENDING_CALL_ANSWERED_MS (90 * 1000)

struct event_base;
struct pending_call;

/*
 * A call goes on.  Its id begins with the four digits of the node.  most is how
 * many bytes all that is kept may take.  Returns NULL when there is no room.
 */
struct pending_call *pending_call_new(unsigned node, size_t most);

const char *pending_call_id(const struct pending_call *pending);

/* The call has ended, and the caller must not use the pending entry any more.
 * Polls that wait get the answer, a copy of the reply; later ones get it if
 * there is room.  Returns whether there is. */
bool pending_call_end(struct pending_call *pending,
                      const struct api_reply *reply, size_t most);

/* Where a thread learns that calls have ended which its polls wait for.  NULL
 * without memory or descriptors. */
struct pending_inbox *pending_inbox_new(struct event_base *base);
void pending_inbox_free(struct pending_inbox *inbox); /* NULL is allowed */

/* A poll of a call, of the thread of its inbox.  All zero before and after. */
struct pending_poll {
    LIST_ENTRY(pending_poll) entry; /* of those that wait, or are to be told */
    struct pending_inbox *inbox;    /* NULL: it is in no list */
    struct pending_answer *answer;  /* with a reference; or NULL */
    void (*told)(void *arg);
    void *arg;
};

/*
 * Looks for a call.  With API_POLL_RUNS, told is called once, from the loop of
 * the inbox, when the call has ended.
 */
enum api_poll_news pending_poll_start(struct pending_poll *poll,
                                      struct pending_inbox *inbox,
                                      const char *id, void (*told)(void *arg),
                                      void *arg);

/* The answer of a call that has ended; NULL: it is lost. */
const struct api_answer *pending_poll_answer(const struct pending_poll *poll);

/* told is not called any more, and the answer is let go. */
void pending_poll_end(struct pending_poll *poll);

/* Frees answers whose time is over. */
void pending_calls_evict(void);

/* All calls have ended, and all polls: the process ends. */
void pending_calls_clear(void);

/* Bytes of all that is kept. */
size_t pending_calls_bytes(void);
