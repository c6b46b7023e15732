/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/workdir.h"
#include "evict_pass.h"
#include "evict_report.h"

#define BAR 30 /* columns */

struct bar {
    const struct evict_tree *tree;
    uint64_t at; /* clock_ms() of the last update */
};

static void clean_on_progress(void *arg, const struct evict_tree *tree,
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

static void clean_print_bytes(uint64_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double bytes = (double)size;
    unsigned unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    printf("%.*f %s", unit > 0, bytes, units[unit]);
}

static void clean_print_count(const struct evict_pass_count *count)
{
    printf("%" PRIu64 " file%s, ", count->files, count->files == 1 ? "" : "s");
    clean_print_bytes(count->bytes);
}

/* The disks on which nothing more can be removed, and room is missing. */
static void clean_print_lack(const struct evict_pass *evict_pass,
                             const struct cache_config *cache)
{
    const struct evict_pass_space *spaces;
    struct disk_space space;
    size_t i, n;

    spaces = evict_pass_spaces(evict_pass, &n);
    for (i = 0; i < n; i++) {
        if (disk_space_look(spaces[i].path, cache, &space) == 0 &&
            space.free <= space.kept) {
            printf("%s: the disk has ", spaces[i].path);
            clean_print_bytes(space.free);
            fputs(" free, cache.min_free keeps ", stdout);
            clean_print_bytes(space.kept);
            putchar('\n');
        }
    }
}

static void clean_print_summary(const struct evict_pass *evict_pass,
                                bool unknown, bool dry_run)
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
            clean_print_count(&trees[i].kept);
            putchar('\n');
        }
    }
    evict_pass_removed(evict_pass, removed, &failed);
    for (r = 0; r < EVICT_REASONS; r++) {
        if ((r == EVICT_UNKNOWN) != unknown) {
            continue;
        }
        printf("%s (%s): ", dry_run ? "would remove" : "removed", words[r]);
        clean_print_count(&removed[r]);
        putchar('\n');
    }
    if (failed > 0) {
        printf("could not be removed or read: %" PRIu64 "; first: %s\n",
               failed, evict_pass_failed_at(evict_pass));
    }
}

static const char clean_usage[] =
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

static int clean_run_pass(const struct config *config,
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
        evict_pass_add_former(evict_pass, config->downloads) != 0) {
        evict_pass_free(evict_pass);
        fprintf(stderr, "symcached: out of memory\n");
        return 3;
    }

    evict_pass_run(evict_pass, terminal ? clean_on_progress : NULL, &bar);
    if (terminal) {
        fputs("\r\033[K", stderr);
    }
    if (options->json) {
        evict_report_write(evict_pass, options->dry_run, clock_since(began),
                           stdout);
    } else {
        clean_print_summary(evict_pass, options->unknown, options->dry_run);
        clean_print_lack(evict_pass, &config->cache);
    }
    evict_pass_removed(evict_pass, removed, &failed);
    evict_pass_free(evict_pass);
    return failed > 0 ? 3 : 0;
}

int clean_command(int argc, char **argv,
                  const struct source_type *const *types,
                  const char *default_config)
{
    static const struct option long_options[] = {
        {"clean", no_argument, NULL, 'C'},
        {"unknown", no_argument, NULL, 'u'},
        {"dry-run", no_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    const char *file = default_config;
    struct clean_options options = {0};
    struct config *config;
    char error[1024];
    int c, rc;

    while ((c = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1) {
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
        case 'h':
            fputs(clean_usage, stdout);
            return 0;
        default:
            fputs(clean_usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fputs(clean_usage, stderr);
        return 2;
    }
    if (config_read(file, types, &config, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return 1;
    }
    rc = clean_run_pass(config, &options);
    config_unref(config);
    return rc;
}
