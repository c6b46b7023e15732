/*
 * Copyright (C) the ngx_symcache authors
 */
#include "body.h"

#include <stdlib.h>

/* That a worker may compute for, between two messages. */
#define SILENCE_MS 60000

struct body {
    struct api_call *call;
    struct work *work;
    void (*told)(void *arg);
    void *arg;
    const struct search *search; /* while files are given */
};

static void on_news(void *arg, enum work_news news)
{
    static const enum api_news words[] = {
        [WORK_WANTS] = API_WORK_WANTS,
        [WORK_ENDED] = API_WORK_ENDED,
        [WORK_REFUSED] = API_WORK_REFUSED,
        [WORK_DIED] = API_WORK_DIED,
    };
    struct body *body = arg;
    struct api_work *work = body->call->work;

    work->news = words[news];
    work->detail = work_status(body->work);
    free(work->said);
    work->said = work_take_text(body->work, &work->size);
    body->told(body->arg);
}

struct body *body_start(struct work_pool *pool, struct api_call *call,
                        size_t most, void (*told)(void *arg), void *arg)
{
    const struct api_work *work = call->work;
    struct work_order order = {
        .kind = work->kind,
        .limit = work->limit,
        .domain = work->domain,
        .body = work->body->fd,
        .text = work->text,
        .most = most,
        .ms = SILENCE_MS,
    };
    struct body *body = calloc(1, sizeof(*body));

    if (body == NULL) {
        return NULL;
    }
    body->call = call;
    body->told = told;
    body->arg = arg;
    body->work = work_start(pool, &order, on_news, body);
    if (body->work == NULL) {
        free(body);
        return NULL;
    }
    return body;
}

static int open_gift(void *arg, size_t gift)
{
    const struct body *body = arg;

    return search_open(body->search, body->call->work->gifts[gift].module);
}

void body_give(struct body *body, const struct search *search)
{
    struct api_work *work = body->call->work;
    struct work_gift *gifts = calloc(work->ngifts + 1, sizeof(*gifts));
    const struct api_gift *from;
    size_t i;

    /* without memory, the worker is told of no files */
    for (i = 0; gifts != NULL && i < work->ngifts; i++) {
        from = &work->gifts[i];
        gifts[i].index = from->index;
        gifts[i].what = from->what;
        gifts[i].state = from->state;
        if (from->module != NULL) {
            search_identify(from->module, &gifts[i].device, &gifts[i].inode);
        }
    }
    work->news = API_WORK_NONE;
    body->search = search;
    work_give(body->work, gifts, gifts != NULL ? work->ngifts : 0, open_gift,
              body);
    free(gifts);
}

void body_free(struct body *body)
{
    if (body != NULL) {
        work_free(body->work);
        free(body);
    }
}
