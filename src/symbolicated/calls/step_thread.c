/*
 * Copyright (C) the ngx_symcache authors
 */
#include "step_thread.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/task.h"
#include "symbolication/symbolication.h"

struct step_thread {
    struct task *task;
    struct api_call *call;
    struct api_reply *reply;
    struct json_writer writer;
    enum api_next next;
    sem_t end; /* next is known */
    void (*ended)(void *arg, enum api_next next, struct json_writer *written);
    void *arg;
};

enum api_next step_here(struct api_call *call, struct api_reply *reply)
{
    linkage_begin();
    return call->step(call, reply);
}

static void run_step(void *arg)
{
    struct step_thread *step = arg;

    step->next = step_here(step->call, step->reply);
    sem_post(&step->end);
}

static void step_done(void *arg, bool late)
{
    struct step_thread *step = arg;

    step->ended(step->arg, step->next, &step->writer);
}

static void drop_step(void *arg)
{
    struct step_thread *step = arg;

    sem_destroy(&step->end);
    free(step->writer.data);
    free(step);
}

struct step_thread *step_thread_start(
    struct event_base *base, struct api_call *call, struct api_reply *reply,
    void (*ended)(void *arg, enum api_next next, struct json_writer *written),
    void *arg)
{
    static const struct task_calls calls = {run_step, step_done, drop_step};
    struct json_writer *before = reply->body;
    struct step_thread *step = calloc(1, sizeof(*step));
    struct task *task;

    if (step == NULL) {
        return NULL;
    }
    sem_init(&step->end, 0, 0);
    step->call = call;
    step->reply = reply;
    step->ended = ended;
    step->arg = arg;
    reply->body = &step->writer;
    task = task_start(base, 0, &calls, step);
    if (task == NULL) {
        reply->body = before;
        return NULL;
    }
    step->task = task; /* the thread does not need it */
    return step;
}

void step_thread_wait(struct step_thread *step)
{
    while (sem_wait(&step->end) != 0 && errno == EINTR) {
        continue;
    }
    step_done(step, false);
    task_cancel(step->task);
}
