/*
 * Copyright (C) the ngx_symcache authors
 *
 * A second thread for what can be done beside the conversion, such as
 * decompressing a section that is read at the same time.  In the sandbox no
 * thread can be started, so a program that wants one starts it on the way there
 * (sandbox_enter()).  One process converts one file, so there is one for all.
 */
#ifndef DEBUGINFO_BACKGROUND_H
#define DEBUGINFO_BACKGROUND_H

#include <stdbool.h>

/* Starts the thread, and waits until it waits for its first task.  If there can
 * be none, background_run() will say so. */
void background_start(void);

/* Lets the thread call run(arg).  Returns false if there is no thread, or it
 * has a task. */
bool background_run(void (*run)(void *arg), void *arg);

/* Would background_run() take a task now? */
bool background_is_free(void);

/* Waits until the thread has no task. */
void background_wait(void);

#endif
