/*
 * Copyright (C) the ngx_symcache authors
 *
 * Calls that go on after their connection has waited for long enough, and for
 * a while their answers.  A poll finds one by its id, in whichever thread it
 * runs, and waits for its end.  For all threads; only calls that go on come
 * here.
 */
#ifndef SYMBOLICATED_CALLS_KEPT_H
#define SYMBOLICATED_CALLS_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "symbolicated/api/api.h"

#define KEPT_ID_SIZE 37 /* "8-4-4-4-12" and a NUL */

#define KEPT_ANSWERED_MS (90 * 1000) /* an answer, after the call's end */

struct event_base;
struct kept;

/*
 * A call goes on.  Its id begins with the four digits of the node.  most is how
 * many bytes all that is kept may take.  Returns NULL when there is no room.
 */
struct kept *kept_new(unsigned node, size_t most);

const char *kept_id(const struct kept *kept);

/*
 * The call has ended; what it was kept as is not the caller's any more.  Polls
 * that wait get the answer, a copy of the reply; later ones get it if there is
 * room.  Returns whether there is.
 */
bool kept_end(struct kept *kept, const struct api_reply *reply, size_t most);

/* Where a thread learns that calls have ended which its polls wait for.  NULL
 * without memory or descriptors. */
struct kept_inbox *kept_inbox_new(struct event_base *base);
void kept_inbox_free(struct kept_inbox *inbox); /* NULL is allowed */

struct kept_answer;

/* A poll of a call, of the thread of its inbox.  All zero before and after. */
struct kept_poll {
    LIST_ENTRY(kept_poll) entry; /* of those that wait, or are to be told */
    struct kept_inbox *inbox;    /* NULL: it is in no list */
    struct kept_answer *answer;  /* with a reference; or NULL */
    void (*told)(void *arg);
    void *arg;
};

/*
 * Looks for a call.  With API_POLL_RUNS, told is called once, from the loop of
 * the inbox, when the call has ended.
 */
enum api_poll_news kept_poll_start(struct kept_poll *poll,
                                   struct kept_inbox *inbox, const char *id,
                                   void (*told)(void *arg), void *arg);

/* The answer of a call that has ended; NULL: it is lost. */
const struct api_answer *kept_poll_answer(const struct kept_poll *poll);

/* told is not called any more, and the answer is let go. */
void kept_poll_end(struct kept_poll *poll);

/* Lets answers go whose time is over. */
void kept_evict(void);

/* All calls have ended, and all polls: the process ends. */
void kept_clear(void);

/* Bytes of all that is kept. */
size_t kept_bytes(void);

#endif
