/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl jobs: what the helper is doing at present, and its tenants.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/terminal/text_table.h"

static const char *const heads[] = {"STORE",  "PDB/ID",  "VERSION", "STATE",
                                    "SOURCE", "SECONDS", "WAITERS", "UPGRADE"};
static const char *const keys[] = {"store",  "key", "version", "state",
                                   "source", "ms",  "waiters", "upgrade"};

#define COLUMNS (sizeof(heads) / sizeof(heads[0]))
#define SECONDS 5 /* the column that the helper gives in milliseconds */

static void print_jobs(const cJSON *answer)
{
    struct text_table table;
    const cJSON *job, *jobs;
    char seconds[32];
    size_t i;
    int n;

    jobs = cJSON_GetObjectItemCaseSensitive(answer, "jobs");
    n = cJSON_GetArraySize(jobs);
    if (n > 0) {
        text_table_init(&table, COLUMNS, heads);
        cJSON_ArrayForEach(job, jobs)
        {
            for (i = 0; i < COLUMNS; i++) {
                if (i == SECONDS) {
                    snprintf(seconds, sizeof(seconds), "%.1f",
                             printable_number(job, keys[i]) / 1000);
                    text_table_text(&table, seconds);
                } else {
                    text_table_item(&table, cJSON_GetObjectItemCaseSensitive(
                                                job, keys[i]));
                }
            }
        }
        text_table_print(&table, stdout, "");
    }
    printf("jobs %.0f: queued %.0f, asking sources %.0f, transcoding %.0f; "
           "waiting requests %.0f\n",
           printable_number(answer, "total"),
           printable_number(answer, "queued"),
           printable_number(answer, "downloading"),
           printable_number(answer, "transcoding"),
           printable_number(answer, "waiters"));
    if (printable_number(answer, "total") > n) {
        printf("shown are the first %d\n", n);
    }
}

/* The jobs of symcached, and of its tenants that have any. */
static void jobs_print(const cJSON *answer)
{
    const cJSON *tenant, *jobs;

    print_jobs(answer);
    cJSON_ArrayForEach(tenant,
                       cJSON_GetObjectItemCaseSensitive(answer, "tenants"))
    {
        jobs = cJSON_GetObjectItemCaseSensitive(tenant, "jobs");
        if (printable_number(jobs, "total") > 0) {
            fputs("tenant ", stdout);
            printable_put_field(stdout, tenant, "name");
            fputs(", scope \"", stdout);
            printable_put_field(stdout, tenant, "scope");
            puts("\":");
            print_jobs(jobs);
        }
    }
}

/* Adds the tenants' jobs, from the tenants' helper, to an answer.  The
 * helper's socket is on the machine of the server that was asked.  If a helper
 * does not answer, its jobs are left out without an error. */
static void add_tenants(const struct settings *settings, cJSON *answer)
{
    struct settings at = *settings;
    const cJSON *tenant;
    cJSON *status, *jobs = NULL, *list;

    (void)json_request_object(settings, "GET", "/v1/status", &status);
    tenant = cJSON_GetArrayItem(
        cJSON_GetObjectItemCaseSensitive(status, "tenants"), 0);
    if (tenant != NULL) {
        at.socket = printable_field(tenant, "listen");
        (void)json_request_object(&at, "GET", "/v1/jobs", &jobs);
    }
    list = cJSON_DetachItemFromObjectCaseSensitive(jobs, "tenants");
    if (list != NULL) {
        cJSON_AddItemToObject(answer, "tenants", list);
    }
    cJSON_Delete(jobs);
    cJSON_Delete(status);
}

/* Is an address one of this machine, where the sockets of tenants are, too? */
static bool jobs_is_path(const char *address)
{
    return strchr(address, '/') != NULL || strchr(address, ':') == NULL;
}

int jobs_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings)};
    const char *address = NULL;
    cJSON *answer;
    int code;

    argc = options_parse("jobs", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("jobs", "no operands", argv[0]);
    }
    if (settings.peers == NULL) {
        address = settings_socket(&settings);
        if (address == NULL) {
            return COMMAND_IO;
        }
    }
    if (settings.peers != NULL || !jobs_is_path(address)) {
        return json_request_show(&settings, "GET", "/v1/jobs", CLIENT_SECONDS,
                                 print_jobs, NULL);
    }
    code = json_request_object(&settings, "GET", "/v1/jobs", &answer);
    if (answer != NULL) {
        if (!cJSON_HasObjectItem(answer, "tenants")) {
            add_tenants(&settings, answer);
        }
        if (settings.is_json) {
            printable_json(stdout, answer);
        } else {
            jobs_print(answer);
        }
    }
    cJSON_Delete(answer);
    return command_finish(code);
}
