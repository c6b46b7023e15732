/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's side of Kerberos tokens: a queue for each host, at whose head a
 * child process is running.
 */
#include "spnego.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd_close.h"

#include "child/child.h"
#include "config/config.h"

#define SPNEGO_HEADER 65536 /* tokens of Windows have up to 48000 bytes */
#define SPNEGO_DETAIL 512

struct spnego {
    TAILQ_ENTRY(spnego) entry;
    struct event_base *base;
    struct event *timer;
    struct child
        *child; /* NULL while another one of this host has the child process */
    int fd;     /* to which the child process writes the header */
    unsigned ms;
    spnego_done_fn done;
    void *arg;
    char failed[128]; /* why the child process could not be started */
    char name[];      /* HTTP@host */
};

static TAILQ_HEAD(, spnego) spnegos = TAILQ_HEAD_INITIALIZER(spnegos);

static void spnego_run_first(const char *name);

void spnego_cancel(struct spnego *spnego)
{
    TAILQ_REMOVE(&spnegos, spnego, entry);
    child_cancel(spnego->child);
    spnego_run_first(spnego->name);
    fd_close(spnego->fd);
    event_free(spnego->timer);
    free(spnego);
}

static void spnego_end(struct spnego *spnego, char *header, const char *detail,
                       bool timed_out)
{
    spnego_done_fn done = spnego->done;
    struct spnego_result result = {header, NULL, timed_out};
    char text[SPNEGO_DETAIL];
    void *arg = spnego->arg;

    if (header == NULL) {
        snprintf(text, sizeof(text), "no Kerberos ticket for %s: %s",
                 spnego->name, detail);
        result.detail = text;
    }
    spnego_cancel(spnego);
    done(arg, &result);
    secret_free(header);
}

/* Returns the output of the child process, or NULL. */
static char *spnego_header(const struct spnego *spnego)
{
    char *header = calloc(1, SPNEGO_HEADER + 1);

    if (header != NULL && pread(spnego->fd, header, SPNEGO_HEADER, 0) <= 0) {
        free(header);
        header = NULL;
    }
    return header;
}

static void spnego_on_exit(void *arg, struct child_result *child)
{
    struct spnego *spnego = arg;
    char how[64], *header = NULL;
    const char *detail = child->tail;

    spnego->child = NULL;
    child->tail[strcspn(child->tail, "\n")] = '\0';

    if (WIFSIGNALED(child->status)) {
        snprintf(how, sizeof(how), "the process ended by signal %d",
                 WTERMSIG(child->status));
        detail = how;
    } else if (WEXITSTATUS(child->status) != 0) {
        snprintf(how, sizeof(how), "the process ended with exit code %d",
                 WEXITSTATUS(child->status));
        detail = detail[0] != '\0' ? detail : how;
    } else {
        header = spnego_header(spnego);
        detail = "out of memory";
    }
    spnego_end(spnego, header, detail, false);
}

static void spnego_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct spnego *spnego = arg;
    char text[64];

    if (spnego->failed[0] != '\0') {
        spnego_end(spnego, NULL, spnego->failed, false);
        return;
    }
    snprintf(text, sizeof(text), "none within %u s, is the KDC down?",
             (spnego->ms + 999) / 1000);
    spnego_end(spnego, NULL, text, true);
}

static void spnego_arm(struct spnego *spnego, unsigned ms)
{
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(spnego->timer, &delay);
}

static void spnego_run(struct spnego *spnego)
{
    char *argv[] = {"symcached", "--spnego", spnego->name, NULL};
    struct child_options options = {
        .program = "/proc/self/exe",
        .argv = argv,
        .env = environ,
        .cwd = ".", /* The environment may name a cache or a keytab by a
                       relative path. */
        .fds = &spnego->fd,
        .nfds = 1,
    };

    spnego->fd = memfd_create("ticket", MFD_CLOEXEC);
    if (spnego->fd >= 0) {
        spnego->child =
            child_start(spnego->base, &options, spnego_on_exit, spnego);
    }
    if (spnego->child == NULL) {
        snprintf(spnego->failed, sizeof(spnego->failed), "no process: %s",
                 strerror(errno));
        spnego_arm(spnego, 0);
    }
}

static void spnego_run_first(const char *name)
{
    struct spnego *spnego;

    TAILQ_FOREACH(spnego, &spnegos, entry)
    {
        if (strcmp(spnego->name, name) == 0) {
            break;
        }
    }
    if (spnego != NULL && spnego->child == NULL && spnego->failed[0] == '\0') {
        spnego_run(spnego);
    }
}

struct spnego *spnego_start(struct event_base *base, const char *host,
                            unsigned ms, spnego_done_fn done, void *arg)
{
    size_t size = strlen(host) + sizeof("HTTP@");
    struct spnego *spnego = calloc(1, sizeof(*spnego) + size);

    if (spnego == NULL) {
        return NULL;
    }

    snprintf(spnego->name, size, "HTTP@%s", host);
    spnego->base = base;
    spnego->fd = -1;
    spnego->ms = ms;
    spnego->done = done;
    spnego->arg = arg;
    spnego->timer = evtimer_new(base, spnego_on_timer, spnego);
    if (spnego->timer == NULL) {
        free(spnego);
        return NULL;
    }

    spnego_arm(spnego, ms);
    TAILQ_INSERT_TAIL(&spnegos, spnego, entry);
    spnego_run_first(spnego->name);
    return spnego;
}
