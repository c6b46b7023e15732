/*
 * Copyright (C) the ngx_symcache authors
 */
#include "uses.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "ask.h"

#define AGAIN_MS (60 * 60 * 1000)
#define TOGETHER_SECONDS 1
#define WAITING_MAX 10000 /* more are told of at their next use */

struct use {
    STAILQ_ENTRY(use) next;
    struct settings *settings;
    size_t store;
    symcache_key_t key;
    size_t name_size;
    const char *hints; /* behind the name; or NULL */
    char name[];
};

struct uses {
    struct event_base *base;
    struct event *timer;
    struct ask *ask; /* under way, or NULL */
    size_t asked;    /* the first ones of the list, which it is about */
    size_t waiting;
    STAILQ_HEAD(, use) list;
};

static void drop_first(struct uses *uses)
{
    struct use *use = STAILQ_FIRST(&uses->list);

    STAILQ_REMOVE_HEAD(&uses->list, next);
    uses->waiting--;
    settings_unref(use->settings);
    free(use);
}

static void drop_asked(struct uses *uses)
{
    for (; uses->asked > 0; uses->asked--) {
        drop_first(uses);
    }
}

static void tell_next(struct uses *uses);

static void on_told(void *arg, const struct ask_reply *replies, size_t n,
                    bool is_last)
{
    struct uses *uses = arg;

    if (is_last) {
        uses->ask = NULL;
        drop_asked(uses);
        tell_next(uses);
    }
}

/* As many as one question may be about, of one configuration. */
static void take_keys(struct uses *uses, struct ask_key *keys)
{
    const struct use *use, *first = STAILQ_FIRST(&uses->list);

    STAILQ_FOREACH(use, &uses->list, next)
    {
        if (uses->asked == ASK_KEYS_MAX || use->settings != first->settings) {
            break;
        }
        keys[uses->asked++] = (struct ask_key){
            use->settings->symbolication->stores[use->store]->name, &use->key,
            use->name, use->name_size, use->hints};
    }
}

static void tell_next(struct uses *uses)
{
    struct ask_key keys[ASK_KEYS_MAX];

    while (uses->ask == NULL && !STAILQ_EMPTY(&uses->list)) {
        take_keys(uses, keys);
        uses->ask = ask_start(uses->base,
                              &STAILQ_FIRST(&uses->list)->settings->helper,
                              keys, uses->asked, 0, on_told, uses);
        if (uses->ask == NULL) {
            drop_asked(uses);
        }
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    tell_next(arg);
}

struct uses *uses_new(struct event_base *base)
{
    struct uses *uses = calloc(1, sizeof(*uses));

    if (uses != NULL) {
        uses->base = base;
        STAILQ_INIT(&uses->list);
        uses->timer = evtimer_new(base, on_timer, uses);
        if (uses->timer == NULL) {
            free(uses);
            uses = NULL;
        }
    }
    return uses;
}

void uses_free(struct uses *uses)
{
    if (uses == NULL) {
        return;
    }
    if (uses->ask != NULL) {
        ask_cancel(uses->ask);
    }
    while (!STAILQ_EMPTY(&uses->list)) {
        drop_first(uses);
    }
    event_free(uses->timer);
    free(uses);
}

void uses_note(struct uses *uses, struct settings *settings, size_t store,
               const struct api_module *wanted, struct module *module,
               uint64_t now)
{
    static const struct timeval together = {.tv_sec = TOGETHER_SECONDS};
    uint_least64_t told =
        atomic_load_explicit(&module->told, memory_order_relaxed);
    size_t size = wanted->hints != NULL ? strlen(wanted->hints) + 1 : 0;
    struct use *use;

    if ((told != 0 && now - told < AGAIN_MS) || uses->waiting == WAITING_MAX ||
        !atomic_compare_exchange_strong(&module->told, &told, now)) {
        return; /* or another thread tells */
    }
    use = calloc(1, sizeof(*use) + wanted->name_size + size);
    if (use == NULL) {
        return;
    }
    use->settings = settings_ref(settings);
    use->store = store;
    symcache_key_copy(&use->key, &wanted->key);
    use->name_size = wanted->name_size;
    memcpy(use->name, wanted->name, wanted->name_size);
    if (size > 0) {
        use->hints =
            memcpy(use->name + wanted->name_size, wanted->hints, size);
    }
    STAILQ_INSERT_TAIL(&uses->list, use, next);
    if (uses->waiting++ == 0) {
        event_add(uses->timer, &together);
    }
}
