/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl status: what symcached does, its tiers and tenants, and who asks
 * it for addresses.
 */
#include <stdio.h>
#include <string.h>

#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/terminal/text_table.h"

static const char *const status_heads[] = {"MACHINE",  "ADDRESS",  "VERSION",
                                           "STARTED",  "REQUESTS", "FRAMES",
                                           "REPORTED", "CONFIG"};
static const char *const status_keys[] = {"name",     "listen",      "version",
                                          "started",  "requests",    "frames",
                                          "reported", "config_stale"};

#define COLUMNS (sizeof(status_heads) / sizeof(status_heads[0]))
#define STARTED 3
#define REPORTED 6
#define CONFIG 7

static const char *const status_tier_heads[] = {
    "TIER",   "READ",    "WRITE",  "QUEUE",  "HIT",
    "ABSENT", "REFUSED", "FAILED", "STORED", "NOT STORED"};
static const char *const status_tier_keys[] = {
    "name",   "read",    "write",  "queue",  "hit",
    "absent", "refused", "failed", "stored", "not_stored"};

#define TIER_READ 1
#define TIER_WRITE 2

static const char *const status_tenant_heads[] = {
    "TENANT", "SCOPE", "SOURCES", "STARTED", "ASKED", "SOCKET"};
static const char *const status_tenant_keys[] = {"name",    "scope", "sources",
                                                 "started", "asked", "listen"};

/* A breaker, and what has failed since it is not closed. */
static void status_print_failure(const cJSON *way, const char *name,
                                 const char *what)
{
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(way, "failure");

    if (cJSON_IsString(why) &&
        printable_number(way, "not_asked_for") > 0) {
        fputs("  ", stdout);
        printable_put(stdout, name);
        printf(" is not %s: ", what);
        printable_put(stdout, why->valuestring);
        putchar('\n');
    }
}

/* The state of a breaker.  "closed" and "open" would be read as the opposite
 * of what they say of the tier. */
static const char *status_breaker_text(const cJSON *item)
{
    const char *state = cJSON_IsString(item) ? item->valuestring : "";

    return strcmp(state, "closed") == 0 ? "ok"
           : strcmp(state, "open") == 0 ? "left alone"
           : state[0] != '\0'           ? "tried again"
                                        : "?";
}

static void status_print_tiers(const cJSON *tiers)
{
    const cJSON *tier, *name, *item;
    struct text_table table;
    size_t i;

    text_table_init(&table,
                    sizeof(status_tier_heads) / sizeof(status_tier_heads[0]),
                    status_tier_heads);
    cJSON_ArrayForEach(tier, tiers)
    {
        for (i = 0; i < sizeof(status_tier_keys) / sizeof(status_tier_keys[0]);
             i++) {
            item = cJSON_GetObjectItemCaseSensitive(tier, status_tier_keys[i]);
            if (i == TIER_READ || i == TIER_WRITE) {
                text_table_text(&table, status_breaker_text(item));
            } else {
                text_table_item(&table, item);
            }
        }
    }
    text_table_print(&table, stdout, "");
    cJSON_ArrayForEach(tier, tiers)
    {
        name = cJSON_GetObjectItemCaseSensitive(tier, "name");
        if (cJSON_IsString(name)) {
            status_print_failure(cJSON_GetObjectItemCaseSensitive(tier, "get"),
                                 name->valuestring, "read");
            status_print_failure(cJSON_GetObjectItemCaseSensitive(tier, "put"),
                                 name->valuestring, "written");
        }
    }
}

static void status_print_tenants(const cJSON *tenants)
{
    const cJSON *tenant;
    struct text_table table;
    char when[PRINTABLE_TIME_MAX];
    size_t i;

    text_table_init(
        &table, sizeof(status_tenant_heads) / sizeof(status_tenant_heads[0]),
        status_tenant_heads);
    cJSON_ArrayForEach(tenant, tenants)
    {
        for (i = 0;
             i < sizeof(status_tenant_keys) / sizeof(status_tenant_keys[0]);
             i++) {
            if (i == 3 || i == 4) {
                printable_time(
                    when, printable_number(tenant, status_tenant_keys[i]));
                text_table_text(&table, when);
            } else {
                text_table_item(&table, cJSON_GetObjectItemCaseSensitive(
                                            tenant, status_tenant_keys[i]));
            }
        }
    }
    text_table_print(&table, stdout, "");
}

/* Prints why a group of disks is not ready, and which are at fault. */
static void status_print_disks(const cJSON *answer, const char *words,
                               const char *why, bool is_of_uploads)
{
    const cJSON *disk;
    double left, kept;

    if (why[0] == '\0') {
        return;
    }
    printf("  %s: ", words);
    printable_put(stdout, why);
    putchar('\n');
    cJSON_ArrayForEach(disk,
                       cJSON_GetObjectItemCaseSensitive(answer, "disks"))
    {
        if (printable_field(disk, "failure")[0] != '\0' &&
            (strcmp(printable_field(disk, "kind"), "uploads") == 0) ==
                is_of_uploads) {
            fputs("    ", stdout);
            printable_put_field(stdout, disk, "path");
            fputs(": ", stdout);
            printable_put_field(stdout, disk, "failure");
            left = printable_number(disk, "free");
            kept = printable_number(disk, "kept");
            if (printable_number(disk, "size") > 0 && left <= kept) {
                printf(", %.0f bytes free, cache.min_free keeps %.0f", left,
                       kept);
            }
            putchar('\n');
        }
    }
}

/* Why a balancer should send requests elsewhere; a drain is in the first line.
 * Uploads are refused for themselves. */
static void status_print_not_ready(const cJSON *answer)
{
    const char *why = printable_field(answer, "not_ready");

    status_print_disks(answer, "not ready",
                       strcmp(why, "draining") != 0 ? why : "", false);
    status_print_disks(answer, "uploads are refused",
                       printable_field(answer, "uploads_not_ready"), true);
}

static void status_print(const cJSON *answer)
{
    const cJSON *tenants = cJSON_GetObjectItemCaseSensitive(answer, "tenants");
    const cJSON *tiers = cJSON_GetObjectItemCaseSensitive(answer, "tiers");
    const cJSON *stale =
        cJSON_GetObjectItemCaseSensitive(answer, "config_stale");
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(answer, "jobs");
    const cJSON *list =
        cJSON_GetObjectItemCaseSensitive(answer, "symbolicated");
    struct text_table table;
    char when[PRINTABLE_TIME_MAX];
    bool is_stale, any_stale = false;
    const cJSON *daemon;
    size_t i;

    printf("symcached: jobs %.0f, waiting requests %.0f%s\n",
           printable_number(jobs, "total"), printable_number(jobs, "waiters"),
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(jobs, "draining"))
               ? ", draining"
               : "");
    if (cJSON_IsString(stale) && stale->valuestring[0] != '\0') {
        fputs("  the configuration in use is not the file's: ", stdout);
        printable_put(stdout, stale->valuestring);
        putchar('\n');
    }
    status_print_not_ready(answer);
    if (cJSON_GetArraySize(tiers) > 0) {
        status_print_tiers(tiers);
    }
    if (cJSON_GetArraySize(tenants) > 0) {
        status_print_tenants(tenants);
    }
    if (cJSON_GetArraySize(list) == 0) {
        puts("symbolicated: none has reported");
        return;
    }
    text_table_init(&table, COLUMNS, status_heads);
    cJSON_ArrayForEach(daemon, list)
    {
        for (i = 0; i < COLUMNS; i++) {
            if (i == STARTED || i == REPORTED) {
                printable_time(when, printable_number(daemon, status_keys[i]));
                text_table_text(&table, when);
            } else if (i == CONFIG) {
                is_stale = cJSON_IsTrue(
                    cJSON_GetObjectItemCaseSensitive(daemon, status_keys[i]));
                any_stale = any_stale || is_stale;
                text_table_text(&table,
                                is_stale ? "not the file's" : "the file's");
            } else {
                text_table_item(&table, cJSON_GetObjectItemCaseSensitive(
                                            daemon, status_keys[i]));
            }
        }
    }
    text_table_print(&table, stdout, "");
    if (any_stale) {
        puts("not the file's: SIGHUP makes symbolicated read the file again; "
             "if that fails, its log says why");
    }
}

int status_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings)};

    argc = options_parse("status", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("status", "no operands", argv[0]);
    }
    return json_request_show(&settings, "GET", "/v1/status", CLIENT_SECONDS,
                             status_print, NULL);
}
