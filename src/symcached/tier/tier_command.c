/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tier.h"

#include <cjson/cJSON.h>
#include <event2/event.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/control.h"
#include "base/duration.h"
#include "call.h"
#include "list.h"
#include "object.h"
#include "bucket_page.h"

#define REMOVALS 16 /* at a time */
#define DAY 86400
#define PREFIX_MAX 1100 /* a key of S3 has 1024 bytes */

enum { EXIT_DONE, EXIT_WRONG_CONFIG, EXIT_WRONG_USE, EXIT_IO = 3 };

/* Why an object is removed. */
enum tier_clean_reason {
    TIER_CLEAN_AGE,
    TIER_CLEAN_FORMER,
    TIER_CLEAN_UNFINISHED,
    TIER_CLEAN_REASONS
};

static const char *const tier_clean_reasons[TIER_CLEAN_REASONS] = {
    "age", "former", "unfinished"};

struct tier_run {
    /* what is wanted */
    const char *what;
    const char *config_file;
    const char *name;
    uint64_t older_than; /* seconds; 0 = of any age */
    int is_json;
    int is_help;
    int dry_run;
    int former;

    struct event_base *base;
    struct config *config;
    struct tier_config *tier;
    struct tiers *tiers;
    int64_t now;
    unsigned running; /* removals */
    uint64_t files[TIER_CLEAN_REASONS];
    uint64_t bytes[TIER_CLEAN_REASONS];
    uint64_t kept;
    uint64_t failed;
};

static const char usage[] =
    "usage: symcached --tier ls [--json] [-c FILE] [TIER]\n"
    "       symcached --tier clean [--older-than DURATION] [--former] "
    "[--dry-run]\n"
    "                 [--json] [-c FILE] [TIER]\n"
    "       symcached --tier rule [--json] [-c FILE] [TIER]\n"
    "  lists what is in a tier, removes objects of it, or prints the rule by\n"
    "  which a bucket does so itself; TIER may be left out if there is one\n"
    "exit: 0 done, 1 configuration, 2 usage, 3 the tier failed\n";

/* what an object is -------------------------------------------------------- */

/* Is it of a store of clients' sources?  Such names are 32 hex digits, and this
 * machine need not have each of the stores. */
static bool tier_object_is_of_guest(const struct tier_run *run,
                                    const struct tier_object *object)
{
    return run->config->symbolication.symbolicator.tenants.tier == run->tier &&
           strcmp(object->generation, run->tier->generation) == 0 &&
           strlen(object->store) == 32 &&
           strspn(object->store, "0123456789abcdef") == 32;
}

/* Has no store of the configuration any use for it? */
static bool tier_is_former(const struct tier_run *run,
                           const struct tier_object *object)
{
    const struct store_config *store = config_store(
        run->config, object->store, strlen(object->store));
    size_t i;

    if (tier_object_is_of_guest(run, object)) {
        return false;
    }
    if (store == NULL || store->tier != run->tier ||
        strcmp(object->generation, run->tier->generation) != 0) {
        return true;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].makes == object->key.kind &&
            symcache_version_cmp(&store->transcoders[i].version,
                                 &object->version) == 0) {
            return false;
        }
    }
    return true;
}

/* Was it left by a machine that was killed?  See filesystem.c. */
static bool tier_is_unfinished(const struct tier_run *run,
                               const struct tier_listed *listed)
{
    const char *name = basename(listed->name);
    size_t n = strlen(name);

    return run->tier->kind == TIER_FILESYSTEM && name[0] == '.' && n > 4 &&
           strcmp(name + n - 4, ".tmp") == 0 &&
           run->now - listed->stored > DAY;
}

/* ls ----------------------------------------------------------------------- */

static void tier_print_json(cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);

    if (text != NULL) {
        puts(text);
    }
    free(text);
    cJSON_Delete(object);
}

static void tier_ls_json(const struct tier_run *run,
                         const struct tier_listed *listed)
{
    char key[SYMCACHE_KEY_TEXT_MAX + 1];
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    cJSON *object = cJSON_CreateObject();
    struct tier_object o;

    cJSON_AddStringToObject(object, "name", listed->name);
    cJSON_AddNumberToObject(object, "size", (double)listed->size);
    cJSON_AddNumberToObject(object, "stored", (double)listed->stored);
    if (tier_object_parse(listed->name, &o)) {
        symcache_key_print(key, &o.key);
        symcache_version_print(version, &o.version);
        cJSON_AddStringToObject(object, "generation", o.generation);
        cJSON_AddStringToObject(object, "store", o.store);
        cJSON_AddStringToObject(object, "key", key);
        cJSON_AddStringToObject(
            object, "kind", symcache_kind_text((symcache_kind_e)o.key.kind));
        cJSON_AddStringToObject(object, "version", version);
        cJSON_AddBoolToObject(object, "former", tier_is_former(run, &o));
    }
    tier_print_json(object);
}

static void tier_ls_one(void *arg, const struct tier_listed *listed)
{
    const struct tier_run *run = arg;
    time_t stored = (time_t)listed->stored;
    char when[32] = "-";
    struct tm tm;
    const char *p;

    if (run->is_json) {
        tier_ls_json(run, listed);
        return;
    }
    if (listed->stored != 0 && localtime_r(&stored, &tm) != NULL) {
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    }
    printf("%12" PRIu64 "  %-19s  ", listed->size, when);
    for (p = listed->name; *p != '\0'; p++) {
        if (control_is(*p)) {
            printf("\\x%02x", (unsigned char)*p);
        } else {
            putchar(*p);
        }
    }
    putchar('\n');
}

/* clean -------------------------------------------------------------------- */

struct tier_clean_removal {
    struct tier_run *run;
    struct tier_call call;
};

static void tier_clean_on_removed(struct tier_call *call,
                                  enum tier_reply reply, const char *detail)
{
    struct tier_clean_removal *removal =
        (struct tier_clean_removal *)((char *)call -
                                      offsetof(struct tier_clean_removal,
                                               call));

    if (reply != TIER_REPLY_DONE) {
        fprintf(stderr, "symcached: %s is not removed: %s\n", call->place,
                detail);
        removal->run->failed++;
    }
    removal->run->running--;
    event_base_loopbreak(removal->run->base);
    free(removal);
}

static void tier_run_wait_until(struct tier_run *run, unsigned running)
{
    while (run->running > running && event_base_dispatch(run->base) == 0) {
    }
}

static void tier_clean_remove(struct tier_run *run,
                              const struct tier_listed *listed)
{
    struct tier_clean_removal *removal;
    struct tier_call *call;

    tier_run_wait_until(run, REMOVALS - 1);
    removal = calloc(1, sizeof(*removal));
    if (removal == NULL || strlen(listed->name) > TIER_NAME_MAX) {
        free(removal);
        run->failed++;
        return;
    }
    removal->run = run;
    call = &removal->call;
    call->fd = -1;
    call->tiers = run->tiers;
    call->config = run->tier;
    call->all = run->config;
    call->reply = tier_clean_on_removed;
    snprintf(call->name, sizeof(call->name), "%s", listed->name);
    snprintf(call->place, sizeof(call->place), "%.1000s/%s",
             run->tier->url != NULL ? run->tier->url : run->tier->path,
             call->name);
    run->running++;
    if (tier_type_of(run->tier)->remove(call) != 0) {
        run->running--;
        run->failed++;
        free(removal);
    }
}

/* Returns TIER_CLEAN_REASONS if the object stays. */
static enum tier_clean_reason
tier_clean_judge(const struct tier_run *run, const struct tier_listed *listed)
{
    struct tier_object object;

    if (tier_is_unfinished(run, listed)) {
        return TIER_CLEAN_UNFINISHED;
    }
    if (!tier_object_parse(listed->name, &object)) {
        return TIER_CLEAN_REASONS; /* not ours to judge */
    }
    if (run->older_than > 0 && listed->stored != 0 &&
        run->now - listed->stored > (int64_t)run->older_than) {
        return TIER_CLEAN_AGE;
    }
    return run->former && tier_is_former(run, &object) ? TIER_CLEAN_FORMER
                                                       : TIER_CLEAN_REASONS;
}

static void tier_clean_one(void *arg, const struct tier_listed *listed)
{
    struct tier_run *run = arg;
    enum tier_clean_reason reason = tier_clean_judge(run, listed);

    if (reason == TIER_CLEAN_REASONS) {
        run->kept++;
        return;
    }
    run->files[reason]++;
    run->bytes[reason] += listed->size;
    if (!run->dry_run) {
        tier_clean_remove(run, listed);
    }
}

static void tier_clean_print_sum(const struct tier_run *run)
{
    cJSON *object, *removed, *item;
    int i;

    if (!run->is_json) {
        for (i = 0; i < TIER_CLEAN_REASONS; i++) {
            printf("%s (%s): %" PRIu64 " object%s, %" PRIu64 " bytes\n",
                   run->dry_run ? "would remove" : "removed",
                   tier_clean_reasons[i], run->files[i],
                   run->files[i] == 1 ? "" : "s", run->bytes[i]);
        }
        printf("others: %" PRIu64 " object%s\n", run->kept,
               run->kept == 1 ? "" : "s");
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddBoolToObject(object, "dry_run", run->dry_run);
    cJSON_AddNumberToObject(object, "failed", (double)run->failed);
    cJSON_AddNumberToObject(object, "kept", (double)run->kept);
    removed = cJSON_AddObjectToObject(object, "removed");
    for (i = 0; i < TIER_CLEAN_REASONS; i++) {
        item = cJSON_AddObjectToObject(removed, tier_clean_reasons[i]);
        cJSON_AddNumberToObject(item, "objects", (double)run->files[i]);
        cJSON_AddNumberToObject(item, "bytes", (double)run->bytes[i]);
    }
    tier_print_json(object);
}

/* rule --------------------------------------------------------------------- */

static void tier_rule_json(const char *id, const char *prefix, unsigned days)
{
    cJSON *object = cJSON_CreateObject(), *rule = cJSON_CreateObject(), *item;

    cJSON_AddStringToObject(rule, "ID", id);
    cJSON_AddStringToObject(rule, "Status", "Enabled");
    item = cJSON_AddObjectToObject(rule, "Filter");
    cJSON_AddStringToObject(item, "Prefix", prefix);
    item = cJSON_AddObjectToObject(rule, "Expiration");
    cJSON_AddNumberToObject(item, "Days", days);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(object, "Rules"), rule);
    tier_print_json(object);
}

/* As "gcloud storage buckets update --lifecycle-file" takes it. */
static void tier_rule_google(const char *prefix, unsigned days)
{
    cJSON *object = cJSON_CreateObject(), *rule = cJSON_CreateObject(), *item;

    item = cJSON_AddObjectToObject(rule, "action");
    cJSON_AddStringToObject(item, "type", "Delete");
    item = cJSON_AddObjectToObject(rule, "condition");
    cJSON_AddNumberToObject(item, "age", days);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(item, "matchesPrefix"),
                         cJSON_CreateString(prefix));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(object, "rule"), rule);
    tier_print_json(object);
}

static void tier_print_xml(const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("<>&", *text) != NULL) {
            printf("&#%d;", *text);
        } else {
            putchar(*text);
        }
    }
}

/* Both forms for S3 are those of Amazon's PutBucketLifecycleConfiguration. */
static int tier_rule_print(const struct tier_run *run)
{
    char prefix[PREFIX_MAX], id[80];
    size_t n;
    unsigned days = (run->tier->lifetime + DAY - 1) / DAY;
    bool is_google = run->tier->kind == TIER_GCS;
    bool is_bucket = is_google || run->tier->kind == TIER_S3;

    if (!is_bucket || days == 0) {
        fprintf(stderr, "symcached: tier \"%s\" %s\n", run->tier->name,
                !is_bucket
                    ? "is not a bucket, and rules are for buckets: see clean"
                    : "has no \"lifetime\", which a rule is made of");
        return EXIT_WRONG_CONFIG;
    }
    tier_bucket_prefix(prefix, sizeof(prefix), run->tier);
    n = strlen(prefix);
    snprintf(prefix + n, sizeof(prefix) - n, "%.64s/",
             run->tier->generation);
    snprintf(id, sizeof(id), "symcache-%.64s", run->tier->generation);
    if (is_google) {
        tier_rule_google(prefix, days);
        return EXIT_DONE;
    }
    if (run->is_json) {
        tier_rule_json(id, prefix, days);
        return EXIT_DONE;
    }
    printf("<LifecycleConfiguration><Rule><ID>%s</ID><Status>Enabled</Status>"
           "<Filter><Prefix>", id);
    tier_print_xml(prefix);
    printf("</Prefix></Filter><Expiration><Days>%u</Days></Expiration></Rule>"
           "</LifecycleConfiguration>\n", days);
    return EXIT_DONE;
}

/* the command -------------------------------------------------------------- */

static int tier_run_list(struct tier_run *run)
{
    bool cleans = strcmp(run->what, "clean") == 0;
    char error[1024] = "";
    int rc;

    rc =
        tier_list(run->tiers, run->tier, cleans ? tier_clean_one : tier_ls_one,
                  run, error, sizeof(error));
    tier_run_wait_until(run, 0);
    if (rc != 0) {
        fprintf(stderr, "symcached: tier \"%s\": %s\n", run->tier->name,
                error);
    }
    if (cleans) {
        tier_clean_print_sum(run);
    }
    return rc != 0 || run->failed > 0 ? EXIT_IO : EXIT_DONE;
}

static int tier_run_start_listing(struct tier_run *run)
{
    int rc = EXIT_IO;

    signal(SIGPIPE, SIG_IGN);
    run->now = (int64_t)time(NULL);
    run->base = event_base_new();
    run->tiers =
        run->base != NULL ? tiers_new(run->base, run->config) : NULL;
    if (run->tiers == NULL) {
        fprintf(stderr, "symcached: out of memory\n");
    } else {
        evtimer_del(run->tiers->look); /* what was discarded is left */
        rc = tier_run_list(run);
        tiers_free(run->tiers);
    }
    if (run->base != NULL) {
        event_base_free(run->base);
    }
    return rc;
}

/* Finds the tier, and the action if none was given. */
static int tier_run_prepare_listing(struct tier_run *run)
{
    const struct config *config = run->config;

    if (run->name == NULL && config->ntiers != 1) {
        fprintf(stderr, "symcached: %s has %s\n", config->file,
                config->ntiers == 0 ? "no tier"
                                    : "several tiers: say which one");
        return EXIT_WRONG_CONFIG;
    }
    run->tier = run->name != NULL ? config_tier(config, run->name)
                                  : &config->tiers[0];
    if (run->tier == NULL) {
        fprintf(stderr, "symcached: %s has no tier \"%s\"\n", config->file,
                run->name);
        return EXIT_WRONG_CONFIG;
    }
    if (run->tier->kind == TIER_SYMCACHE) {
        fprintf(stderr,
                "symcached: tier \"%s\" is a SymCache server, which has no "
                "objects: see symcachectl ls there\n",
                run->tier->name);
        return EXIT_WRONG_CONFIG;
    }
    if (strcmp(run->what, "clean") == 0 && run->older_than == 0 &&
        !run->former) {
        run->older_than = run->tier->lifetime;
        if (run->older_than == 0) {
            fprintf(stderr,
                    "symcached: tier \"%s\" has no \"lifetime\": say "
                    "--older-than or --former\n",
                    run->tier->name);
            return EXIT_WRONG_USE;
        }
    }
    return EXIT_DONE;
}

static bool tier_run_read_age(struct tier_run *run, const char *text)
{
    if (!duration_parse(text, &run->older_than) || run->older_than == 0 ||
        run->older_than > INT64_MAX) {
        fprintf(stderr,
                "symcached: --older-than %s: not a duration of 1s or more, "
                "such as 30d\n", text);
        return false;
    }
    return true;
}

/* Returns false if the usage is to be printed. */
static bool tier_run_read_arguments(struct tier_run *run, int argc,
                                    char **argv)
{
    static const struct option options[] = {
        {"tier", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"json", no_argument, NULL, 'j'},
        {"dry-run", no_argument, NULL, 'n'},
        {"former", no_argument, NULL, 'f'},
        {"older-than", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    bool is_clean;
    int c;

    while ((c = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
        switch (c) {
        case 't':
            break;
        case 'h':
            run->is_help = 1;
            return false;
        case 'j':
            run->is_json = 1;
            break;
        case 'n':
            run->dry_run = 1;
            break;
        case 'f':
            run->former = 1;
            break;
        case 'o':
            if (!tier_run_read_age(run, optarg)) {
                return false;
            }
            break;
        case 'c':
            run->config_file = optarg;
            break;
        default:
            return false;
        }
    }
    if (argc - optind < 1 || argc - optind > 2) {
        return false;
    }
    run->what = argv[optind];
    run->name = argv[optind + 1];
    is_clean = strcmp(run->what, "clean") == 0;
    return (is_clean || strcmp(run->what, "ls") == 0 ||
            strcmp(run->what, "rule") == 0) &&
           (is_clean ||
            (!run->dry_run && !run->former && run->older_than == 0));
}

int tier_command(int argc, char **argv, const struct source_type *const *types,
                 const char *default_config)
{
    struct tier_run run = {.config_file = default_config};
    char error[1024];
    int rc;

    if (!tier_run_read_arguments(&run, argc, argv)) {
        fputs(usage, run.is_help ? stdout : stderr);
        return run.is_help ? EXIT_DONE : EXIT_WRONG_USE;
    }
    if (config_read(run.config_file, types, &run.config, error,
                    sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return EXIT_WRONG_CONFIG;
    }
    rc = tier_run_prepare_listing(&run);
    if (rc == EXIT_DONE) {
        rc = strcmp(run.what, "rule") == 0 ? tier_rule_print(&run)
                                           : tier_run_start_listing(&run);
    }
    config_unref(run.config);
    return rc;
}
