/*
 * Copyright (C) the ngx_symcache authors
 */

#include "warm_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "symcachectl/terminal/bar.h"
#include "symcachectl/command.h"

/* A request is held for so long and then repeated; holding it costs
 * nothing. */
#define HOLD_SECONDS 300
#define HOLD_SLACK 30
#define WHY_SECONDS 60

/* The longest pause that a server may ask for. */
#define PAUSE_MAX 600

#define POLL_MS 200 /* while the bar moves, or pauses end */

/* A request that is under way. */
struct warm_run_slot {
    struct warm_module *module; /* NULL: this slot is free */
    CURL *request;
    int is_why;
    struct client_answer answer;
};

struct warm_run_state {
    const struct warm_run *a;
    CURLM *multi;
    struct warm_run_slot *slots;
    size_t next; /* the first of the modules that was never asked for */
    size_t running;
    size_t waiting;
    struct warm_module *waits;
    int signals; /* descriptor */
    int code;    /* other than COMMAND_OK: stop */
};

static void start_lookup(struct warm_run_state *run,
                         struct warm_run_slot *slot,
                         struct warm_module *module, int is_why)
{
    const struct warm_run *a = run->a;
    const char *kind = symcache_kind_text(a->kind);
    char path[CLIENT_PATH_MAX];
    size_t n;

    slot->module = module;
    slot->is_why = is_why;
    client_path(path, is_why ? "why" : kind, a->store, module->name,
                module->id);
    if (is_why) {
        client_query(path, "kind", kind);
    } else {
        n = strlen(path);
        snprintf(path + n, sizeof(path) - n, "?version=%s&wait=%d%s%s",
                 a->version, HOLD_SECONDS,
                 module->code_id[0] != '\0' ? "&code_id=" : "",
                 module->code_id);
    }
    slot->request = client_request(
        a->client, "GET", path,
        is_why ? WHY_SECONDS : HOLD_SECONDS + HOLD_SLACK, &slot->answer);
    if (curl_multi_add_handle(run->multi, slot->request) != CURLM_OK) {
        command_no_memory();
    }
    run->running++;
}

/* Returns the seconds until the module is asked for again. */
static unsigned wait_for(struct warm_run_state *run,
                         struct warm_module *module, unsigned seconds)
{
    seconds = seconds > PAUSE_MAX ? PAUSE_MAX : seconds > 0 ? seconds : 1;
    module->due = bar_clock() + seconds * 1000;
    module->next = run->waits;
    run->waits = module;
    run->waiting++;
    return seconds;
}

/* Returns a module whose pause is over, or one that was never asked for, or
 * NULL. */
static struct warm_module *choose_module(struct warm_run_state *run)
{
    struct warm_module **at, *module;
    uint64_t now = bar_clock();

    for (at = &run->waits; *at != NULL; at = &(*at)->next) {
        if ((*at)->due <= now) {
            module = *at;
            *at = module->next;
            run->waiting--;
            return module;
        }
    }
    return run->next < run->a->modules->count
               ? run->a->modules->items[run->next++]
               : NULL;
}

static void finish_module(struct warm_run_state *run,
                          struct warm_module *module,
                          enum module_outcome outcome)
{
    module->outcome = outcome;
    run->a->done(run->a->arg, module);
}

static void keep_reason(struct warm_module *module, const char *reason)
{
    free(module->reason);
    module->reason = strdup(reason);
    if (module->reason == NULL) {
        command_no_memory();
    }
}

/* The helper could not tell.  The module is asked for again later, unless
 * it was asked for often enough. */
static void on_failure(struct warm_run_state *run, struct warm_run_slot *slot,
                       struct warm_module *module, const char *error)
{
    struct client_answer *answer = &slot->answer;
    char text[1024];

    if (answer->status == 503 && strncmp(error, "unknown-store", 13) == 0) {
        bar_line("symcachectl warm: ", error, "; --store names another store");
        run->code = COMMAND_USAGE;
        return;
    }
    if (answer->status != 503 && answer->status != 0) {
        module->tries = run->a->attempts; /* the answer would be the same */
    }
    if (++module->tries < run->a->attempts) {
        run->a->later(run->a->arg, module,
                      wait_for(run, module,
                               answer->status != 0 ? answer->retry_after : 1));
        return;
    }
    if (answer->status == 0) {
        snprintf(text, sizeof(text), "%s: %s", client_address(run->a->client),
                 error);
        bar_line("symcachectl warm: no answer from symcached: ", text, "");
        run->code = COMMAND_IO;
        return;
    }
    module->outcome = MODULE_FAILED;
    start_lookup(run, slot, module, 1);
}

static void on_lookup(struct warm_run_state *run, struct warm_run_slot *slot,
                      struct warm_module *module)
{
    struct client_answer *answer = &slot->answer;
    char error[1024];

    client_error(answer, error, sizeof(error));
    if (answer->status == 200) {
        snprintf(module->version, sizeof(module->version), "%s",
                 answer->version);
        finish_module(run, module, MODULE_CACHED);
    } else if (answer->status == 202) {
        wait_for(run, module, answer->retry_after);
    } else if (answer->status == 404 && answer->reason[0] != '\0') {
        keep_reason(module, error);
        client_clear(answer);
        module->outcome = MODULE_MISSING;
        if (strcmp(answer->reason, "notfound") == 0) {
            start_lookup(run, slot, module,
                         1); /* to learn where it was looked for */
        } else {
            finish_module(run, module, MODULE_MISSING);
        }
    } else {
        keep_reason(module, error);
        client_clear(answer);
        on_failure(run, slot, module, module->reason);
    }
}

static void on_why(struct warm_run_state *run, struct warm_run_slot *slot,
                   struct warm_module *module)
{
    if (slot->answer.status == 200) {
        module->detail = slot->answer.body;
        slot->answer.body = NULL;
    }
    finish_module(run, module, module->outcome);
}

static void warm_on_answer(struct warm_run_state *run, CURL *request,
                           CURLcode code)
{
    struct warm_run_slot *slot = run->slots;
    struct warm_module *module;

    while (slot->request != request) {
        slot++;
    }
    module = slot->module;
    curl_multi_remove_handle(run->multi, request);
    client_finish(request, code);
    slot->module = NULL;
    slot->request = NULL;
    run->running--;
    if (slot->is_why) {
        on_why(run, slot, module);
    } else {
        on_lookup(run, slot, module);
    }
    if (slot->module == NULL) {
        client_clear(&slot->answer);
    }
}

static void fill_slots(struct warm_run_state *run)
{
    struct warm_module *module;
    unsigned i;

    for (i = 0; i < run->a->concurrency; i++) {
        if (run->slots[i].module != NULL) {
            continue;
        }
        module = choose_module(run);
        if (module == NULL) {
            return;
        }
        start_lookup(run, &run->slots[i], module, 0);
    }
}

static void wait_and_hear(struct warm_run_state *run)
{
    struct curl_waitfd fds = {run->signals, CURL_WAIT_POLLIN, 0};
    struct CURLMsg *message;
    int n;

    curl_multi_poll(run->multi, &fds, 1, POLL_MS, NULL);
    if (fds.revents != 0) {
        run->code = COMMAND_INTERRUPTED;
        return;
    }
    curl_multi_perform(run->multi, &n);
    while (run->code == COMMAND_OK &&
           (message = curl_multi_info_read(run->multi, &n)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            warm_on_answer(run, message->easy_handle, message->data.result);
        }
    }
}

/* Abandons the requests that are under way; the helper's jobs continue. */
static void warm_give_up(struct warm_run_state *run)
{
    struct warm_run_slot *slot;
    unsigned i;

    for (i = 0; i < run->a->concurrency; i++) {
        slot = &run->slots[i];
        if (slot->request == NULL) {
            continue;
        }
        curl_multi_remove_handle(run->multi, slot->request);
        curl_easy_cleanup(slot->request);
        client_clear(&slot->answer);
        if (!slot->is_why) {
            slot->module->outcome = MODULE_NOT_ASKED;
        }
    }
}

/* From now on, these signals are read from a descriptor.  A second one has
 * its usual effect after warm_run_run() has returned. */
static int warm_catch_signals(sigset_t *former)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, former);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void release_signals(int fd, const sigset_t *former)
{
    struct signalfd_siginfo info;

    while (read(fd, &info, sizeof(info)) == sizeof(info)) {
    }
    close(fd);
    sigprocmask(SIG_SETMASK, former, NULL);
}

int warm_run_run(const struct warm_run *warm)
{
    struct warm_run_state run = {.a = warm};
    sigset_t former;

    run.multi = curl_multi_init();
    run.slots = calloc(warm->concurrency, sizeof(*run.slots));
    run.signals = warm_catch_signals(&former);
    if (run.multi == NULL || run.slots == NULL || run.signals < 0) {
        command_no_memory();
    }
    fill_slots(&run);
    while (run.code == COMMAND_OK && run.running + run.waiting > 0) {
        wait_and_hear(&run);
        if (run.code == COMMAND_OK) {
            fill_slots(&run);
        }
        warm->progress(warm->arg, run.running, run.waiting);
    }
    warm_give_up(&run);
    release_signals(run.signals, &former);
    curl_multi_cleanup(run.multi);
    free(run.slots);
    return run.code;
}
