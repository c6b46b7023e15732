/*
 * Copyright (C) the ngx_symcache authors
 */
#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* What most systems give.  The limit of the process, which the C library takes
 * instead, may be more than the sandbox allows in all, or very little. */
#define STACK_SIZE (8u << 20)

int thread_start(void *(*run)(void *), void *arg)
{
    sigset_t all, former;
    pthread_attr_t detached;
    pthread_t thread;
    int rc = pthread_attr_init(&detached);

    if (rc != 0) {
        return rc;
    }
    /* pthread_detach() of glibc reads memory of the thread, which may have
     * ended and be unmapped by then: symbolicated died of that (SIGSEGV) */
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, STACK_SIZE);
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* raised by the thread's own memory access */
    pthread_sigmask(SIG_SETMASK, &all, &former);
    rc = pthread_create(&thread, &detached, run, arg);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&detached);
    return rc;
}

struct kept {
    struct kept *next;
    max_align_t data[];
};

static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int kept_error;

static void free_kept(void *first)
{
    struct kept *kept = first, *next;

    for (; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
}

static void create_key(void)
{
    kept_error = pthread_key_create(&kept_key, free_kept);
}

void *thread_keep(void **kept, size_t size)
{
    struct kept *new;

    if (*kept != NULL) {
        return *kept;
    }
    pthread_once(&kept_once, create_key);
    new = kept_error == 0 ? calloc(1, sizeof(*new) + size) : NULL;
    if (new == NULL) {
        return NULL;
    }
    new->next = pthread_getspecific(kept_key);
    if (pthread_setspecific(kept_key, new) != 0) {
        free(new);
        return NULL;
    }
    *kept = new->data;
    return *kept;
}
