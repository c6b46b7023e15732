/*
 * Copyright (C) the ngx_symcache authors
 */
#include "search.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/scarce.h"
#include "base/task.h"
#include "base/zeroed.h"
#include "reachability.h"
#include "search_state.h"
#include "symbolicated/store_roots.h"

/* How long symcached's answer that a file does not exist is believed, if it
 * gives one; an event that changes this answer also changes the folder, what
 * the store has forgotten, or symcached's configuration. */
#define ABSENT_SECONDS 10

static void seek_go_on(struct seek *seek);
static void seek_ask(struct seek *seek);
static void search_stop_seeks(struct search *search,
                              enum api_module_state state, const char *why);
static void search_stop_for_lack(struct search *search);
static void search_go_on(void *arg);

static const char *search_store_name(const struct search *search, size_t store)
{
    return search->call->tenant != NULL
               ? search->tenant->names[store]
               : search->settings->symbolication->stores[store]->name;
}

/* Notes for the log why a module fails, if none has failed before. */
__attribute__((format(printf, 2, 3))) static void
note_failure(const struct seek *seek, const char *format, ...)
{
    struct search *search = seek->search;
    struct api_call *call = search->call;
    char key[SYMCACHE_KEY_TEXT_MAX + 1], why[256];
    va_list args;
    /* a tenant that is not ready has no stores yet */
    bool has_store = seek->store < search->nstores &&
                     (call->tenant == NULL || search->tenant != NULL);

    if (call->failure != NULL) {
        return;
    }
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    symcache_key_print(key, &seek->wanted->key);
    if (asprintf(&call->failure, "%s of store %s: %s", key,
                 has_store ? search_store_name(search, seek->store) : "-",
                 why) < 0) {
        call->failure = NULL;
    }
    search->failed = seek;
}

/* The module has not failed after all: another store had it, or was sure. */
static void search_forget_failure(const struct seek *seek)
{
    struct search *search = seek->search;

    if (search->failed == seek) {
        search->failed = NULL;
        free(search->call->failure);
        search->call->failure = NULL;
    }
}

static void seek_end(struct seek *seek, enum api_module_state state)
{
    if (state < API_MODULE_FAILED) {
        search_forget_failure(seek);
    }
    seek->step = SEEK_ENDED;
    seek->wanted->state = state;
    seek->wanted->usec = (unsigned)(clock_usec() - seek->search->started);
    seek->search->open--;
}

/* There is no symcached to ask: only files in the stores are used. */
static enum api_module_state search_worst_unasked(const struct seek *seek)
{
    return seek->worst < API_MODULE_FAILED &&
                   reachability_is_expected(seek->search->settings)
               ? API_MODULE_FAILED
               : seek->worst;
}

/* why ---------------------------------------------------------------------- */

/* Ends the seeks whose questions have been answered. */
static void search_why(struct search *search)
{
    struct why_query_question *why;
    struct seek *seek;

    while ((why = why_query_ended(&search->whys)) != NULL) {
        seek = why->arg;
        seek_end(seek, seek->settled);
    }
}

/*
 * Are the places where the original of a file was looked for noted beside it,
 * so that symcached need not be asked?  Where other stores were searched first,
 * it knows of these.
 */
static bool seek_has_places(struct seek *seek, size_t last)
{
    const struct search *search = seek->search;
    const struct module *module = seek->module;

    return last == 0 && module->places_list != 0 &&
           why_query_note(&seek->wanted->attempts,
                          search->call->tenant != NULL
                              ? NULL
                              : search->settings->symbolication->stores[0],
                          &module->places, module->places_list);
}

/* The stores of a tenant that are not asked for this module. */
static uint64_t search_stores_left_out(const struct seek *seek, size_t last)
{
    const struct search *search = seek->search;
    char hints[SYMCACHE_HINTS_MAX + 1];
    uint64_t left_out = 0;
    size_t i;

    for (i = 0; search->call->tenant != NULL && i <= last; i++) {
        if (!tenant_hints(search->tenant, i, seek->wanted->hints, hints)) {
            left_out |= (uint64_t)1 << i;
        }
    }
    return left_out;
}

/* What has become of the module is known; last is the last store that was
 * looked into. */
static void seek_settle(struct seek *seek, enum api_module_state state,
                        size_t last)
{
    struct search *search = seek->search;
    enum api_attempts_wish wish = search->call->attempts;

    if (state == API_MODULE_FOUND && wish == API_ATTEMPTS_OF_ALL &&
        seek_has_places(seek, last)) {
        seek_end(seek, state);
        return;
    }
    if (wish == API_ATTEMPTS_OF_NONE || state == API_MODULE_LATE ||
        (wish == API_ATTEMPTS_OF_FAILED && state != API_MODULE_FAILED) ||
        reachability_is_paused(search->started / 1000)) {
        seek_end(seek, state);
        return;
    }
    seek->step = SEEK_WHY;
    seek->settled = state;
    seek->why.left_out = search_stores_left_out(seek, last);
    why_query_ask(&search->whys, &seek->why, seek->wanted, last, seek);
}

static void seek_next(struct seek *seek, enum api_module_state state);

/* Takes the reference over. */
static void seek_found(struct seek *seek, struct module *module)
{
    const struct api_call *call = seek->search->call;

    if (module->sound && call->counts != NULL &&
        !call->counts(call, module->source)) {
        module_unref(module);
        seek_next(seek, API_MODULE_MISSING);
        return;
    }
    seek->module = module;
    if (module->sound && call->tenant == NULL) {
        usage_report_add(seek->search->searcher->uses, seek->search->settings,
                         seek->store, seek->wanted, module,
                         seek->search->started / 1000);
    }
    if (module->sound) {
        seek->wanted->reader = &module->reader;
        seek->wanted->features = module->features;
        seek->wanted->size = module->size;
        seek->wanted->properties = module->properties;
        seek->wanted->digest = module->has_digest ? module->digest : NULL;
    }
    seek_settle(seek,
                module->sound ? API_MODULE_FOUND : API_MODULE_MALFORMED,
                seek->store);
}

/* The store at which the seek is does not have it. */
static void seek_next(struct seek *seek, enum api_module_state state)
{
    if (state > seek->worst) {
        seek->worst = state;
    }
    seek->store++;
    seek_go_on(seek);
}

/* disk_lookups
 * -------------------------------------------------------------------- */

static void disk_lookups_run(void *arg)
{
    struct search_disk_lookups *disk_lookups = arg;
    struct search_disk_lookup *look;

    for (look = disk_lookups->items;
         look < disk_lookups->items + disk_lookups->n; look++) {
        mapped_modules_open_newest(disk_lookups->mapped, look->root,
                                   disk_lookups->tenant == NULL, &look->key,
                                   &look->sight);
        if (look->sight.module == NULL) {
            store_root_check(look->root);
        }
    }
}

static void disk_lookups_drop(void *arg)
{
    struct search_disk_lookups *disk_lookups = arg;
    size_t i;

    for (i = 0; i < disk_lookups->n; i++) {
        module_unref(disk_lookups->items[i].sight.module);
    }
    tenant_unref(disk_lookups->tenant);
    free(disk_lookups);
}

static void seek_seen(struct seek *seek, const struct search_disk_lookup *look)
{
    const struct tenant *tenant = seek->search->tenant;

    module_cache_add(seek->search->searcher->cache,
                     tenant != NULL ? tenant->numbers[seek->store]
                                    : look->root,
                     &look->key, &look->sight);
    if (look->sight.module != NULL) {
        seek_found(seek, module_ref(look->sight.module));
    } else if (look->sight.error != 0 || seek->step == SEEK_ASK) {
        note_failure(seek, "%s",
                     look->sight.error != 0
                         ? strerror(look->sight.error)
                         : "symcached has it, and it is not there");
        seek->wanted->is_unseen |= is_scarce(look->sight.error);
        seek_next(seek, API_MODULE_FAILED);
    } else if (seek->search->call->tenant != NULL) {
        seek_ask(seek);
    } else {
        seek->unsure = true;
        seek_next(seek, API_MODULE_MISSING);
    }
}

static void disk_lookups_done(void *arg, bool late)
{
    struct search_disk_lookups *disk_lookups = arg, **at;
    struct search *search = disk_lookups->search;
    size_t i;

    for (at = &search->disk_lookups; *at != disk_lookups; at = &(*at)->next) {
    }
    *at = disk_lookups->next;
    for (i = 0; i < disk_lookups->n; i++) {
        seek_seen(disk_lookups->items[i].seek, &disk_lookups->items[i]);
    }
    search_go_on(search);
}

static const struct task_calls looks_calls = {
    disk_lookups_run, disk_lookups_done, disk_lookups_drop};

static void disk_lookups_fill(struct search_disk_lookups *disk_lookups)
{
    struct search *search = disk_lookups->search;
    struct search_disk_lookup *look;
    struct seek *seek;
    size_t i;

    for (i = 0; i < search->round->nmodules; i++) {
        seek = &search->seeks[i];
        if (seek->to_look) {
            seek->to_look = false;
            look = &disk_lookups->items[disk_lookups->n++];
            look->seek = seek;
            look->root = search->roots[seek->store];
            symcache_key_copy(&look->key, &seek->wanted->key);
        }
    }
}

/* One thread for all that is to be looked at now.  Returns 0, or -1. */
static int disk_lookups_start(struct search *search)
{
    struct search_disk_lookups *disk_lookups =
        zeroed_alloc(1, sizeof(*disk_lookups) +
                            search->to_look * sizeof(disk_lookups->items[0]));

    if (disk_lookups == NULL) {
        return -1;
    }
    disk_lookups->search = search;
    disk_lookups->mapped = search->searcher->mapped;
    disk_lookups->tenant = tenant_ref(search->tenant);
    disk_lookups_fill(disk_lookups);
    search->to_look = 0;
    disk_lookups->task =
        task_start(search->searcher->base, 0, &looks_calls, disk_lookups);
    if (disk_lookups->task == NULL) {
        return -1; /* dropped */
    }
    disk_lookups->next = search->disk_lookups;
    search->disk_lookups = disk_lookups;
    return 0;
}

/* questions ---------------------------------------------------------------- */

static struct module_question search_question_of(const struct seek *seek)
{
    const struct api_module *wanted = seek->wanted;

    return (struct module_question){
        &wanted->key, wanted->name, wanted->name_size,
        seek->search->tenant != NULL ? seek->hints : wanted->hints};
}

/* symcached is sure: for some time it is not asked so again. */
static void seek_absent(struct seek *seek, enum api_module_state state,
                        unsigned valid)
{
    struct search *search = seek->search;
    const struct module_asker asker = {search->begun, search->started / 1000};
    const struct module_question question = search_question_of(seek);

    valid = valid < ABSENT_SECONDS ? valid : ABSENT_SECONDS;
    if (valid > 0 && search->call->tenant == NULL) {
        module_cache_absent(search->searcher->cache,
                            search->roots[seek->store], &question, &asker,
                            clock_ms() + valid * 1000, state);
    }
    seek_next(seek, state);
}

static void seek_answered(struct seek *seek, const struct batch_reply *reply)
{
    struct search *search = seek->search;

    switch (reply->answer) {
    case BATCH_FOUND:
        seek->to_look = true;
        search->to_look++;
        break;
    case BATCH_NOBODY:
        note_failure(seek, "symcached cannot be reached");
        seek->wanted->is_unseen |= reachability_is_scarce();
        seek_end(seek, search->call->tenant != NULL
                           ? API_MODULE_FAILED
                           : search_worst_unasked(seek));
        break;
    case BATCH_ABSENT:
        seek_absent(seek, API_MODULE_MISSING, reply->valid);
        break;
    case BATCH_UNSUPPORTED:
        seek_absent(seek, API_MODULE_UNSUPPORTED, reply->valid);
        break;
    case BATCH_MALFORMED:
        seek_absent(seek, API_MODULE_MALFORMED, reply->valid);
        break;
    case BATCH_PENDING:
        note_failure(seek, "symcached works on it, and goes on");
        seek_next(seek, API_MODULE_LATE);
        break;
    case BATCH_FAILED:
        if (reply->status == 0) {
            note_failure(seek, "symcached did not answer");
        } else {
            note_failure(seek,
                         "symcached answered %u %s, and tries again in %u s",
                         reply->status, reply->reason, reply->valid);
        }
        seek_next(seek, API_MODULE_FAILED);
        break;
    }
}

static void search_on_replies(void *arg, const struct batch_reply *replies,
                              size_t n, bool is_last)
{
    struct search_batch *batch = arg, **at;
    struct search *search = batch->search;
    size_t i;

    for (i = 0; i < n; i++) {
        seek_answered(batch->seeks[replies[i].i], &replies[i]);
    }
    if (is_last) {
        for (at = &search->batches; *at != batch; at = &(*at)->next) {
        }
        *at = batch->next;
        free(batch);
    }
    search_go_on(search);
}

/* Seconds that are left to symcached, rounded up. */
static unsigned search_seconds_left(const struct search *search)
{
    uint64_t spent = (clock_usec() - search->begun) / 1000;
    uint64_t wait = search->call->wait;

    return spent < wait ? (unsigned)((wait - spent + 999) / 1000) : 0;
}

/* Takes as many seeks into a batch as there is room for, from *at on. */
static void search_batch_fill(struct search_batch *batch,
                              struct batch_key *keys, size_t *at)
{
    struct search *search = batch->search;
    struct api_module *wanted;
    struct seek *seek;

    for (; *at < search->round->nmodules && batch->n < BATCH_KEYS_MAX; ++*at) {
        seek = &search->seeks[*at];
        if (seek->to_ask) {
            seek->to_ask = false;
            search->to_ask--;
            wanted = seek->wanted;
            wanted->asked = true;
            keys[batch->n] = (struct batch_key){
                search_store_name(search, seek->store), &wanted->key,
                wanted->name, wanted->name_size,
                search->tenant != NULL ? seek->hints : wanted->hints};
            batch->seeks[batch->n++] = seek;
        }
    }
}

/* Returns 0, or -1 without memory or descriptors. */
static int search_batch_start(struct search *search, size_t *at)
{
    struct search_batch *batch = zeroed_alloc(1, sizeof(*batch));
    struct batch_key keys[BATCH_KEYS_MAX];

    if (batch == NULL) {
        return -1;
    }
    batch->search = search;
    search_batch_fill(batch, keys, at);
    batch->ask =
        batch_start(search->searcher->base, search->address, keys, batch->n,
                    search_seconds_left(search), search_on_replies, batch);
    batch->next = search->batches;
    search->batches = batch;
    return batch->ask != NULL ? 0 : -1;
}

/* Returns whether the seek has ended, or waits for a look. */
static bool seek_on_disk(struct seek *seek, bool *absent)
{
    struct search *search = seek->search;
    const struct module_asker asker = {search->begun, search->started / 1000};
    const struct module_question question = search_question_of(seek);
    struct module *module;
    unsigned reason;

    *absent = false;
    switch (module_cache_find(search->searcher->cache,
                              search->roots[seek->store],
                              search->roots[seek->store], &question, &asker,
                              &module, &reason)) {
    case MODULE_FIND_HERE:
        seek_found(seek, module);
        return true;
    case MODULE_FIND_LOOK:
        seek->to_look = true;
        search->to_look++;
        return true;
    case MODULE_FIND_ABSENT:
        *absent = true;
        if (reason > seek->worst) {
            seek->worst = (enum api_module_state)reason;
        }
        break;
    case MODULE_FIND_NONE:
        break;
    }
    return false;
}

static void seek_ask(struct seek *seek)
{
    seek->step = SEEK_ASK;
    seek->wanted->missed = true;
    seek->to_ask = true;
    seek->search->to_ask++;
}

/* Looks into a store of a tenant.  Missing files are not remembered, because
 * other stores can have the same number. */
static void seek_in_store(struct seek *seek, int number, int root)
{
    struct search *search = seek->search;
    const struct module_asker asker = {search->begun, search->started / 1000};
    const struct module_question question = search_question_of(seek);
    struct module *module;
    unsigned reason;

    switch (module_cache_find(search->searcher->cache, number, root, &question,
                              &asker, &module, &reason)) {
    case MODULE_FIND_HERE:
        seek_found(seek, module);
        break;
    case MODULE_FIND_LOOK:
        seek->to_look = true;
        search->to_look++;
        break;
    default:
        seek_ask(seek);
        break;
    }
}

/* The same among the stores of a tenant; those that are not asked for the
 * module are passed over. */
static void seek_in_tenant(struct seek *seek)
{
    const struct tenant *tenant = seek->search->tenant;
    char hints[SYMCACHE_HINTS_MAX + 1];

    while (seek->store < tenant->nstores &&
           !tenant_hints(tenant, seek->store, seek->wanted->hints, hints)) {
        seek->store++;
    }
    if (seek->store == tenant->nstores) {
        seek_settle(seek, seek->worst, tenant->nstores - 1);
        return;
    }
    free(seek->hints);
    seek->hints = hints[0] != '\0' ? strdup(hints) : NULL;
    if (hints[0] != '\0' && seek->hints == NULL) {
        seek_end(seek, API_MODULE_FAILED);
        return;
    }
    seek->step = SEEK_DISK;
    seek_in_store(seek, tenant->numbers[seek->store],
                  tenant->roots[seek->store]);
}

/* From the store at which it is now. */
static void seek_go_on(struct seek *seek)
{
    struct search *search = seek->search;
    size_t n = search->nstores;
    bool absent;

    if (search->tenant != NULL) {
        seek_in_tenant(seek);
        return;
    }
    for (; seek->step == SEEK_DISK && seek->store < n; seek->store++) {
        if (seek_on_disk(seek, &absent)) {
            return;
        }
        if (!absent) {
            seek->unsure = true;
        }
    }
    if (seek->step == SEEK_DISK) {
        seek->step = SEEK_ASK;
        seek->wanted->missed = true;
        seek->store = seek->unsure ? 0 : n;
        if (seek->unsure && reachability_is_paused(search->started / 1000)) {
            note_failure(seek, "symcached could not be reached a moment ago");
            seek->wanted->is_unseen |= reachability_is_scarce();
            seek->worst = search_worst_unasked(seek);
            seek->store = n;
        }
    }
    if (seek->store < n) {
        seek->to_ask = true;
        search->to_ask++;
    } else {
        seek_settle(seek, seek->worst, n - 1);
    }
}

/* Begins the requests that seeks wait for, as many as possible together.
 * Without memory or descriptors, the search ends. */
static void search_begin(struct search *search)
{
    int rc = search->to_look > 0 ? disk_lookups_start(search) : 0;
    size_t at = 0;

    while (rc == 0 && search->to_ask > 0) {
        rc = search_batch_start(search, &at);
    }
    if (rc != 0) {
        search_stop_for_lack(search);
    }
    search_why(search);
}

/* After each step of seeks. */
static void search_go_on(void *arg)
{
    struct search *search = arg;

    search_begin(search);
    if (search->open == 0) {
        search->done(search->arg);
    }
}

/* Takes the reference over. */
static void search_set_tenant(struct search *search, struct tenant *tenant)
{
    search->tenant = tenant;
    if (tenant != NULL) {
        search->nstores = tenant->nstores;
        search->roots = tenant->roots;
        search->whys.names = tenant->names;
    }
}

/* The tenant is ready, or not available. */
static void search_on_tenant(void *arg, enum symcached_client_news news,
                             struct evbuffer *body)
{
    struct search *search = arg;
    struct seek *seek;
    size_t i;

    if (news == EXCHANGE_BODY &&
        evbuffer_get_length(body) <= TENANT_ANSWER_MAX) {
        return; /* the rest is to come */
    }
    if (news == EXCHANGE_ENDED) {
        search_set_tenant(search, tenant_open(search->settings, body));
    }
    search->call->lacks_tenant = search->tenant == NULL;
    symcached_client_free(search->client);
    search->client = NULL;
    for (i = 0; i < search->round->nmodules; i++) {
        seek = &search->seeks[i];
        if (seek->step == SEEK_TENANT && search->tenant != NULL) {
            seek_go_on(seek);
        } else if (seek->step == SEEK_TENANT) {
            note_failure(seek, "symcached gave no stores for the request");
            seek_end(seek, API_MODULE_FAILED);
        }
    }
    search_go_on(search);
}

struct search *search_new(struct searcher *searcher, struct settings *settings,
                          struct api_call *call, uint64_t begun,
                          struct search *before, void (*done)(void *arg),
                          void *arg)
{
    struct api_round *round = call->round;
    struct search *search = zeroed_alloc(
        1, sizeof(*search) + round->nmodules * sizeof(search->seeks[0]));
    size_t i;

    if (search == NULL) {
        return NULL;
    }
    search->searcher = searcher;
    search->settings = settings_ref(settings);
    search->call = call;
    search->round = round;
    search->begun = begun;
    search->before = before;
    search->done = done;
    search->arg = arg;
    search->started = clock_usec();
    search->nstores = settings->symbolication->nstores;
    search->roots = settings->roots;
    search->address =
        call->tenant != NULL ? &settings->guests : &settings->helper;
    why_query_begin(&search->whys, searcher->base, search->address,
                    call->tenant != NULL ? NULL
                                         : settings->symbolication->stores,
                    search_go_on, search);
    if (call->tenant != NULL) {
        search_set_tenant(search, tenant_ref(search_tenant(before)));
    } else {
        why_query_remember(
            &search->whys, searcher->cache, search->roots,
            &(struct module_asker){begun, search->started / 1000});
    }
    for (i = 0; i < round->nmodules; i++) {
        search->seeks[i].search = search;
        search->seeks[i].wanted = &round->modules[i];
        search->seeks[i].step = SEEK_ENDED;
    }
    return search;
}

bool search_run(struct search *search)
{
    bool is_ready = search->call->tenant == NULL || search->tenant != NULL;
    struct seek *seek;
    size_t i;

    for (i = 0; i < search->round->nmodules; i++) {
        seek = &search->seeks[i];
        if (seek->wanted->state == API_MODULE_UNKNOWN) {
            seek->step = is_ready ? SEEK_DISK : SEEK_TENANT;
            seek->store = 0;
            seek->worst = API_MODULE_MISSING;
            seek->unsure = false;
            why_query_free(&seek->wanted->attempts);
            search->open++;
            if (is_ready) {
                seek_go_on(seek);
            }
        }
    }
    if (!is_ready && search->open > 0) {
        search->client = tenant_ask(
            search->searcher->base, search->settings, search->call->tenant,
            search->call->tenant_size, search_on_tenant, search);
        if (search->client == NULL) {
            search_stop_for_lack(search);
        }
    }
    search_begin(search);
    return search->open == 0;
}

struct search *search_before(const struct search *search)
{
    return search->before;
}

bool search_has_ended(const struct search *search)
{
    return search->open == 0;
}

bool search_is_looking(const struct search *search)
{
    return search->disk_lookups != NULL;
}

static void search_stop_seeks(struct search *search,
                              enum api_module_state state, const char *why)
{
    struct search_batch *batch;
    struct search_disk_lookups *disk_lookups;
    struct seek *seek;
    size_t i;

    while ((disk_lookups = search->disk_lookups) != NULL) {
        search->disk_lookups = disk_lookups->next;
        task_cancel(disk_lookups->task);
    }
    while ((batch = search->batches) != NULL) {
        search->batches = batch->next;
        if (batch->ask != NULL) {
            batch_cancel(batch->ask);
        }
        free(batch);
    }
    symcached_client_free(search->client);
    search->client = NULL;
    why_query_cancel(&search->whys);
    search->to_look = search->to_ask = 0;
    for (i = 0; i < search->round->nmodules; i++) {
        seek = &search->seeks[i];
        seek->to_look = seek->to_ask = false;
        if (seek->step == SEEK_WHY) {
            seek_end(seek, seek->settled);
        } else if (seek->step != SEEK_ENDED) {
            note_failure(seek, "%s", why);
            seek_end(seek, state);
        }
    }
}

static void search_stop_for_lack(struct search *search)
{
    char why[128];
    size_t i;

    snprintf(why, sizeof(why), "no thread, memory or descriptor for it: %s",
             strerror(errno));
    log_warn(0, "modules are not searched for: %s", why);
    for (i = 0; i < search->round->nmodules; i++) {
        if (search->seeks[i].step != SEEK_ENDED) {
            search->seeks[i].wanted->is_unseen = true;
        }
    }
    search_stop_seeks(search, API_MODULE_FAILED, why);
}

void search_stop(struct search *search)
{
    search_stop_seeks(search, API_MODULE_LATE,
                      "nothing was known of it in time");
}

void search_free(struct search *search)
{
    size_t i;

    if (search == NULL) {
        return;
    }
    search_stop(search);
    for (i = 0; i < search->round->nmodules; i++) {
        module_unref(search->seeks[i].module);
        why_query_free(&search->seeks[i].wanted->attempts);
        free(search->seeks[i].hints);
    }
    tenant_unref(search->tenant);
    settings_unref(search->settings);
    free(search);
}
