/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sweep_main.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cjson/cJSON.h>

#include "clock.h"
#include "sweep.h"
#include "workdir.h"

#define REPORT_FD CHILD_FD
#define BAR 30 /* columns */

/* ioprio_set(): IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE */
#define IOPRIO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

/* argv of the child: what it is, the rules, downloads, then name and root */
enum { ARG_SCOPE = 2, ARG_RULES, ARG_DOWNLOADS, ARG_STORES };
#define RULES_FORMAT "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64
#define RULES_SCAN "%u,%u,%u,%" SCNu64 ",%" SCNu64 ",%u,%" SCNu64 ",%" SCNu64

/* the trees ----------------------------------------------------------------
 */

static void rules_of(const struct cache_config *cache,
                     struct sweep_rules *rules)
{
    memset(rules, 0, sizeof(*rules));
    rules->max_unused_for = cache->max_unused_for;
    rules->downloads_max_unused_for = cache->downloads_max_unused_for;
    rules->absent_for =
        cache->retry_misses_after > cache->retry_malformed_after
            ? cache->retry_misses_after
            : cache->retry_malformed_after;
    rules->max_size = cache->max_size;
    rules->min_free = cache->min_free;
    rules->min_free_percent = cache->min_free_percent;
}

static bool has_store(const struct sweep *sweep, const char *name)
{
    const struct sweep_tree *trees;
    size_t i, n;

    trees = sweep_trees(sweep, &n);
    for (i = 0; i < n; i++) {
        if (strcmp(trees[i].store, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Downloads of stores that the configuration has no more. */
static int add_former_stores(struct sweep *sweep, const char *downloads)
{
    DIR *dir = opendir(downloads);
    struct dirent *entry;
    int rc = 0;

    while (rc == 0 && dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.' && !has_store(sweep, entry->d_name)) {
            rc = sweep_add(sweep, entry->d_name, "", downloads);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

/* the report ---------------------------------------------------------------
 */

static cJSON *removed_json(const struct sweep_count removed[SWEEP_REASONS])
{
    cJSON *object = cJSON_CreateObject(), *item;
    int i;

    for (i = 0; i < SWEEP_REASONS; i++) {
        item = cJSON_AddObjectToObject(
            object, sweep_reason_name((enum sweep_reason)i));
        cJSON_AddNumberToObject(item, "files", (double)removed[i].files);
        cJSON_AddNumberToObject(item, "bytes", (double)removed[i].bytes);
    }
    return object;
}

static cJSON *tree_json(const struct sweep_tree *tree)
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
    return object;
}

static void sum(const struct sweep *sweep,
                struct sweep_count removed[SWEEP_REASONS], uint64_t *failed)
{
    const struct sweep_tree *trees;
    size_t i, n;
    int r;

    memset(removed, 0, SWEEP_REASONS * sizeof(removed[0]));
    *failed = 0;
    trees = sweep_trees(sweep, &n);
    for (i = 0; i < n; i++) {
        *failed += trees[i].failed;
        for (r = 0; r < SWEEP_REASONS; r++) {
            removed[r].files += trees[i].removed[r].files;
            removed[r].bytes += trees[i].removed[r].bytes;
        }
    }
}

/* Returns 0, or -1 with errno. */
static int write_report(const struct sweep *sweep, bool dry_run, unsigned ms,
                        FILE *f)
{
    struct sweep_count removed[SWEEP_REASONS];
    const struct sweep_tree *trees;
    cJSON *object = cJSON_CreateObject(), *array;
    uint64_t failed;
    char *text;
    size_t i, n;

    sum(sweep, removed, &failed);
    cJSON_AddBoolToObject(object, "dry_run", dry_run);
    cJSON_AddNumberToObject(object, "ms", ms);
    cJSON_AddNumberToObject(object, "failed", (double)failed);
    cJSON_AddItemToObject(object, "removed", removed_json(removed));
    array = cJSON_AddArrayToObject(object, "trees");
    trees = sweep_trees(sweep, &n);
    for (i = 0; i < n; i++) {
        if (trees[i].path[0] != '\0') {
            cJSON_AddItemToArray(array, tree_json(&trees[i]));
        }
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

struct child *sweep_start(struct event_base *base, const struct config *config,
                          enum sweep_scope scope, dev_t device, uint64_t room,
                          int report, child_done_fn done, void *arg)
{
    const char **argv =
        calloc(ARG_STORES + 2 * config->nstores + 1, sizeof(*argv));
    static char *env[] = {NULL};
    struct child_options options = {.program = "/proc/self/exe",
                                    .env = env,
                                    .fds = &report,
                                    .nfds = 1,
                                    .own = true};
    struct sweep_rules r;
    struct child *child;
    char rules[200];
    size_t i, n = ARG_STORES;

    if (argv == NULL) {
        return NULL;
    }
    rules_of(&config->cache, &r);
    snprintf(rules, sizeof(rules), RULES_FORMAT, r.max_unused_for,
             r.downloads_max_unused_for, r.absent_for, r.max_size, r.min_free,
             r.min_free_percent, room, (uint64_t)device);

    argv[0] = "symcached";
    argv[1] = "--sweep";
    argv[ARG_SCOPE] = scope == SWEEP_ALL ? "all" : "work";
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

static int say(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

int sweep_main(int argc, char **argv)
{
    struct sweep_rules rules = {.gentle = true};
    uint64_t began = clock_ms();
    struct sweep *sweep;
    FILE *report;
    int i;

    if (argc < ARG_STORES ||
        sscanf(argv[ARG_RULES], RULES_SCAN, &rules.max_unused_for,
               &rules.downloads_max_unused_for, &rules.absent_for,
               &rules.max_size, &rules.min_free, &rules.min_free_percent,
               &rules.room, &rules.room_device) != 8) {
        return say("--sweep is not for the command line: see --clean");
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

    sweep = sweep_new(&rules);
    for (i = ARG_STORES; sweep != NULL && i + 1 < argc; i += 2) {
        if (sweep_add(sweep, argv[i], argv[i + 1], argv[ARG_DOWNLOADS]) != 0) {
            return say("out of memory");
        }
    }
    if (sweep == NULL || add_former_stores(sweep, argv[ARG_DOWNLOADS]) != 0) {
        return say("out of memory");
    }

    sweep_run(sweep, NULL, NULL);
    report = fdopen(REPORT_FD, "w");
    if (report == NULL ||
        write_report(sweep, false, clock_since(began), report) != 0) {
        return say(strerror(errno));
    }
    sweep_free(sweep);
    return 0;
}

/* the command --------------------------------------------------------------
 */

struct bar {
    const struct sweep_tree *tree;
    uint64_t at; /* clock_ms() of the last time */
};

static void on_progress(void *arg, const struct sweep_tree *tree,
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

static void print_count(FILE *f, const struct sweep_count *count)
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

static void print_summary(const struct sweep *sweep, bool dry_run)
{
    static const char *const words[SWEEP_REASONS] = {
        "not used for long", "negative entries that are over", "over max_size",
        "for min_free"};
    struct sweep_count removed[SWEEP_REASONS];
    const struct sweep_tree *trees;
    uint64_t failed;
    size_t i, n;
    int r;

    trees = sweep_trees(sweep, &n);
    for (i = 0; i < n; i++) {
        if (trees[i].path[0] != '\0') {
            printf("%s: ", trees[i].path);
            print_count(stdout, &trees[i].kept);
            putchar('\n');
        }
    }
    sum(sweep, removed, &failed);
    for (r = 0; r < SWEEP_REASONS; r++) {
        printf("%s (%s): ", dry_run ? "would remove" : "removed", words[r]);
        print_count(stdout, &removed[r]);
        putchar('\n');
    }
    if (failed > 0) {
        printf("could not be removed or read: %" PRIu64 "\n", failed);
    }
}

static const char usage[] =
    "usage: symcached --clean [--dry-run] [--json] [-c FILE]\n"
    "  removes what the rules of \"cache\" no longer keep, as a running\n"
    "  symcached does by itself; it may run meanwhile\n"
    "exit: 0 done, 1 configuration, 2 usage, 3 something could not be "
    "removed\n";

static int run(const struct config *config, bool dry_run, bool json)
{
    struct sweep_rules rules;
    struct sweep *sweep;
    uint64_t began = clock_ms(), failed;
    struct sweep_count removed[SWEEP_REASONS];
    struct bar bar = {0};
    bool terminal = isatty(STDERR_FILENO);
    size_t i;
    int rc = 0;

    rules_of(&config->cache, &rules);
    rules.dry_run = dry_run;
    sweep = sweep_new(&rules);
    if (!dry_run) {
        workdir_remove_stale(config->downloads);
    }
    for (i = 0; i < config->nstores && sweep != NULL && rc == 0; i++) {
        if (!dry_run) {
            workdir_remove_stale(config->stores[i].root);
        }
        rc = sweep_add(sweep, config->stores[i].name, config->stores[i].root,
                       config->downloads);
    }
    if (sweep == NULL || rc != 0 ||
        add_former_stores(sweep, config->downloads) != 0) {
        sweep_free(sweep);
        fprintf(stderr, "symcached: out of memory\n");
        return 3;
    }

    sweep_run(sweep, terminal ? on_progress : NULL, &bar);
    if (terminal) {
        fputs("\r\033[K", stderr);
    }
    if (json) {
        write_report(sweep, dry_run, clock_since(began), stdout);
    } else {
        print_summary(sweep, dry_run);
    }
    sum(sweep, removed, &failed);
    sweep_free(sweep);
    return failed > 0 ? 3 : 0;
}

int sweep_command(int argc, char **argv, const char *default_config)
{
    static const struct option options[] = {
        {"clean", no_argument, NULL, 'C'},
        {"dry-run", no_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0}};
    const char *file = default_config;
    bool dry_run = false, json = false;
    struct config *config;
    char error[1024];
    int c, rc;

    while ((c = getopt_long(argc, argv, "c:", options, NULL)) != -1) {
        switch (c) {
        case 'C':
            break;
        case 'n':
            dry_run = true;
            break;
        case 'j':
            json = true;
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
    if (config_read(file, &config, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return 1;
    }
    rc = run(config, dry_run, json);
    config_unref(config);
    return rc;
}
