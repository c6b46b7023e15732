/*
 * Copyright (C) the ngx_symcache authors
 */
#include "attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/percent.h"

/* Each question has a connection, and a request may have thousands of modules.
 */
#define QUESTIONS_MAX 16

#define PAGE_MAX (1024 * 1024) /* one of 64 places has 100 KB */
#define VALUES_MAX 16384       /* 64 attempts have about 1,300 */

/* symcached answers at once, or else it hangs. */
#define PATIENCE_SECONDS 10

static void free_one(struct api_attempts *attempts)
{
    json_free(&attempts->page);
    free(attempts->text);
    free(attempts);
}

/* Returns whether it is such a page. */
static bool read_page(struct api_attempts *attempts, struct evbuffer *page)
{
    size_t size = evbuffer_get_length(page);
    struct json *json = &attempts->page;
    struct json_error error;

    attempts->text = malloc(size + 1);
    if (attempts->text == NULL ||
        evbuffer_remove(page, attempts->text, size) != (int)size ||
        json_read(json, attempts->text, size, VALUES_MAX, &error) == 0) {
        return false;
    }
    attempts->json = json;
    attempts->list = json_member(json, 0, "attempts");
    return attempts->list != 0 &&
           json->values[attempts->list].type == JSON_ARRAY;
}

bool attempts_note(struct api_attempts **list, const struct store_config *store,
                   const struct json *json, uint32_t attempts)
{
    struct api_attempts *noted = calloc(1, sizeof(*noted));

    if (noted == NULL) {
        return false;
    }
    noted->store = store;
    noted->json = json;
    noted->list = attempts;
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = noted;
    return true;
}

/* Reads the page of a store, and puts it after those of other stores.  One
 * that is none is left out. */
static void add(struct api_attempts **list, const struct store_config *store,
                struct evbuffer *page)
{
    struct api_attempts *attempts =
        page != NULL ? calloc(1, sizeof(*attempts)) : NULL;

    if (attempts == NULL) {
        return;
    }
    attempts->store = store;
    if (!read_page(attempts, page)) {
        free_one(attempts);
        return;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = attempts;
}

/* the queue ---------------------------------------------------------------- */

/* Goes to the next store that is asked about, from one on.  Returns whether
 * there is one. */
static bool go_on(struct attempts_question *q, size_t store)
{
    while (store <= q->last && store < 64 && (q->left_out >> store & 1) != 0) {
        store++;
    }
    q->store = store;
    return store <= q->last;
}

static void on_news(void *arg, enum exchange_news news, struct evbuffer *body)
{
    struct attempts_question *q = arg;
    struct attempts_queue *queue = q->queue;

    if (news == EXCHANGE_BODY && evbuffer_get_length(body) <= PAGE_MAX) {
        return; /* the rest is to come */
    }
    if (news == EXCHANGE_ENDED) {
        add(&q->module->attempts,
            queue->stores != NULL ? queue->stores[q->store] : NULL, body);
    }
    exchange_free(q->exchange);
    q->exchange = NULL;
    queue->running--;
    STAILQ_REMOVE(&queue->asked, q, attempts_question, next);
    if (news == EXCHANGE_ENDED && go_on(q, q->store + 1)) {
        STAILQ_INSERT_TAIL(&queue->waiting, q, next);
    } else {
        STAILQ_INSERT_TAIL(&queue->ended, q, next);
    }
    queue->fn(queue->arg);
}

/* Asks about the store at which the question is.  Returns false if there is no
 * memory or no descriptor. */
static bool send_question(struct attempts_question *q)
{
    const struct attempts_queue *queue = q->queue;
    const symcache_key_t *key = &q->module->key;
    char name[3 * SYMCACHE_NAME_MAX + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    char line[sizeof(name) + sizeof(id) + 160];
    /* of those that are no debug information each kind has a job of its own */
    symcache_kind_e kind = (symcache_kind_e)key->kind;
    bool has_own = !symcache_kind_is_debuginfo(kind);

    percent_encode(name, key->name);
    symcache_id_print(id, key);
    snprintf(line, sizeof(line), "GET /v1/why/%s/%s/%s%s%s",
             queue->stores != NULL ? queue->stores[q->store]->name
                                   : queue->names[q->store],
             name, id, has_own ? "?kind=" : "",
             has_own ? symcache_kind_text(kind) : "");
    q->exchange = exchange_start(queue->base, queue->helper, line, NULL,
                                 PATIENCE_SECONDS, on_news, q);
    return q->exchange != NULL;
}

static void empty(struct attempts_queue *queue)
{
    queue->running = 0;
    STAILQ_INIT(&queue->waiting);
    STAILQ_INIT(&queue->asked);
    STAILQ_INIT(&queue->ended);
}

void attempts_begin(struct attempts_queue *queue, struct event_base *base,
                    const struct exchange_address *helper,
                    const struct store_config *const *stores,
                    void (*fn)(void *arg), void *arg)
{
    queue->base = base;
    queue->helper = helper;
    queue->stores = stores;
    queue->fn = fn;
    queue->arg = arg;
    empty(queue);
}

void attempts_ask(struct attempts_queue *queue,
                  struct attempts_question *question,
                  struct api_module *module, size_t last, void *arg)
{
    question->queue = queue;
    question->module = module;
    question->last = last;
    question->exchange = NULL;
    question->arg = arg;
    if (go_on(question, 0)) {
        STAILQ_INSERT_TAIL(&queue->waiting, question, next);
    } else {
        STAILQ_INSERT_TAIL(&queue->ended, question, next);
    }
}

struct attempts_question *attempts_ended(struct attempts_queue *queue)
{
    struct attempts_question *q;

    while (queue->running < QUESTIONS_MAX &&
           (q = STAILQ_FIRST(&queue->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&queue->waiting, next);
        if (!send_question(q)) {
            return q;
        }
        STAILQ_INSERT_TAIL(&queue->asked, q, next);
        queue->running++;
    }
    q = STAILQ_FIRST(&queue->ended);
    if (q != NULL) {
        STAILQ_REMOVE_HEAD(&queue->ended, next);
    }
    return q;
}

void attempts_cancel(struct attempts_queue *queue)
{
    struct attempts_question *q;

    STAILQ_FOREACH(q, &queue->asked, next)
    {
        exchange_free(q->exchange);
        q->exchange = NULL;
    }
    empty(queue);
}

void attempts_free(struct api_attempts **list)
{
    struct api_attempts *attempts;

    while ((attempts = *list) != NULL) {
        *list = attempts->next;
        free_one(attempts);
    }
}
