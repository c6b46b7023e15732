/*
 * Copyright (C) the ngx_symcache authors
 *
 * A second thread for what can be done beside the conversion, such as
 * decompressing a section that is read at the same time.  In the sandbox no
 * thread can be started, so a program that wants one starts it on the way
 * there (sandbox_enter()).  One process converts one file, so there is one for
 * all.
 */
#pragma once

#include <stdbool.h>

/* Starts the thread, and waits until it waits for its first task.  If there
 * can be none, second_thread_run() will say so. */
void second_thread_start(void);

/* Lets the thread call run(arg), soon.  Returns false if there is no thread,
 * or it has a task. */
bool second_thread_run(void (*run)(void *arg), void *arg);

/* Would second_thread_run() take a task now? */
bool second_thread_is_free(void);

/* Takes the task back, unless the thread has begun with it: a caller who would
 * wait can do it.  Returns false if it has begun, or there is none. */
bool second_thread_take_back(void);

/* Waits until the thread has no task. */
void second_thread_wait(void);

/*
 * The same for a long task, beside which the thread can have others: it does
 * them when the long one calls second_thread_share(), as it is to do every
 * fraction of a millisecond.  Until it next does, the thread takes others, or
 * none where that would hold up somebody who waits for the long one.
 */
bool second_thread_run_long(void (*run)(void *arg), void *arg);
void second_thread_share(bool takes_others);
void second_thread_wait_long(void);
