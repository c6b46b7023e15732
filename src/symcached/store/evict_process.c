/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evict_process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "evict_pass.h"
#include "evict_report.h"
#include "base/workdir.h"

/* A pass takes seconds.  While one hangs, the next does not begin. */
#define EVICT_SECONDS (24 * 60 * 60)

#define REPORT_FD CHILD_FD

/* ioprio_set(): IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE */
#define IOPRIO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

/* The arguments of the child process: what it is, the scope, the rules, the
 * root of downloads, and then name and root of each store. */
enum { ARG_SCOPE = 2, ARG_RULES, ARG_DOWNLOADS, ARG_STORES };
#define RULES_FORMAT                                                          \
    "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%" PRIu64             \
    ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
#define RULES_SCAN                                                            \
    "%u,%u,%u,%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%u,%u,%" SCNu64             \
    ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64

/* In place of the kind of a request. */
#define ELSEWHERE SPACE_REQUEST_KINDS

/* the child --------------------------------------------------------------- */

struct child *evict_pass_start(struct event_base *base,
                               const struct config *config,
                               enum evict_pass_scope scope,
                               const struct space_request *request,
                               const struct evict_life *life, int report,
                               child_done_fn done, void *arg)
{
    const char **argv =
        calloc(ARG_STORES + 2 * config->nstores + 1, sizeof(*argv));
    static char *env[] = {NULL};
    struct child_options options = {
        .program = "/proc/self/exe",
        .env = env,
        .fds = &report,
        .nfds = 1,
        .seconds = EVICT_SECONDS,
    };
    struct evict_pass_rules r;
    struct child *child;
    char rules[256];
    size_t i, n = ARG_STORES;

    if (argv == NULL) {
        return NULL;
    }
    evict_pass_rules_of(&config->cache, &r);
    snprintf(rules, sizeof(rules), RULES_FORMAT, r.max_unused_for,
             r.downloads_max_unused_for, r.absent_for, r.max_size,
             r.downloads_max_size, r.min_free, r.min_free_percent,
             request->is_elsewhere ? ELSEWHERE : (unsigned)request->kind,
             request->bytes, (uint64_t)request->device,
             life->run, (uint64_t)clock_since(life->began) / 1000,
             (uint64_t)clock_since(life->noted) / 1000);

    argv[0] = "symcached";
    argv[1] = "--evict";
    argv[ARG_SCOPE] = scope == EVICT_ALL ? "all" : "work";
    argv[ARG_RULES] = rules;
    argv[ARG_DOWNLOADS] = config->downloads;
    for (i = 0; i < config->nstores; i++) {
        argv[n++] = config->stores[i].name;
        argv[n++] = config->stores[i].root;
    }

    options.argv = (char *const *)argv;
    child = child_start(base, &options, done, arg);
    free(argv);
    return child;
}

static int say_progress(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

static bool parse_rules(const char *text, struct evict_pass_rules *rules)
{
    uint64_t device;
    unsigned kind;

    memset(rules, 0, sizeof(*rules));
    rules->gentle = true;
    if (sscanf(text, RULES_SCAN, &rules->max_unused_for,
               &rules->downloads_max_unused_for, &rules->absent_for,
               &rules->max_size, &rules->downloads_max_size, &rules->min_free,
               &rules->min_free_percent, &kind, &rules->request.bytes, &device,
               &rules->run.id, &rules->run.ran, &rules->run.since) != 13) {
        return false;
    }
    rules->request.kind =
        kind == SPACE_ANNOUNCED ? SPACE_ANNOUNCED : SPACE_ARRIVED;
    rules->request.is_elsewhere = kind == ELSEWHERE;
    rules->request.device = (dev_t)device;
    return true;
}

int evict_pass_main(int argc, char **argv)
{
    struct evict_pass_rules rules;
    uint64_t began = clock_ms();
    struct evict_pass *evict_pass;
    FILE *report;
    int i;

    if (argc < ARG_STORES || !parse_rules(argv[ARG_RULES], &rules)) {
        return say_progress(
            "--evict is not for the command line: see --clean");
    }
    (void)setpriority(PRIO_PROCESS, 0, 10);
    (void)syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, IOPRIO_IDLE);

    workdir_remove_stale(argv[ARG_DOWNLOADS]);
    for (i = ARG_STORES; i + 1 < argc; i += 2) {
        workdir_remove_stale(argv[i + 1]);
    }
    if (strcmp(argv[ARG_SCOPE], "all") != 0) {
        return 0;
    }

    evict_pass = evict_pass_new(&rules);
    for (i = ARG_STORES; evict_pass != NULL && i + 1 < argc; i += 2) {
        if (evict_pass_add(evict_pass, argv[i], argv[i + 1],
                           argv[ARG_DOWNLOADS]) != 0) {
            return say_progress("out of memory");
        }
    }
    if (evict_pass == NULL ||
        evict_pass_add_former(evict_pass, argv[ARG_DOWNLOADS]) != 0) {
        return say_progress("out of memory");
    }

    evict_pass_run(evict_pass, NULL, NULL);
    report = fdopen(REPORT_FD, "w");
    if (report == NULL ||
        evict_report_write(evict_pass, false, clock_since(began), report) !=
            0) {
        return say_progress(strerror(errno));
    }
    evict_pass_free(evict_pass);
    return 0;
}
