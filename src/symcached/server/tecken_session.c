/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tecken_session.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "base/task.h"
#include "base/unnamed_file.h"
#include "config/config.h"

/* Sessions of one user. */
#define SESSIONS_MAX 4096

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

static void drop_session(struct open_upload *open)
{
    struct tecken_session *session = (struct tecken_session *)open;

    task_cancel(session->task);
    tecken_session_drop_file(session);
    free(session->path);
    free(session->parts[0]);
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
    open_uploads_expire(&((struct tecken *)arg)->open);
    expect_expiry(arg);
}

struct tecken_session *tecken_session_begin(struct tecken *tecken,
                                            const char *user, const char *path)
{
    struct tecken_session *session =
        open_uploads_add(&tecken->open, user, sizeof(*session));
    char *at;

    if (session == NULL) {
        return NULL;
    }
    session->tecken = tecken;
    session->fd = -1;
    session->path = strdup(path);
    session->parts[0] = at = strdup(path);
    if (session->path == NULL || at == NULL) {
        open_upload_forget(&session->open);
        return NULL;
    }
    (void)strsep(&at, "/");
    session->parts[1] = strsep(&at, "/");
    session->parts[2] = at;
    return session;
}

/* A file that was refused can come again, but is not to be in the way of
 * others.  Returns whether there was one. */
static bool drop_refused_file(const struct tecken *tecken)
{
    struct open_upload *open;
    struct tecken_session *session;

    TAILQ_FOREACH(open, &tecken->open.all, next)
    {
        session = (struct tecken_session *)open;
        if (session->is_refused && session->fd >= 0 && open->req == NULL) {
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
        TAILQ_INIT(&tecken->open.all);
        tecken->open.most = SESSIONS_MAX;
        tecken->open.drop = drop_session;
    }
    return tecken;
}

void tecken_free(struct tecken *tecken)
{
    if (tecken == NULL) {
        return;
    }
    open_uploads_forget_all(&tecken->open);
    event_drop(tecken->expiry);
    free(tecken);
}
