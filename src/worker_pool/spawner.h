/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that starts workers and kills them.  It is made before the daemon
 * gives up its rights, as that cannot start processes any more, and ends with
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One of each of the daemon's threads, and one for names. */
#define SPAWNER_CHANNELS_MAX 1025

/* A worker is killed once, by either of the last two; the second one is
 * answered, with how the worker has ended. */
enum spawner_order { SPAWNER_START = 1, SPAWNER_KILL, SPAWNER_REAP };

struct spawner_message {
    int order;
    pid_t pid; /* of the worker that is to be killed, or that was started; 0:
                  none could be, and no socket comes with it */
    int error; /* if none could be: why the program is not executed;
                  SPAWNER_ENDED; or 0 */
    int status; /* REAP: as of waitpid(); its own if it ended by itself */
};

#define SPAWNER_ENDED (-1) /* the program said nothing and ended, or hangs */

/*
 * Starts it, before there are threads. argv[0] is the program of workers: a
 * path, or a name that is found next to the running program or in its libexec.
 * The program is started once, and workers are copies of it (work_fork()).
 * Each of n sockets, which the caller owns then, takes orders: the answer to
 * an order is sent on its socket, in order, with the socket of the worker.
 * Returns 0, or -1 with a sentence in error.
 */
int spawner_start(char *const argv[], int *sockets, size_t n, char *error,
                  size_t size);

/* Room for how a worker has ended. */
#define SPAWNER_END_SIZE 64

/* Prints that, from an answer to REAP.  A body can make a worker crash; returns
 * whether it was killed from outside, such as by a kernel without memory. */
bool spawner_print_end(char text[SPAWNER_END_SIZE], int status);

/* Logs why no worker could be started. */
void spawner_log_error(int error);

/* The daemon has found it gone, or hanging.  A process without rights cannot
 * start another one: whoever looks after the daemon ends it then. */
void spawner_lose(void);
bool spawner_is_lost(void);
