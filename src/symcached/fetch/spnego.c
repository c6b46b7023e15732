/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's side of tickets: a queue for each host, and at its head the
 * one whose child process runs.
 */
#include "ticket.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "config_secret.h"

#define TICKET_HEADER 65536 /* tokens of Windows have up to 48000 bytes */
#define TICKET_DETAIL 512

struct ticket {
    TAILQ_ENTRY(ticket) entry;
    struct event_base *base;
    struct event *timer;
    struct child *child; /* NULL: another one runs for the host */
    int fd;              /* that it writes the header to */
    unsigned ms;
    ticket_done_fn done;
    void *arg;
    char failed[128]; /* why it could not run */
    char name[];      /* HTTP@host */
};

static TAILQ_HEAD(, ticket) tickets = TAILQ_HEAD_INITIALIZER(tickets);

static void ticket_run_first(const char *name);

static void ticket_free(struct ticket *ticket)
{
    TAILQ_REMOVE(&tickets, ticket, entry);
    if (ticket->child != NULL) {
        child_cancel(ticket->child);
    }
    ticket_run_first(ticket->name);
    if (ticket->fd >= 0) {
        close(ticket->fd);
    }
    event_free(ticket->timer);
    free(ticket);
}

static void ticket_end(struct ticket *ticket, char *header, const char *detail,
                       bool timed_out)
{
    ticket_done_fn done = ticket->done;
    struct ticket_result result = {header, NULL, timed_out};
    char text[TICKET_DETAIL];
    void *arg = ticket->arg;

    if (header == NULL) {
        snprintf(text, sizeof(text), "no Kerberos ticket for %s: %s",
                 ticket->name, detail);
        result.detail = text;
    }
    ticket_free(ticket);
    done(arg, &result);
    config_secret_free(header);
}

/* Returns what the child wrote, or NULL. */
static char *ticket_header(const struct ticket *ticket)
{
    char *header = calloc(1, TICKET_HEADER + 1);

    if (header != NULL && pread(ticket->fd, header, TICKET_HEADER, 0) <= 0) {
        free(header);
        header = NULL;
    }
    return header;
}

static void ticket_on_exit(void *arg, struct child_result *child)
{
    struct ticket *ticket = arg;
    char how[64], *header = NULL;
    const char *detail = child->tail;

    ticket->child = NULL;
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
        header = ticket_header(ticket);
        detail = "out of memory";
    }
    ticket_end(ticket, header, detail, false);
}

static void ticket_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct ticket *ticket = arg;
    char text[64];

    (void)fd;
    (void)what;

    if (ticket->failed[0] != '\0') {
        ticket_end(ticket, NULL, ticket->failed, false);
        return;
    }
    snprintf(text, sizeof(text), "none within %u s, is the KDC down?",
             (ticket->ms + 999) / 1000);
    ticket_end(ticket, NULL, text, true);
}

static void ticket_arm(struct ticket *ticket, unsigned ms)
{
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(ticket->timer, &delay);
}

static void ticket_run(struct ticket *ticket)
{
    char *argv[] = {"symcached", "--ticket", ticket->name, NULL};
    struct child_options options = {
        .program = "/proc/self/exe",
        .argv = argv,
        .env = environ,
        .cwd = ".", /* a cache or a keytab may be named as seen from here */
        .fds = &ticket->fd,
        .nfds = 1,
        .own = true,
    };

    ticket->fd = memfd_create("ticket", MFD_CLOEXEC);
    if (ticket->fd >= 0) {
        ticket->child =
            child_start(ticket->base, &options, ticket_on_exit, ticket);
    }
    if (ticket->child == NULL) {
        snprintf(ticket->failed, sizeof(ticket->failed), "no process: %s",
                 strerror(errno));
        ticket_arm(ticket, 0);
    }
}

static void ticket_run_first(const char *name)
{
    struct ticket *ticket;

    TAILQ_FOREACH(ticket, &tickets, entry)
    {
        if (strcmp(ticket->name, name) == 0) {
            break;
        }
    }
    if (ticket != NULL && ticket->child == NULL && ticket->failed[0] == '\0') {
        ticket_run(ticket);
    }
}

struct ticket *ticket_start(struct event_base *base, const char *host,
                            unsigned ms, ticket_done_fn done, void *arg)
{
    size_t size = strlen(host) + sizeof("HTTP@");
    struct ticket *ticket = calloc(1, sizeof(*ticket) + size);

    if (ticket == NULL) {
        return NULL;
    }

    snprintf(ticket->name, size, "HTTP@%s", host);
    ticket->base = base;
    ticket->fd = -1;
    ticket->ms = ms;
    ticket->done = done;
    ticket->arg = arg;
    ticket->timer = evtimer_new(base, ticket_on_timer, ticket);
    if (ticket->timer == NULL) {
        free(ticket);
        return NULL;
    }

    ticket_arm(ticket, ms);
    TAILQ_INSERT_TAIL(&tickets, ticket, entry);
    ticket_run_first(ticket->name);
    return ticket;
}

void ticket_cancel(struct ticket *ticket)
{
    ticket_free(ticket);
}
