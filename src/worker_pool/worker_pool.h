/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies that are trusted by nothing are read in processes without rights:
 *
 *   thread --wants a worker--> spawner --forks, executes--> worker
 *   thread <----its socket---- spawner
 *   thread --a body--> worker --what it needs, its result--> thread
 *
 * A worker that a body has taken over can falsify what it says next, and no
 * more.  So it serves one domain (a customer) and no other, and goes after so
 * many bodies.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "message.h"
#include "spawner.h"
#include "worker_loop.h"

/*
 * The daemon's side, one pool for each loop.  Workers that have not read
 * anything yet are kept ready, as starting a program takes a millisecond; one
 * that has read a body waits for the next one of its domain, for a while.
 */

#define WORK_DOMAIN_MAX 256

struct event_base;
struct work_pool;
struct work;

/* Counters of a pool, which other threads can read. */
struct work_counts {
    atomic_uint_least64_t started; /* workers */
    atomic_uint_least64_t bodies;
    atomic_uint_least64_t died;    /* works, with their workers */
    atomic_uint_least64_t given;   /* descriptors of files */
    atomic_uint_least64_t workers; /* that there are */
};

/* The socket is one of spawner_start(), and stays the caller's.  NULL without
 * memory. */
struct work_pool *work_pool_new(struct event_base *base, int spawner,
                                struct work_counts *counts);
void work_pool_free(struct work_pool *pool); /* NULL is allowed */

struct work_order {
    const char *name; /* of the kind, for the log; static */
    uint32_t kind;
    uint32_t limit;
    const char *domain; /* whose body it is; NULL: the worker reads this body
                           and no other */
    struct spool *body; /* whole; a reference is taken */
    const char *text; /* for the kind; or NULL */
    size_t most;      /* bytes of the worker's text */
    unsigned ms;      /* that the worker may be silent */
};

enum work_news {
    WORK_WANTS,   /* files: work_send_files() tells about them */
    WORK_ENDED,   /* with a result */
    WORK_REFUSED, /* work_status() has the status */
    WORK_DIED,    /* crashed, lied, was silent for too long */
    WORK_UNABLE   /* no worker, memory or descriptor: not the body's fault */
};

typedef void (*work_fn)(void *arg, enum work_news news);

/*
 * Gives a body to a worker.  The texts of the order are needed until then
 * only. told is called later, again after each work_send_files().  Returns
 * NULL without memory.
 */
struct work *work_start(struct work_pool *pool, const struct work_order *order,
                        work_fn told, void *arg);

/* Takes the worker's text, which is whole after news, with a NUL after it.  To
 * be freed; NULL: there is none. */
char *work_take_text(struct work *work, size_t *size);

uint32_t work_status(const struct work *work);

/* For the log: why its worker is lost.  "": it is not. */
const char *work_loss(const struct work *work);

/* A file to be given. */
struct work_input_file {
    uint32_t index;
    uint8_t what;
    uint8_t state;
    dev_t device; /* with the inode: which file it is, while the worker has it
                     mapped */
    ino_t inode;  /* 0: there is no file */
};

/*
 * Answers WORK_WANTS.  open is called for files that the worker has not mapped
 * yet, and returns a descriptor to be read, or -1 with errno: there is none.
 * If it cannot be done, the work is told of as WORK_UNABLE, later.
 */
void work_send_files(struct work *work,
                     const struct work_input_file *input_files, size_t n,
                     int (*open)(void *arg, size_t input), void *arg);

/* Has a work that wants files told of as WORK_UNABLE, later. */
void work_give_up(struct work *work);

/* Ends a work; its worker is killed if it still reads.  NULL is allowed. */
void work_free(struct work *work);
