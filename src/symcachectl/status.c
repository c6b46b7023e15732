/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl status: what symcached does, and who asks it for addresses.
 */
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "printable.h"
#include "text_table.h"

static const char *const heads[] = {"MACHINE",  "ADDRESS", "VERSION", "STARTED",
                                    "REQUESTS", "FRAMES",  "REPORTED"};
static const char *const keys[] = {"name",     "listen", "version", "started",
                                   "requests", "frames", "reported"};

#define COLUMNS (sizeof(heads) / sizeof(heads[0]))
#define STARTED 3
#define REPORTED 6

static void print(const cJSON *answer)
{
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(answer, "jobs");
    const cJSON *list =
        cJSON_GetObjectItemCaseSensitive(answer, "symbolicated");
    struct text_table table;
    char when[PRINTABLE_TIME_MAX];
    const cJSON *daemon;
    size_t i;

    printf("symcached: jobs %.0f, waiting requests %.0f%s\n",
           printable_number(jobs, "total"), printable_number(jobs, "waiters"),
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(jobs, "draining"))
               ? ", draining"
               : "");
    if (cJSON_GetArraySize(list) == 0) {
        puts("symbolicated: none has reported");
        return;
    }
    text_table_init(&table, COLUMNS, heads);
    cJSON_ArrayForEach(daemon, list)
    {
        for (i = 0; i < COLUMNS; i++) {
            if (i == STARTED || i == REPORTED) {
                printable_time(when, printable_number(daemon, keys[i]));
                text_table_text(&table, when);
            } else {
                text_table_item(&table, cJSON_GetObjectItemCaseSensitive(
                                            daemon, keys[i]));
            }
        }
    }
    text_table_print(&table, stdout, "");
}

int status_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings)};

    argc = options_parse("status", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("status", "no operands", argv[0]);
    }
    return client_show(&settings, "GET", "/v1/status", CLIENT_SECONDS, print,
                       NULL);
}
