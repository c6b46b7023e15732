/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tecken_session.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/hex.h"
#include "base/secret.h"
#include "base/task.h"
#include "base/unnamed_file.h"
#include "config/config.h"

/* Sessions of one user, and for how long one may take after its last piece. */
#define SESSIONS_MAX 4096
#define SESSION_MS (3600 * 1000)

/* Files of all users of which a piece has come and others have not. */
#define PARTIAL_MAX 64

/* Incomplete files take room on the disk. */
#define EXPIRY_SECONDS 60

void tecken_session_drop_file(struct tecken_session *session)
{
    if (session->fd >= 0) {
        close(session->fd);
        session->fd = -1;
        session->tecken->partial--;
    }
    session->got = 0;
    session->is_refused = false;
}

void tecken_session_forget(struct tecken_session *session)
{
    TAILQ_REMOVE(&session->tecken->sessions, session, next);
    task_cancel(session->task);
    tecken_session_drop_file(session);
    free(session->path);
    free(session->parts[0]);
    free(session);
}

void tecken_sessions_expire(struct tecken *tecken)
{
    struct tecken_session *session, *next;

    for (session = TAILQ_FIRST(&tecken->sessions); session != NULL;
         session = next) {
        next = TAILQ_NEXT(session, next);
        if (session->req == NULL && clock_ms() - session->used > SESSION_MS) {
            tecken_session_forget(session);
        }
    }
}

static void expect_expiry(struct tecken *tecken)
{
    static const struct timeval wait = {.tv_sec = EXPIRY_SECONDS};

    if (tecken->partial > 0 && tecken->expiry != NULL) {
        event_add(tecken->expiry, &wait);
    }
}

static void on_expiry(evutil_socket_t fd, short what, void *arg)
{
    tecken_sessions_expire(arg);
    expect_expiry(arg);
}

/* Makes room for one more session of a user, whose oldest one goes if there
 * are as many as may be. */
static bool has_place(struct tecken *tecken, const char *user)
{
    struct tecken_session *session, *oldest = NULL;
    size_t n = 0;

    TAILQ_FOREACH(session, &tecken->sessions, next)
    {
        if (strcmp(session->user, user) == 0) {
            n++;
            oldest = oldest == NULL && session->req == NULL ? session : oldest;
        }
    }
    if (n >= SESSIONS_MAX && oldest != NULL) {
        tecken_session_forget(oldest);
        n--;
    }
    return n < SESSIONS_MAX;
}

struct tecken_session *tecken_session_find(const struct tecken *tecken,
                                           const char *key)
{
    struct tecken_session *session, *found = NULL;

    TAILQ_FOREACH(session, &tecken->sessions, next)
    {
        if (secret_is_equal(key, session->key)) {
            found = session;
        }
    }
    return found;
}

struct tecken_session *tecken_session_begin(struct tecken *tecken,
                                            const char *user, const char *path)
{
    struct tecken_session *session =
        has_place(tecken, user) ? calloc(1, sizeof(*session)) : NULL;
    uint8_t bytes[TECKEN_KEY_SIZE / 2];
    char *at;

    if (session == NULL) {
        return NULL;
    }
    session->path = strdup(path);
    session->parts[0] = at = strdup(path);
    if (session->path == NULL || at == NULL ||
        getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        free(session->path);
        free(at);
        free(session);
        return NULL;
    }
    (void)strsep(&at, "/");
    session->parts[1] = strsep(&at, "/");
    session->parts[2] = at;
    hex_print(session->key, bytes, sizeof(bytes), HEX_LOWER);
    session->tecken = tecken;
    session->fd = -1;
    session->used = clock_ms();
    snprintf(session->user, sizeof(session->user), "%s", user);
    TAILQ_INSERT_TAIL(&tecken->sessions, session, next);
    return session;
}

/* A file that was refused can come again, but is not to be in the way of
 * others.  Returns whether there was one. */
static bool drop_refused_file(const struct tecken *tecken)
{
    struct tecken_session *session;

    TAILQ_FOREACH(session, &tecken->sessions, next)
    {
        if (session->is_refused && session->fd >= 0 && session->req == NULL) {
            tecken_session_drop_file(session);
            return true;
        }
    }
    return false;
}

int tecken_session_open_file(struct tecken_session *session,
                             const struct config *config)
{
    if (session->fd >= 0) {
        return 0;
    }
    if (session->tecken->partial >= PARTIAL_MAX &&
        !drop_refused_file(session->tecken)) {
        return EBUSY;
    }
    session->fd = unnamed_file_open(config->uploads.root);
    if (session->fd < 0) {
        return errno;
    }
    session->tecken->partial++;
    expect_expiry(session->tecken);
    return 0;
}

struct tecken *tecken_new(struct event_base *base, struct uploads *uploads)
{
    struct tecken *tecken = calloc(1, sizeof(*tecken));

    if (tecken != NULL) {
        tecken->uploads = uploads;
        tecken->expiry = event_new(base, -1, 0, on_expiry, tecken);
        TAILQ_INIT(&tecken->sessions);
    }
    return tecken;
}

void tecken_free(struct tecken *tecken)
{
    struct tecken_session *session;

    if (tecken == NULL) {
        return;
    }
    while ((session = TAILQ_FIRST(&tecken->sessions)) != NULL) {
        tecken_session_forget(session);
    }
    event_drop(tecken->expiry);
    free(tecken);
}
