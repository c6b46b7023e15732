/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files that clients of Tecken's protocol have begun to send: each is a
 * session, with a key that is in its URL, and what has come of it so far.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_list.h"
#include "open_uploads.h"

struct config;
struct event_base;
struct uploads;

struct tecken_session {
    struct open_upload open; /* its request is a piece */
    struct tecken *tecken;
    struct task *task;
    bool only_try;
    struct build_labels labels;
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
    struct open_uploads open;
    size_t partial;
};

/* Returns NULL when out of memory. */
struct tecken *tecken_new(struct event_base *base, struct uploads *uploads);
void tecken_free(struct tecken *tecken); /* NULL is allowed */

/* Returns NULL when there is no room for it; path is <name>/<id>/<file>. */
struct tecken_session *tecken_session_begin(struct tecken *tecken,
                                            const char *user,
                                            const char *path);

/* Opens the file of a session, which has no name, unless it is open.  Returns
 * 0, or an errno; EBUSY: there are too many. */
int tecken_session_open_file(struct tecken_session *session,
                             const struct config *config);

/* The session begins anew. */
void tecken_session_drop_file(struct tecken_session *session);

/* Takes a piece of a session's file, and answers; with the last one the file is
 * uploaded first. */
void tecken_piece_take(struct tecken_session *session,
                       const struct config *config,
                       struct evhttp_request *req);
