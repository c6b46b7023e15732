/*
 * Copyright (C) the ngx_symcache authors
 */
#include "body_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "download.h"

/* That a worker may compute for, between two messages. */
#define SILENCE_MS 60000

#define FAILURE_MAX 512

struct body {
    struct api_call *call;
    const char *protocol;
    struct work_pool *pool;
    size_t most;
    struct download *download; /* or NULL */
    struct work *work;         /* NULL: the body is not there yet */
    void (*told)(void *arg);
    void *arg;
    const struct search *search; /* while files are given */
};

/* For the log; what a body made the worker say can be long. */
static void note_failure(struct api_call *call, const char *why)
{
    if (call->failure == NULL && why[0] != '\0') {
        call->failure = strndup(why, FAILURE_MAX);
    }
}

static void on_news(void *arg, enum work_news news)
{
    static const enum api_news words[] = {
        [WORK_WANTS] = API_WORK_WANTS,
        [WORK_ENDED] = API_WORK_ENDED,
        [WORK_REFUSED] = API_WORK_REFUSED,
        [WORK_DIED] = API_WORK_DIED,
        [WORK_UNABLE] = API_WORK_UNABLE,
    };
    struct body *body = arg;
    struct api_work *work = body->call->work;
    const char *loss = work_loss(body->work);

    note_failure(body->call, loss);
    work->news = words[news];
    work->detail = work_status(body->work);
    free(work->said);
    work->said = work_take_text(body->work, &work->size);
    if (news == WORK_REFUSED && work->said != NULL) {
        note_failure(body->call, work->said);
    }
    body->told(body->arg);
}

/* Returns 0, or -1 without memory. */
static int begin_body(struct body *body, const char *text)
{
    const struct api_work *work = body->call->work;
    struct work_order order = {
        .name = body->protocol,
        .kind = work->kind,
        .limit = work->limit,
        .domain = work->domain,
        .body = work->body,
        .text = text,
        .most = body->most,
        .ms = SILENCE_MS,
    };

    body->work = work_start(body->pool, &order, on_news, body);
    return body->work != NULL ? 0 : -1;
}

/* There is no body. */
static void fail_body(struct body *body, const char *reason)
{
    struct api_work *work = body->call->work;

    work->news = API_WORK_UNFETCHED;
    free(work->said);
    work->said = strdup(reason);
    note_failure(body->call, reason);
    body->told(body->arg);
}

static void body_on_fetched(void *arg, struct spool *spool, const char *text)
{
    struct body *body = arg;
    char *order = NULL;

    if (spool == NULL) {
        fail_body(body, text);
        return;
    }
    body->call->work->body = spool;
    if (asprintf(&order, "%s\ncoding %s", body->call->work->text, text) < 0) {
        order = NULL;
    }
    if (order == NULL || begin_body(body, order) != 0) {
        body->call->work->news = API_WORK_UNABLE;
        body->told(body->arg);
    }
    free(order);
}

struct body *body_work_start(struct event_base *base, struct work_pool *pool,
                             const struct symcached_client_address *address,
                             struct api_call *call, const char *protocol,
                             size_t most, void (*told)(void *arg), void *arg)
{
    const struct api_work *work = call->work;
    struct body *body = calloc(1, sizeof(*body));
    bool is_begun;

    if (body == NULL) {
        return NULL;
    }
    body->call = call;
    body->protocol = protocol;
    body->pool = pool;
    body->most = work->most > most ? work->most : most;
    body->told = told;
    body->arg = arg;
    if (work->body != NULL) {
        is_begun = begin_body(body, work->text) == 0;
    } else {
        body->download = download_start(base, address, work->url, work->token,
                                        body_on_fetched, body);
        is_begun = body->download != NULL;
    }
    if (!is_begun) {
        free(body);
        return NULL;
    }
    return body;
}

static int open_input_file(void *arg, size_t input_file)
{
    const struct body *body = arg;

    return search_open(body->search,
                       body->call->work->input_files[input_file].module);
}

void body_work_give(struct body *body, const struct search *search)
{
    struct api_work *work = body->call->work;
    struct work_input_file *input_files =
        calloc(work->ninput_files + 1, sizeof(*input_files));
    const struct api_input_file *from;
    size_t i;

    work->news = API_WORK_NONE;
    if (input_files == NULL) {
        work_give_up(body->work);
        return;
    }
    for (i = 0; i < work->ninput_files; i++) {
        from = &work->input_files[i];
        input_files[i].index = from->index;
        input_files[i].what = from->what;
        input_files[i].state = from->state;
        if (from->module != NULL) {
            search_module_inode(from->module, &input_files[i].device,
                                &input_files[i].inode);
        }
    }
    body->search = search;
    work_send_files(body->work, input_files, work->ninput_files,
                    open_input_file, body);
    free(input_files);
}

void body_work_free(struct body *body)
{
    if (body != NULL) {
        download_free(body->download);
        work_free(body->work);
        free(body);
    }
}
