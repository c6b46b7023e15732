/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl jobs: what the helper is doing at present.
 */
#include "client.h"
#include "command.h"
#include "printable.h"
#include "text_table.h"

static const char *const heads[] = {"STORE",  "PDB/ID",  "VERSION", "STATE",
                                    "SOURCE", "SECONDS", "WAITERS", "UPGRADE"};
static const char *const keys[] = {"store",  "key", "version", "state",
                                   "source", "ms",  "waiters", "upgrade"};

#define COLUMNS (sizeof(heads) / sizeof(heads[0]))
#define SECONDS 5 /* the column that the helper gives in milliseconds */

static void print(const cJSON *answer)
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

int jobs_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings)};

    argc = options_parse("jobs", specs, sizeof(specs) / sizeof(specs[0]), argc,
                         argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("jobs", "no operands", argv[0]);
    }
    return client_show(&settings, "GET", "/v1/jobs", CLIENT_SECONDS, print,
                       NULL);
}
