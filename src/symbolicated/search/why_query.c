/*
 * Copyright (C) the ngx_symcache authors
 */
#include "why_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/percent.h"

/* Each question has a connection, and a request may have thousands of modules.
 */
#define QUESTIONS_MAX 16

#define PAGE_MAX (1024 * 1024) /* one of 64 places has 100 KB */
#define VALUES_MAX 16384       /* 64 attempts have about 1,300 */

/* symcached answers at once, or else it hangs. */
#define PATIENCE_SECONDS 10

static void why_free_one(struct api_attempts *attempts)
{
    json_free(&attempts->page);
    free(attempts->text);
    free(attempts);
}

/* Takes the text over.  Returns whether it is such a page. */
static bool why_read_page(struct api_attempts *attempts, char *text,
                          size_t size)
{
    struct json *json = &attempts->page;
    struct json_error error;

    attempts->text = text;
    if (json_read(json, attempts->text, size, VALUES_MAX, &error) == 0) {
        return false;
    }
    attempts->json = json;
    attempts->list = json_member(json, 0, "attempts");
    return attempts->list != 0 &&
           json->values[attempts->list].type == JSON_ARRAY;
}

bool why_query_note(struct api_attempts **list,
                    const struct store_config *store, const struct json *json,
                    uint32_t attempts)
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

/* Reads a page about a store, which it takes over and which may be NULL, and
 * puts it after those of other stores.  Returns NULL if it is none, which is
 * left out, or without memory. */
static const struct api_attempts *
why_add_attempts(struct api_attempts **list, const struct store_config *store,
                 char *text, size_t size)
{
    struct api_attempts *attempts =
        text != NULL ? calloc(1, sizeof(*attempts)) : NULL;

    if (attempts == NULL) {
        free(text);
        return NULL;
    }
    attempts->store = store;
    if (!why_read_page(attempts, text, size)) {
        why_free_one(attempts);
        return NULL;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = attempts;
    return attempts;
}

/* what is remembered ------------------------------------------------------ */

static const struct store_config *
why_store_of(const struct why_query_question *question)
{
    return question->queue->stores != NULL
               ? question->queue->stores[question->store]
               : NULL;
}

/* Adds what was answered about the store at which the question is, if that is
 * remembered with the absence.  Else the answer is to be asked for. */
static bool why_is_known(struct why_query_question *q)
{
    struct why_query_queue *queue = q->queue;
    const struct module_question question = {&q->module->key, q->module->name,
                                             q->module->name_size,
                                             q->module->hints};
    struct module_absence absence;
    char *text;

    q->absence = 0;
    if (queue->cache == NULL ||
        !module_cache_find_absence(queue->cache, queue->roots[q->store],
                                   queue->roots[q->store], &question,
                                   &queue->asker, &absence)) {
        return false;
    }
    q->absence = absence.number;
    if (absence.attempts == NULL) {
        return false;
    }
    text = malloc(absence.size);
    if (text != NULL) {
        memcpy(text, absence.attempts, absence.size);
    }
    return why_add_attempts(&q->module->attempts, why_store_of(q), text,
                            absence.size) != NULL;
}

/* Remembers the attempts of an answer with an absence: they are read in each
 * request, and most of the page is about other things. */
static void why_remember_attempts(const struct why_query_question *question,
                                  const struct api_attempts *attempts)
{
    struct why_query_queue *queue = question->queue;
    struct json_writer w = {0};

    json_write_open(&w, '{');
    json_put_value(&w, "attempts", attempts->json, attempts->list);
    json_write_close(&w, '}');
    if (!w.has_failed && w.size <= MODULE_ATTEMPTS_MAX) {
        module_cache_add_attempts(queue->cache, queue->roots[question->store],
                                  &question->module->key, question->absence,
                                  w.data, w.size);
    }
    free(w.data);
}

/* Reads an answer, and remembers it if the store had no file before it was
 * asked for.  A job that runs still has places before it. */
static void why_take_page(struct why_query_question *question,
                          struct evbuffer *page)
{
    size_t size = page != NULL ? evbuffer_get_length(page) : 0;
    char *text = size > 0 ? malloc(size) : NULL;
    const struct api_attempts *attempts;

    if (text != NULL) {
        evbuffer_copyout(page, text, size);
    }
    attempts = why_add_attempts(&question->module->attempts,
                                why_store_of(question), text, size);
    if (attempts != NULL && question->absence != 0 &&
        json_member(attempts->json, 0, "job") == 0) {
        why_remember_attempts(question, attempts);
    }
}

/* the queue --------------------------------------------------------------- */

/* Goes to the next store that is asked about, from one on.  Returns whether
 * there is one. */
static bool why_go_on(struct why_query_question *question, size_t store)
{
    for (; store <= question->last; store++) {
        question->store = store;
        if ((store >= 64 || (question->left_out >> store & 1) == 0) &&
            !why_is_known(question)) {
            return true;
        }
    }
    return false;
}

static void why_on_news(void *arg, enum symcached_client_news news,
                        struct evbuffer *body)
{
    struct why_query_question *question = arg;
    struct why_query_queue *queue = question->queue;

    if (news == EXCHANGE_BODY && evbuffer_get_length(body) <= PAGE_MAX) {
        return; /* the rest is to come */
    }
    if (news == EXCHANGE_ENDED) {
        why_take_page(question, body);
    }
    symcached_client_free(question->client);
    question->client = NULL;
    queue->running--;
    STAILQ_REMOVE(&queue->asked, question, why_query_question, next);
    if (news == EXCHANGE_ENDED && why_go_on(question, question->store + 1)) {
        STAILQ_INSERT_TAIL(&queue->waiting, question, next);
    } else {
        STAILQ_INSERT_TAIL(&queue->ended, question, next);
    }
    queue->fn(queue->arg);
}

/* Asks about the store at which the question is.  Returns false if there is no
 * memory or no descriptor. */
static bool why_send_question(struct why_query_question *question)
{
    const struct why_query_queue *queue = question->queue;
    const symcache_key_t *key = &question->module->key;
    char name[3 * SYMCACHE_NAME_MAX + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    char line[sizeof(name) + sizeof(id) + 160];
    /* of those that are no debug information each kind has a job of its own */
    symcache_kind_e kind = (symcache_kind_e)key->kind;
    bool has_own = !symcache_kind_is_debuginfo(kind);

    percent_encode(name, key->name);
    symcache_id_print(id, key);
    snprintf(line, sizeof(line), "GET /v1/why/%s/%s/%s%s%s",
             queue->stores != NULL ? queue->stores[question->store]->name
                                   : queue->names[question->store],
             name, id, has_own ? "?kind=" : "",
             has_own ? symcache_kind_text(kind) : "");
    question->client =
        symcached_client_start(queue->base, queue->address, line, NULL,
                               PATIENCE_SECONDS, why_on_news, question);
    return question->client != NULL;
}

static void why_empty_queue(struct why_query_queue *queue)
{
    queue->running = 0;
    STAILQ_INIT(&queue->waiting);
    STAILQ_INIT(&queue->asked);
    STAILQ_INIT(&queue->ended);
}

void why_query_begin(struct why_query_queue *queue, struct event_base *base,
                     const struct symcached_client_address *address,
                     const struct store_config *const *stores,
                     void (*fn)(void *arg), void *arg)
{
    queue->base = base;
    queue->address = address;
    queue->stores = stores;
    queue->fn = fn;
    queue->arg = arg;
    queue->cache = NULL;
    why_empty_queue(queue);
}

void why_query_remember(struct why_query_queue *queue,
                        struct module_cache *cache, const int *roots,
                        const struct module_asker *asker)
{
    queue->cache = cache;
    queue->roots = roots;
    queue->asker = *asker;
}

void why_query_ask(struct why_query_queue *queue,
                   struct why_query_question *question,
                   struct api_module *module, size_t last, void *arg)
{
    question->queue = queue;
    question->module = module;
    question->last = last;
    question->client = NULL;
    question->arg = arg;
    if (why_go_on(question, 0)) {
        STAILQ_INSERT_TAIL(&queue->waiting, question, next);
    } else {
        STAILQ_INSERT_TAIL(&queue->ended, question, next);
    }
}

struct why_query_question *why_query_ended(struct why_query_queue *queue)
{
    struct why_query_question *question;

    while (queue->running < QUESTIONS_MAX &&
           (question = STAILQ_FIRST(&queue->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&queue->waiting, next);
        if (!why_send_question(question)) {
            return question;
        }
        STAILQ_INSERT_TAIL(&queue->asked, question, next);
        queue->running++;
    }
    question = STAILQ_FIRST(&queue->ended);
    if (question != NULL) {
        STAILQ_REMOVE_HEAD(&queue->ended, next);
    }
    return question;
}

void why_query_cancel(struct why_query_queue *queue)
{
    struct why_query_question *question;

    STAILQ_FOREACH(question, &queue->asked, next)
    {
        symcached_client_free(question->client);
        question->client = NULL;
    }
    why_empty_queue(queue);
}

void why_query_free(struct api_attempts **list)
{
    struct api_attempts *attempts;

    while ((attempts = *list) != NULL) {
        *list = attempts->next;
        why_free_one(attempts);
    }
}
