/*
 * Copyright (C) the ngx_symcache authors
 */
#include "thread.h"

#include <pthread.h>
#include <signal.h>

int thread_start(void *(*run)(void *), void *arg)
{
    sigset_t all, former;
    pthread_t thread;
    int rc;

    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* raised by the thread's own memory access */
    pthread_sigmask(SIG_SETMASK, &all, &former);
    rc = pthread_create(&thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (rc == 0) {
        pthread_detach(thread);
    }
    return rc;
}
