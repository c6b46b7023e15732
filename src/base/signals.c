/*
 * Copyright (C) the ngx_symcache authors
 *
 * A thread that waits for a disk in the kernel runs no signal handler, but can
 * mostly be killed.  Therefore a thread that waits for nothing but signals
 * ends the process.
 */
#include "signals.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "thread.h"

/* Answers are sent within three seconds.  The other seconds are for removing
 * files. */
#define STOP_SECONDS 10

static struct {
    int ends[2]; /* of a pipe that carries one byte for each signal */
    struct event *event;
    signals_fn fn;
    void *arg;
} signals = {.ends = {-1, -1}};

static void signals_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
}

/* Returns the next signal, or -1 when STOP_SECONDS have passed since stopped.
 * 0 means that no stop has begun, and sets no limit. */
static int signals_wait(const sigset_t *set, uint64_t stopped)
{
    struct timespec left = {0, 0};
    unsigned spent;
    int signo;

    do {
        if (stopped == 0) {
            signo = sigwaitinfo(set, NULL);
            continue;
        }
        spent = clock_since(stopped);
        if (spent < STOP_SECONDS * 1000) {
            left.tv_sec = (STOP_SECONDS * 1000 - spent) / 1000;
            left.tv_nsec = (STOP_SECONDS * 1000 - spent) % 1000 * 1000000L;
        }
        signo = sigtimedwait(set, NULL, &left);
    } while (signo == -1 && errno == EINTR);
    return signo;
}

static void *signals_run(void *arg)
{
    uint64_t stopped = 0;
    unsigned char byte;
    sigset_t set;
    int signo;

    signals_set(&set);
    for (;;) {
        signo = signals_wait(&set, stopped);
        if (signo == -1) {
            log_crit(0,
                     "not stopped within %d s: ends now, and leaves what is "
                     "in the work folders to the next start",
                     STOP_SECONDS);
            _exit(0);
        }
        if (stopped == 0 && (signo == SIGTERM || signo == SIGINT)) {
            stopped = clock_ms();
        }
        byte = (unsigned char)signo;
        while (write(signals.ends[1], &byte, 1) < 0 && errno == EINTR) {
            continue;
        }
    }
    return NULL;
}

static void on_signal_byte(evutil_socket_t fd, short what, void *arg)
{
    unsigned char byte;

    while (read(fd, &byte, 1) == 1) {
        signals.fn(signals.arg, byte);
    }
}

void signals_delay(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int signals_start(struct event_base *base, signals_fn fn, void *arg)
{
    sigset_t set;
    int rc;

    signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);

    signals.fn = fn;
    signals.arg = arg;
    if (pipe2(signals.ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return -1;
    }
    signals.event = event_new(base, signals.ends[0], EV_READ | EV_PERSIST,
                              on_signal_byte, NULL);
    if (signals.event == NULL || event_add(signals.event, NULL) != 0) {
        errno = ENOMEM;
        return -1;
    }
    rc = thread_start(signals_run, NULL);
    errno = rc;
    return rc == 0 ? 0 : -1;
}

void signals_stop(void)
{
    if (signals.event != NULL) {
        event_free(signals.event);
        signals.event = NULL;
    }
}
