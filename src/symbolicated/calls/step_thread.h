/*
 * Copyright (C) the ngx_symcache authors
 *
 * A step that takes long, in a thread of its own: the loop goes on with other
 * calls meanwhile.
 */
#pragma once

#include "symbolicated/api/api.h"

struct event_base;
struct step_thread;

/* Takes a step in this thread: calls the call's step(), for which names that
 * fail are counted anew (linkage_begin()). */
enum api_next step_here(struct api_call *call, struct api_reply *reply);

/*
 * Runs the next step of a call in another thread.  The step writes into a
 * buffer that the reply gets for it.  ended is called from the loop, once:
 * until then, the call and the reply must stay, and nothing else may use them.
 * The callee can take over the written buffer.  NULL: there is no thread, and
 * nothing has changed.
 */
struct step_thread *step_thread_start(
    struct event_base *base, struct api_call *call, struct api_reply *reply,
    void (*ended)(void *arg, enum api_next next, struct json_writer *written),
    void *arg);

/* Waits for the end of a step whose end was not reported yet, and reports
 * it. */
void step_thread_wait(struct step_thread *step);
