/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl sources: where the helper looks, and with what success.
 */
#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/terminal/text_table.h"

static const char *const heads[] = {"SOURCE", "TYPE",   "HEALTH",
                                    "FOUND",  "ABSENT", "UNUSABLE",
                                    "FAILED", "BYTES",  "PLACE"};
static const char *const keys[] = {"name",   "type",      "health",
                                   "found",  "not_found", "unusable",
                                   "failed", "bytes",     "place"};

#define COLUMNS (sizeof(heads) / sizeof(heads[0]))
#define BYTES 7

/* Prints what is wrong with a source, below the table. */
static void print_trouble(const cJSON *source)
{
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(source, "host");
    char when[PRINTABLE_TIME_MAX], last[PRINTABLE_TIME_MAX];

    if (printable_field(source, "failure")[0] != '\0') {
        printable_time(when, printable_number(source, "failed_at"));
        printable_put_field(stdout, source, "name");
        printf(": latest failure %s: ", when);
        printable_put_field(stdout, source, "failure");
        putchar('\n');
    }
    if (printable_number(host, "not_asked_for") > 0) {
        printable_put_field(stdout, source, "name");
        fputs(": ", stdout);
        printable_put_field(stdout, host, "origin");
        printf(" is not asked for %.0f s\n",
               printable_number(host, "not_asked_for"));
    }
    if (printable_number(host, "failed_last") > 0) {
        printable_time(when, printable_number(host, "failed_first"));
        printable_time(last, printable_number(host, "failed_last"));
        printable_put_field(stdout, source, "name");
        fputs(": ", stdout);
        printable_put_field(stdout, host, "origin");
        printf(" failed %.0f times in a row, first %s, last %s: ",
               printable_number(host, "failures"), when, last);
        printable_put_field(stdout, host, "cause");
        putchar('\n');
    }
}

static void print_sources(const cJSON *answer)
{
    struct text_table table;
    const cJSON *source, *sources, *item;
    char size[PRINTABLE_SIZE_MAX];
    size_t i;

    sources = cJSON_GetObjectItemCaseSensitive(answer, "sources");
    text_table_init(&table, COLUMNS, heads);
    cJSON_ArrayForEach(source, sources)
    {
        for (i = 0; i < COLUMNS; i++) {
            item = cJSON_GetObjectItemCaseSensitive(source, keys[i]);
            if (i == BYTES && cJSON_IsNumber(item) && item->valuedouble >= 0) {
                printable_size(size, (uint64_t)item->valuedouble);
                text_table_text(&table, size);
            } else {
                text_table_item(&table, item);
            }
        }
    }
    text_table_print(&table, stdout, "");
    cJSON_ArrayForEach(source, sources)
    {
        print_trouble(source);
    }
}

int sources_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings)};

    argc = options_parse("sources", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("sources", "no operands", argv[0]);
    }
    return json_request_show(&settings, "GET", "/v1/sources", CLIENT_SECONDS,
                             print_sources, NULL);
}
