/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evict_process.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cjson/cJSON.h>

#include "base/clock.h"
#include "evict_pass.h"
#include "base/workdir.h"

/* A pass takes seconds.  While one hangs, the next does not begin. */
#define EVICT_SECONDS (24 * 60 * 60)

#define REPORT_FD CHILD_FD
#define BAR 30 /* columns */

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

/* the trees ----------------------------------------------------------------
 */

static bool has_store(const struct evict_pass *evict_pass, const char *name)
{
    const struct evict_tree *trees;
    size_t i, n;

    trees = evict_trees(evict_pass, &n);
    for (i = 0; i < n; i++) {
        if (strcmp(trees[i].store, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the downloads of stores that the configuration does not have any
 * more. */
static int add_former_stores(struct evict_pass *evict_pass,
                             const char *downloads)
{
    DIR *dir = opendir(downloads);
    struct dirent *entry;
    int rc = 0;

    while (rc == 0 && dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.' && !has_store(evict_pass, entry->d_name)) {
            rc = evict_pass_add(evict_pass, entry->d_name, "", downloads);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

/* the report ---------------------------------------------------------------
 */

static cJSON *
removed_json(const struct evict_pass_count removed[EVICT_REASONS])
{
    cJSON *object = cJSON_CreateObject(), *item;
    int i;

    for (i = 0; i < EVICT_REASONS; i++) {
        item = cJSON_AddObjectToObject(
            object, evict_pass_reason_name((enum evict_pass_reason)i));
        cJSON_AddNumberToObject(item, "files", (double)removed[i].files);
        cJSON_AddNumberToObject(item, "bytes", (double)removed[i].bytes);
    }
    return object;
}

static cJSON *tree_json(const struct evict_tree *tree)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "store", tree->store);
    cJSON_AddStringToObject(object, "kind",
                            tree->downloads ? "downloads" : "symcache");
    cJSON_AddStringToObject(object, "path", tree->path);
    cJSON_AddNumberToObject(object, "files", (double)tree->kept.files);
    cJSON_AddNumberToObject(object, "bytes", (double)tree->kept.bytes);
    cJSON_AddItemToObject(object, "removed", removed_json(tree->removed));
    cJSON_AddNumberToObject(object, "failed", (double)tree->failed);
    cJSON_AddNumberToObject(object, "future", (double)tree->future);
    cJSON_AddNumberToObject(object, "ahead", (double)tree->ahead);
    cJSON_AddNumberToObject(object, "doubted", (double)tree->doubted);
    cJSON_AddNumberToObject(object, "clock_error", tree->clock_error);
    return object;
}

static cJSON *disk_space_json(const struct evict_pass_space *space)
{
    cJSON *object = cJSON_CreateObject();
    char device[32];

    snprintf(device, sizeof(device), "%" PRIu64, (uint64_t)space->device);
    cJSON_AddStringToObject(object, "device", device);
    cJSON_AddStringToObject(object, "path", space->path);
    cJSON_AddNumberToObject(object, "claim",
                            (double)space->share[SPACE_ANNOUNCED]);
    cJSON_AddNumberToObject(object, "body",
                            (double)space->share[SPACE_ARRIVED]);
    cJSON_AddBoolToObject(object, "refused", space->refused);
    return object;
}

static void sum_removed(const struct evict_pass *evict_pass,
                        struct evict_pass_count removed[EVICT_REASONS],
                        uint64_t *failed)
{
    const struct evict_tree *trees;
    size_t i, n;
    int r;

    memset(removed, 0, EVICT_REASONS * sizeof(removed[0]));
    *failed = 0;
    trees = evict_trees(evict_pass, &n);
    for (i = 0; i < n; i++) {
        *failed += trees[i].failed;
        for (r = 0; r < EVICT_REASONS; r++) {
            removed[r].files += trees[i].removed[r].files;
            removed[r].bytes += trees[i].removed[r].bytes;
        }
    }
}

/* Returns 0, or -1 with errno. */
static int write_report(const struct evict_pass *evict_pass, bool dry_run,
                        unsigned ms, FILE *f)
{
    struct evict_pass_count removed[EVICT_REASONS];
    const struct evict_tree *trees;
    const struct evict_pass_space *spaces;
    cJSON *object = cJSON_CreateObject(), *array;
    uint64_t failed;
    char *text;
    size_t i, n;

    sum_removed(evict_pass, removed, &failed);
    cJSON_AddBoolToObject(object, "dry_run", dry_run);
    cJSON_AddNumberToObject(object, "ms", ms);
    cJSON_AddNumberToObject(object, "failed", (double)failed);
    cJSON_AddItemToObject(object, "removed", removed_json(removed));
    array = cJSON_AddArrayToObject(object, "trees");
    trees = evict_trees(evict_pass, &n);
    for (i = 0; i < n; i++) {
        if (trees[i].path[0] != '\0') {
            cJSON_AddItemToArray(array, tree_json(&trees[i]));
        }
    }
    array = cJSON_AddArrayToObject(object, "rooms");
    spaces = evict_pass_spaces(evict_pass, &n);
    for (i = 0; i < n; i++) {
        cJSON_AddItemToArray(array, disk_space_json(&spaces[i]));
    }

    text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (text == NULL) {
        errno = ENOMEM;
        return -1;
    }
    fprintf(f, "%s\n", text);
    free(text);
    return fflush(f) == 0 ? 0 : -1;
}

/* the child ----------------------------------------------------------------
 */

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
        add_former_stores(evict_pass, argv[ARG_DOWNLOADS]) != 0) {
        return say_progress("out of memory");
    }

    evict_pass_run(evict_pass, NULL, NULL);
    report = fdopen(REPORT_FD, "w");
    if (report == NULL ||
        write_report(evict_pass, false, clock_since(began), report) != 0) {
        return say_progress(strerror(errno));
    }
    evict_pass_free(evict_pass);
    return 0;
}

/* the command --------------------------------------------------------------
 */

struct bar {
    const struct evict_tree *tree;
    uint64_t at; /* clock_ms() of the last update */
};

static void on_progress(void *arg, const struct evict_tree *tree,
                        uint64_t done, uint64_t all)
{
    struct bar *bar = arg;
    unsigned filled, i;

    if (tree == bar->tree && clock_since(bar->at) < 100 && done < all) {
        return;
    }
    bar->tree = tree;
    bar->at = clock_ms();

    filled = all > 0 ? (unsigned)(done * BAR / all) : BAR;
    fprintf(stderr, "\r%-20.20s %-9s [", tree->store,
            tree->downloads ? "downloads" : "symcache");
    for (i = 0; i < BAR; i++) {
        fputc(i < filled ? '#' : '.', stderr);
    }
    fprintf(stderr, "] %3u %% %" PRIu64 " files",
            all > 0 ? (unsigned)(done * 100 / all) : 100, tree->kept.files);
}

static void print_count(FILE *f, const struct evict_pass_count *count)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double bytes = (double)count->bytes;
    unsigned unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    fprintf(f, "%" PRIu64 " files, %.*f %s", count->files, unit > 0, bytes,
            units[unit]);
}

static void print_summary(const struct evict_pass *evict_pass, bool unknown,
                          bool dry_run)
{
    static const char *const words[EVICT_REASONS] = {
        "not used for long", "negative entries that are over", "over max_size",
        "for min_free", "not known to this release"};
    struct evict_pass_count removed[EVICT_REASONS];
    const struct evict_tree *trees;
    uint64_t failed;
    size_t i, n;
    int r;

    trees = evict_trees(evict_pass, &n);
    for (i = 0; i < n; i++) {
        if (trees[i].path[0] != '\0') {
            printf("%s: ", trees[i].path);
            print_count(stdout, &trees[i].kept);
            putchar('\n');
        }
    }
    sum_removed(evict_pass, removed, &failed);
    for (r = 0; r < EVICT_REASONS; r++) {
        if ((r == EVICT_UNKNOWN) != unknown) {
            continue;
        }
        printf("%s (%s): ", dry_run ? "would remove" : "removed", words[r]);
        print_count(stdout, &removed[r]);
        putchar('\n');
    }
    if (failed > 0) {
        printf("could not be removed or read: %" PRIu64 "\n", failed);
    }
}

static const char usage[] =
    "usage: symcached --clean [--unknown] [--dry-run] [--json] [-c FILE]\n"
    "  removes what the rules of \"cache\" no longer keep, as a running\n"
    "  symcached does by itself; it may run meanwhile\n"
    "  --unknown removes only files of kinds and ids that a later release\n"
    "  knows and this one does not\n"
    "exit: 0 done, 1 configuration, 2 usage, 3 something could not be "
    "removed\n";

/* As the options of the command say. */
struct clean_options {
    bool unknown;
    bool dry_run;
    bool json;
};

static int run_pass(const struct config *config,
                    const struct clean_options *options)
{
    struct evict_pass_rules rules;
    struct evict_pass *evict_pass;
    uint64_t began = clock_ms(), failed;
    struct evict_pass_count removed[EVICT_REASONS];
    struct bar bar = {0};
    bool terminal = isatty(STDERR_FILENO);
    bool touches_work = !options->dry_run && !options->unknown;
    size_t i;
    int rc = 0;

    evict_pass_rules_of(&config->cache, &rules);
    rules.dry_run = options->dry_run;
    rules.unknown = options->unknown;
    evict_pass = evict_pass_new(&rules);
    if (touches_work) {
        workdir_remove_stale(config->downloads);
    }
    for (i = 0; i < config->nstores && evict_pass != NULL && rc == 0; i++) {
        if (touches_work) {
            workdir_remove_stale(config->stores[i].root);
        }
        rc = evict_pass_add(evict_pass, config->stores[i].name,
                            config->stores[i].root, config->downloads);
    }
    if (evict_pass == NULL || rc != 0 ||
        add_former_stores(evict_pass, config->downloads) != 0) {
        evict_pass_free(evict_pass);
        fprintf(stderr, "symcached: out of memory\n");
        return 3;
    }

    evict_pass_run(evict_pass, terminal ? on_progress : NULL, &bar);
    if (terminal) {
        fputs("\r\033[K", stderr);
    }
    if (options->json) {
        write_report(evict_pass, options->dry_run, clock_since(began), stdout);
    } else {
        print_summary(evict_pass, options->unknown, options->dry_run);
    }
    sum_removed(evict_pass, removed, &failed);
    evict_pass_free(evict_pass);
    return failed > 0 ? 3 : 0;
}

int evict_pass_command(int argc, char **argv,
                       const struct source_type *const *types,
                       const char *default_config)
{
    static const struct option long_options[] = {
        {"clean", no_argument, NULL, 'C'},
        {"unknown", no_argument, NULL, 'u'},
        {"dry-run", no_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0}};
    const char *file = default_config;
    struct clean_options options = {0};
    struct config *config;
    char error[1024];
    int c, rc;

    while ((c = getopt_long(argc, argv, "c:", long_options, NULL)) != -1) {
        switch (c) {
        case 'C':
            break;
        case 'u':
            options.unknown = true;
            break;
        case 'n':
            options.dry_run = true;
            break;
        case 'j':
            options.json = true;
            break;
        case 'c':
            file = optarg;
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return 2;
    }
    if (config_read(file, types, &config, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return 1;
    }
    rc = run_pass(config, &options);
    config_unref(config);
    return rc;
}
