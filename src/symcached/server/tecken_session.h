/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files that clients of Tecken's protocol have begun to send: each is a
 * session, with a key that is in its URL, and what has come of it so far.
 */
#ifndef SYMCACHED_SERVER_TECKEN_SESSION_H
#define SYMCACHED_SERVER_TECKEN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/build_list.h"
#include "upload_page.h"

struct config;
struct event_base;
struct evhttp_request;
struct uploads;

#define TECKEN_KEY_SIZE 32 /* hex digits */

struct tecken_session {
    TAILQ_ENTRY(tecken_session) next;
    struct tecken *tecken;
    struct evhttp_request *req; /* while a piece is worked on, or NULL */
    struct task *task;
    uint64_t used; /* clock_ms() */
    bool only_try;
    struct build_labels labels;
    char user[UPLOAD_USER_SIZE];
    char key[TECKEN_KEY_SIZE + 1];
    char *path;     /* <name>/<id>/<file>, */
    char *parts[3]; /* and copies of its parts */
    int fd;         /* what has come, or -1 */
    uint64_t got;   /* bytes */
    bool is_refused; /* all of them, and they were not stored */
};

/* All of them. */
struct tecken {
    struct uploads *uploads;
    struct event *expiry; /* while a file is incomplete */
    TAILQ_HEAD(sessions, tecken_session) sessions; /* the oldest first */
    size_t partial;
};

/* Returns NULL when out of memory. */
struct tecken *tecken_new(struct event_base *base, struct uploads *uploads);
void tecken_free(struct tecken *tecken); /* NULL is allowed */

/* Returns NULL when there is no room for it; path is <name>/<id>/<file>. */
struct tecken_session *tecken_session_begin(struct tecken *tecken,
                                            const char *user,
                                            const char *path);

/* Every client that knows the key may upload: it is as good as a token.
 * Returns NULL if there is none. */
struct tecken_session *tecken_session_find(const struct tecken *tecken,
                                           const char *key);

void tecken_session_forget(struct tecken_session *session);

/* Drops those that no client goes on with. */
void tecken_sessions_expire(struct tecken *tecken);

/* Opens the file of a session, which has no name, unless it is open.  Returns
 * 0, or an errno; EBUSY: there are too many. */
int tecken_session_open_file(struct tecken_session *session,
                             const struct config *config);

/* The session begins anew. */
void tecken_session_drop_file(struct tecken_session *session);

#endif
