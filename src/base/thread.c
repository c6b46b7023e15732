/*
 * Copyright (C) the ngx_symcache authors
 */
#include "thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, former;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return rc;
}
